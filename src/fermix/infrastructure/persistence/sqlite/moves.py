"""Chats that have another id by now: where what still comes under the old one belongs."""

from dataclasses import replace
from functools import lru_cache

from fermix.domain.ids import AccountId, ChannelName, ChatId
from fermix.domain.route import Route, Target
from fermix.infrastructure.persistence.sqlite import codec
from fermix.infrastructure.persistence.sqlite.transaction import Rows

_KEYS_KEPT = 1024


def current_route(rows: Rows, route: Route) -> Route:
    """The route as its chat is called now."""
    chat = _chat_now(rows, route)
    return route if chat is None else replace(route, chat=chat)


def current_target(rows: Rows, target: Target) -> Target:
    """The place as its chat is called now; one that has moved points at no message any more."""
    chat = _chat_now(rows, target)
    return target if chat is None else replace(target, chat=chat, reply_to=None)


def _chat_now(rows: Rows, place: Route | Target) -> ChatId | None:
    found = rows.row("SELECT new FROM moves WHERE old=?", chat_key(place.channel, place.account, place.chat))
    return None if found is None else codec.decode_route(found[0]).chat


@lru_cache(maxsize=_KEYS_KEPT)
def chat_key(channel: ChannelName, account: AccountId, chat: ChatId) -> str:
    """The key of a chat, threads aside; each message asks for it several times."""
    return Route(channel=channel, account=account, chat=chat).key
