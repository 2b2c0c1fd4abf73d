"""`fermix sessions`: the conversations of this home."""

from typing import Any

import click

from fermix.application.ports.conversations import ConversationSummary
from fermix.application.ports.lane_control import MAX_SESSIONS
from fermix.domain.turn import TurnState
from fermix.entrypoints.cli.command_failed import write_document
from fermix.entrypoints.cli.lane_text import session_name, sessions_text
from fermix.entrypoints.cli.owner_call import with_owner
from fermix.entrypoints.cli.terminal import this_terminal
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket import queries
from fermix.infrastructure.local_socket.client import ControlClient


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_SESSIONS),
    default=20,
    show_default=True,
    help="List at most this many.",
)
def sessions(*, as_json: bool, limit: int) -> int:
    """List the conversations, newest first, with or without the daemon.

    Those of a terminal are listed by the name that `fermix ask --session` takes.
    """
    terminal = this_terminal()

    def show(client: ControlClient) -> int:
        found = queries.sessions(client, limit=limit)
        if as_json:
            write_document(terminal.out, {"ok": True, "sessions": [document_of(one) for one in found]})
        else:
            terminal.out.write(sessions_text(found))
            terminal.out.flush()
        return ExitCode.OK

    return with_owner(terminal, show)


def document_of(one: ConversationSummary) -> dict[str, Any]:
    """A conversation for programs."""
    return {
        "session": session_name(one.route),
        "channel": one.route.channel,
        "account": one.route.account,
        "chat": one.route.chat,
        "thread": one.route.thread,
        "title": one.title,
        "window": one.window,
        "waiting": one.waiting,
        "active": one.active is TurnState.STARTED,
        "paused": one.active is TurnState.UNKNOWN,
        "last_at": None if one.last_at is None else one.last_at.isoformat(),
    }
