"""`fermix sessions` and `fermix queue`, with a daemon, with an older one, and without any."""

import io
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fermix.application.ports.conversations import ConversationSummary
from fermix.application.ports.lane_control import Resolution, ResolveEnd, ResolveRequest, ResolveWork
from fermix.application.ports.queue_listing import ListedTurn, OpenReplies, QueueListing
from fermix.domain.ids import AccountId, ChannelName, ChatId, LaneId, TurnId
from fermix.domain.route import Route
from fermix.domain.turn import TurnState
from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.owner_call import with_owner
from fermix.entrypoints.cli.terminal import Terminal
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket.client import ControlClient
from fermix.infrastructure.local_socket.protocol import Verb
from tests.integration.cli.command_line import environment, fermix
from tests.integration.local_socket.scripted_control import ScriptedControl

SILENT_SECONDS = 0.05
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def route(channel: str, chat: str) -> Route:
    return Route(channel=ChannelName(channel), account=AccountId("a"), chat=ChatId(chat))


FOUND = (
    ConversationSummary(
        lane=LaneId(2), route=route("cli", "work"), window=1, title=None, waiting=0, active=None, last_at=NOON
    ),
    ConversationSummary(
        lane=LaneId(1),
        route=route("telegram", "7"),
        window=0,
        title="Family",
        waiting=2,
        active=TurnState.UNKNOWN,
        last_at=None,
    ),
)
PAUSED = ListedTurn(
    turn=TurnId(7),
    lane=LaneId(1),
    route=route("telegram", "7"),
    state=TurnState.UNKNOWN,
    left_behind=False,
    attempts=1,
    messages=1,
    asked_at=datetime(2026, 5, 1, 11, 59, tzinfo=UTC),
    ended_at=None,
    preview="ring \x1b[2J the bell",
)
LISTING = QueueListing(
    turns=(PAUSED,),
    replies=(OpenReplies(target=route("telegram", "7"), parts=2, oldest_at=NOON, sending=True),),
)


def test_sessions_are_a_table_for_people(home: Path, daemon: ScriptedControl) -> None:
    daemon.lanes.found = FOUND
    done = fermix(home, "sessions")
    assert (done.status, done.err) == (0, "")
    head, work, family = done.out.splitlines()
    assert head.split()[:2] == ["CONVERSATION", "STATE"]
    assert work.split() == ["work", "idle", "0", "1", "2026-05-01", "12:00:00", "UTC"]
    assert family.split() == ["telegram", "7", "paused", "2", "0", "-", "Family"]


def test_sessions_are_a_document_for_programs(home: Path, daemon: ScriptedControl) -> None:
    daemon.lanes.found = FOUND
    document = fermix(home, "sessions", "--json", "--limit", "1").document
    assert document == {
        "ok": True,
        "sessions": [
            {
                "session": "work",
                "channel": "cli",
                "account": "a",
                "chat": "work",
                "thread": None,
                "title": None,
                "window": 1,
                "waiting": 0,
                "active": False,
                "paused": False,
                "last_at": "2026-05-01T12:00:00+00:00",
            }
        ],
    }


@pytest.mark.parametrize("limit", ["0", "1001", "some"])
def test_a_limit_that_is_none_is_a_mistake(home: Path, daemon: ScriptedControl, limit: str) -> None:
    assert fermix(home, "sessions", "--limit", limit).status == 2


def test_a_queue_is_a_table_for_people_and_harmless(home: Path, daemon: ScriptedControl) -> None:
    daemon.lanes.listing = LISTING
    done = fermix(home, "queue", "list")
    assert (done.status, done.err) == (0, "")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert "7 paused 1 min 0 s 1 telegram 7 ring \\x1b[2J the bell" in lines
    assert "telegram 7 2 0 s being sent" in lines


