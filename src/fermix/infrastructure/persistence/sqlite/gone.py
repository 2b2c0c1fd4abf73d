"""Chats of which their platform said that they are none of ours any more, until somebody writes there."""

from datetime import timedelta

from fermix.application.ports.queue_listing import GoneChat
from fermix.domain.delivery import GONE_FOR
from fermix.domain.message import InboundMessage
from fermix.domain.route import Route, Target
from fermix.infrastructure.persistence.sqlite import codec
from fermix.infrastructure.persistence.sqlite.moves import chat_key
from fermix.infrastructure.persistence.sqlite.transaction import Rows, Transaction

_GONE_FOR_MS = GONE_FOR // timedelta(milliseconds=1)


def note_gone(tx: Transaction, target_key: str, error: str) -> None:
    """The chat of a target is gone since now."""
    place = codec.decode_route(target_key)
    tx.run(
        "INSERT INTO gone(chat, error, since) VALUES(?,?,?)"
        " ON CONFLICT DO UPDATE SET error=excluded.error, since=excluded.since",
        chat_key(place.channel, place.account, place.chat),
        error,
        tx.now,
    )


def is_gone(tx: Transaction, target: Target) -> bool:
    """Whether nothing is to be sent there now."""
    chat = chat_key(target.channel, target.account, target.chat)
    return tx.row("SELECT 1 FROM gone WHERE chat=? AND since>?", chat, tx.now - _GONE_FOR_MS) is not None


def forget_gone(tx: Transaction, message: InboundMessage) -> None:
    """Somebody wrote in that chat."""
    tx.run("DELETE FROM gone WHERE chat=?", chat_key(message.channel, message.account, message.reply_target))


def forget_old(tx: Transaction, cutoff: int) -> None:
    """Whatever is gone for so long is worth no line in a list any more."""
    tx.run("DELETE FROM gone WHERE since<?", cutoff)


def list_gone(rows: Rows, *, limit: int) -> tuple[GoneChat, ...]:
    """The chats, the one that went last first."""
    found = rows.rows("SELECT chat, error, since FROM gone ORDER BY since DESC, chat LIMIT ?", limit)
    return tuple(
        GoneChat(chat=Route.parse(chat), error=error, since=codec.from_ms(since))
        for chat, error, since in found
    )
