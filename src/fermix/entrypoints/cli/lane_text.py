"""Conversations and their queues as lines for a person. Pure; whoever prints makes the text harmless."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from fermix.application.ports.conversations import ConversationSummary
from fermix.application.ports.lane_control import QueueReport
from fermix.application.ports.queue_listing import GoneChat, ListedTurn, OpenReplies
from fermix.domain.route import Route
from fermix.domain.turn import TurnState
from fermix.entrypoints.cli.terminal_text import visible

LOCAL_CHANNEL = "cli"
"""Its conversations are known by the names that `ask --session` takes."""

NO_TEXT = "(no text)"
_SESSION_HEAD = ("CONVERSATION", "STATE", "WAITING", "WINDOW", "LAST MESSAGE", "TITLE")
_TURN_HEAD = ("ID", "STATE", "FOR", "ATTEMPTS", "CONVERSATION", "TEXT")
_REPLIES_HEAD = ("CONVERSATION", "PARTS", "FOR", "STATE")
_GONE_HEAD = ("CHAT", "FOR", "WHAT THE PLATFORM SAYS")
_STATES = {
    TurnState.COLLECTING: "waiting",
    TurnState.QUEUED: "waiting",
    TurnState.STARTED: "running",
    TurnState.UNKNOWN: "paused",
    TurnState.SETTLED: "failed",
}


def session_name(route: Route) -> str | None:
    """What `ask --session` calls the conversation; nothing for one that does not belong to a terminal."""
    return route.chat if route.channel == LOCAL_CHANNEL else None


def place(route: Route) -> str:
    """A route in words: a terminal's session by its name, else channel, chat and thread."""
    name = session_name(route)
    if name is not None:
        return name
    thread = "" if route.thread is None else f" thread {route.thread}"
    return f"{route.channel} {route.chat}{thread}"


def sessions_text(sessions: Sequence[ConversationSummary]) -> str:
    """The conversations as a table."""
    if not sessions:
        return "There is no conversation yet.\n"
    rows = [
        (
            place(one.route),
            "idle" if one.active is None else _STATES[one.active],
            str(one.waiting),
            str(one.window),
            "-" if one.last_at is None else _clock_time(one.last_at),
            one.title or "",
        )
        for one in sessions
    ]
    return _table([_SESSION_HEAD, *rows])


def queue_text(report: QueueReport) -> str:
    """The queue as up to four tables, each with a heading."""
    listing, left_out = report.listing, report.listing.left_out
    sections = [
        *_section(
            "Requests", _TURN_HEAD, [_turn_row(turn, report.at) for turn in listing.turns], left_out.turns
        ),
        *_section(
            "Failed, can be run again with `fermix queue retry ID`",
            _TURN_HEAD,
            [_turn_row(turn, report.at) for turn in listing.failed],
            left_out.failed,
        ),
        *_section(
            "Replies to be delivered",
            _REPLIES_HEAD,
            [_replies_row(one, report.at) for one in listing.replies],
            left_out.targets,
        ),
        *_section(
            "Chats that are gone; nothing is sent there until somebody writes",
            _GONE_HEAD,
            [_gone_row(one, report.at) for one in listing.gone],
            0,
        ),
    ]
    if any(turn.state is TurnState.UNKNOWN for turn in listing.turns):
        sections.append(
            "A paused request was lost in a restart after it had already done something. "
            "`fermix queue retry ID` runs it again, `fermix queue discard ID` drops it.\n"
        )
    return "\n".join(sections) or "Nothing waits, nothing runs, and nothing is to be delivered.\n"


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left_out: int) -> Iterator[str]:
    if rows:
        more = f"and {left_out} more\n" if left_out else ""
        yield f"{title}:\n{_table([head, *rows])}{more}"


def _turn_row(turn: ListedTurn, at: datetime) -> tuple[str, ...]:
    since = turn.ended_at or turn.asked_at
    return (
        str(turn.turn),
        "left behind" if turn.left_behind else _STATES[turn.state],
        duration(at - since),
        str(turn.attempts),
        place(turn.route),
        turn.preview or NO_TEXT,
    )


def _replies_row(one: OpenReplies, at: datetime) -> tuple[str, ...]:
    if one.retry_at is not None and one.retry_at > at:
        state = f"next try in {duration(one.retry_at - at)}, at {_clock_time(one.retry_at)}"
    else:
        state = "being sent" if one.sending else "waiting"
    return place(one.target), str(one.parts), duration(at - one.oldest_at), state


def _gone_row(one: GoneChat, at: datetime) -> tuple[str, ...]:
    return place(one.chat), duration(at - one.since), one.error


def duration(length: timedelta) -> str:
    """How long, in its one or two largest units; nothing is shorter than 0 s."""
    seconds = max(0, int(length.total_seconds()))
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _clock_time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S %Z}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell. Cells are made harmless first: their length on the screen counts."""
    shown = [[_one_line(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*shown, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
        for row in shown
    )


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")