def test_a_queue_is_a_document_for_programs(home: Path, daemon: ScriptedControl) -> None:
    daemon.lanes.listing = LISTING
    queue = fermix(home, "queue", "list", "--json").document["queue"]
    assert queue["at"] == "2026-05-01T12:00:00+00:00"
    (turn,) = queue["turns"]
    assert (turn["id"], turn["state"], turn["preview"]) == (7, "unknown", "ring \x1b[2J the bell")
    (reply,) = queue["replies"]
    assert (reply["channel"], reply["chat"], reply["parts"], reply["retry_at"]) == ("telegram", "7", 2, None)
    assert (queue["failed"], queue["left_out"]) == ([], {"turns": 0, "failed": 0, "targets": 0})


@pytest.mark.parametrize("work", ResolveWork)
@pytest.mark.parametrize("turn", [None, TurnId(7)])
def test_what_is_to_be_resolved_reaches_the_daemon_under_an_id_of_its_own(
    home: Path, daemon: ScriptedControl, work: ResolveWork, turn: TurnId | None
) -> None:
    arguments = [] if turn is None else [str(turn)]
    for _ in range(2):
        assert fermix(home, "queue", work.value, *arguments) == (0, "Done.\n", "")
    first, second = daemon.lanes.requests
    assert first == ResolveRequest(request=first.request, work=work, turn=turn)
    assert first.request != second.request


@pytest.mark.parametrize(
    ("end", "status", "code"),
    [
        (ResolveEnd.NOTHING, 1, "nothing_to_do"),
        (ResolveEnd.TAKEN_BEFORE, 1, "taken_before"),
        (ResolveEnd.REFUSED, 5, "refused"),
        (ResolveEnd.UNAVAILABLE, 1, "unavailable"),
    ],
)
def test_what_is_not_resolved_is_told_with_its_status(
    home: Path, daemon: ScriptedControl, end: ResolveEnd, status: int, code: str
) -> None:
    daemon.lanes.resolution = Resolution(end=end, text="It is not so.")
    assert fermix(home, "queue", "discard") == (status, "", "fermix: It is not so.\n")
    document = fermix(home, "queue", "retry", "--json").document
    assert document["error"] == {"code": code, "message": "It is not so."}
    assert document["exit_code"] == status


@pytest.mark.parametrize("wrong", ["0", "-1", "seven", "1" * 19])
def test_an_id_that_no_request_can_have_is_a_mistake(home: Path, daemon: ScriptedControl, wrong: str) -> None:
    assert fermix(home, "queue", "retry", wrong).status == 2
    assert daemon.lanes.requests == []


@pytest.mark.parametrize("command", [("sessions",), ("queue", "list")])
def test_without_a_daemon_an_empty_home_is_looked_at_and_no_model_is_fetched(
    home: Path, command: tuple[str, ...]
) -> None:
    done = fermix(home, *command, PIP_NO_INDEX="1", UV_OFFLINE="1")
    assert done.status == 0
    assert done.out in {
        "There is no conversation yet.\n",
        "Nothing waits, nothing runs, and nothing is to be delivered.\n",
    }
    assert not (home / "daemon.json").exists()


@pytest.mark.parametrize("work", ["discard", "retry"])
def test_without_a_daemon_there_is_nothing_to_settle_in_an_empty_home(home: Path, work: str) -> None:
    done = fermix(home, "queue", work)
    assert (done.status, done.out) == (1, "")
    assert "No lost" in done.err


def test_a_wrong_configuration_is_told_with_its_status(home: Path) -> None:
    (home / "config.toml").write_text("nonsense = [")
    assert fermix(home, "queue", "list").status == 7


def test_an_owner_that_hangs_is_not_asked_twice(home: Path) -> None:
    asked: list[Verb] = []

    def use(client: ControlClient) -> None:
        asked.append(Verb.QUEUE)
        client.call(Verb.QUEUE, seconds=SILENT_SECONDS)

    terminal = Terminal(environ=environment(home), input=0, out=io.StringIO(), err=io.StringIO())
    with socket.socket(socket.AF_UNIX) as hanging:
        hanging.bind(str(home / "daemon.sock"))
        hanging.listen()
        with pytest.raises(CommandFailed, match="did not answer") as caught:
            with_owner(terminal, use)
    assert caught.value.exit_code is ExitCode.FAILURE
    assert asked == [Verb.QUEUE]
