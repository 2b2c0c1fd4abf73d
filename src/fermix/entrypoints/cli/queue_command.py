"""`fermix queue`: what waits, runs or is lost in all conversations, and settling it."""

from typing import Any

import click

from fermix.application.ports.lane_control import (
    QueueReport,
    Resolution,
    ResolveEnd,
    ResolveRequest,
    ResolveWork,
)
from fermix.application.ports.queue_listing import GoneChat, ListedTurn, OpenReplies
from fermix.domain.ids import TurnId
from fermix.domain.route import Route
from fermix.entrypoints.cli.command_failed import CommandFailed, write_document
from fermix.entrypoints.cli.lane_text import queue_text, session_name
from fermix.entrypoints.cli.owner_call import with_owner
from fermix.entrypoints.cli.terminal import Terminal, this_terminal
from fermix.entrypoints.cli.terminal_text import visible
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket import queries
from fermix.infrastructure.local_socket.client import ControlClient
from fermix.infrastructure.system.ids import Uuids

_TURN = click.IntRange(1, 10**18 - 1)
_FAILURES = {
    ResolveEnd.NOTHING: ("nothing_to_do", ExitCode.FAILURE),
    ResolveEnd.TAKEN_BEFORE: ("taken_before", ExitCode.FAILURE),
    ResolveEnd.REFUSED: ("refused", ExitCode.DENIED),
    ResolveEnd.UNAVAILABLE: ("unavailable", ExitCode.FAILURE),
}


@click.group()
def queue() -> None:
    """Show what waits, runs or is lost, over all channels; discard or retry it.

    Works with and without the daemon; what concerns other channels then happens when the daemon runs again.
    """


@queue.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_command(*, as_json: bool) -> int:
    """List requests that run, wait or are paused, failed ones that can be run again, and open replies."""
    terminal = this_terminal()

    def show(client: ControlClient) -> int:
        report = queries.queue(client)
        if as_json:
            write_document(terminal.out, {"ok": True, "queue": document_of(report)})
        else:
            terminal.out.write(queue_text(report))
            terminal.out.flush()
        return ExitCode.OK

    return with_owner(terminal, show)


@queue.command("discard")
@click.argument("turn", type=_TURN, metavar="[ID]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def discard_command(*, turn: int | None, as_json: bool) -> int:
    """Drop a paused request, so that its conversation goes on; the oldest one without an ID.

    Exit status 1 when there is nothing to discard.
    """
    return _resolve(ResolveWork.DISCARD, turn, this_terminal(), as_json=as_json)


@queue.command("retry")
@click.argument("turn", type=_TURN, metavar="[ID]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def retry_command(*, turn: int | None, as_json: bool) -> int:
    """Run a paused or failed request again; without an ID the oldest paused one.

    Exit status 1 when there is nothing to retry.
    """
    return _resolve(ResolveWork.RETRY, turn, this_terminal(), as_json=as_json)


def _resolve(work: ResolveWork, turn: int | None, terminal: Terminal, *, as_json: bool) -> int:
    request = ResolveRequest(request=Uuids().new(), work=work, turn=None if turn is None else TurnId(turn))

    def use(client: ControlClient) -> Resolution:
        resolution = queries.resolve(client, request)
        if resolution.end is ResolveEnd.RESOLVED:
            _show(resolution, terminal, as_json=as_json)
        return resolution

    resolution = with_owner(terminal, use)
    if resolution.end is not ResolveEnd.RESOLVED:
        code, exit_code = _FAILURES[resolution.end]
        raise CommandFailed(resolution.text, code=code, exit_code=exit_code)
    return ExitCode.OK


def _show(resolution: Resolution, terminal: Terminal, *, as_json: bool) -> None:
    if as_json:
        document = {
            "ok": True,
            "text": resolution.text,
            "turn": resolution.turn,
            "queued_as": resolution.queued_as,
        }
        write_document(terminal.out, document)
    else:
        terminal.out.write(f"{visible(resolution.text)}\n")
        terminal.out.flush()


def document_of(report: QueueReport) -> dict[str, Any]:
    """The queue for programs; previews stand there as they were written."""
    listing = report.listing
    return {
        "at": report.at.isoformat(),
        "turns": [_turn(turn) for turn in listing.turns],
        "failed": [_turn(turn) for turn in listing.failed],
        "replies": [_replies(one) for one in listing.replies],
        "gone": [_gone(one) for one in listing.gone],
        "left_out": {
            "turns": listing.left_out.turns,
            "failed": listing.left_out.failed,
            "targets": listing.left_out.targets,
        },
    }


def _turn(turn: ListedTurn) -> dict[str, Any]:
    return {
        "id": turn.turn,
        "state": turn.state.value,
        "left_behind": turn.left_behind,
        "attempts": turn.attempts,
        "messages": turn.messages,
        "asked_at": turn.asked_at.isoformat(),
        "ended_at": None if turn.ended_at is None else turn.ended_at.isoformat(),
        "preview": turn.preview,
        **_place(turn.route),
    }


def _replies(one: OpenReplies) -> dict[str, Any]:
    return {
        "parts": one.parts,
        "oldest_at": one.oldest_at.isoformat(),
        "sending": one.sending,
        "retry_at": None if one.retry_at is None else one.retry_at.isoformat(),
        **_place(one.target),
    }


def _gone(one: GoneChat) -> dict[str, Any]:
    return {"error": one.error, "since": one.since.isoformat(), **_place(one.chat)}


def _place(route: Route) -> dict[str, Any]:
    return {
        "session": session_name(route),
        "channel": route.channel,
        "account": route.account,
        "chat": route.chat,
        "thread": route.thread,
    }
