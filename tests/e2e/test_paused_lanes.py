"""A daemon that dies around something a repeat would do twice: its lane pauses until the owner decides."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from fermix.domain import wording
from fermix.testing.servers.openai_strict.script import Call, Hang, Refuse, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.bell_daemon import RING
from tests.e2e.harness.homes import Daemon, FermixHome, Run, until
from tests.e2e.harness.people import ROOT, People

RINGS = Say(calls=(Call(id="call_1", name=RING, arguments="{}"),))
RANG = Say(text="I rang the bell.")
LOST = "ring, please"
DEATHS = {
    "after the intent": (["--kill", "after:begin_effect:1"], 0),
    "in the effect": (["--dies-ringing"], 1),
    "before the outcome": (["--kill", "before:end_effect:1"], 1),
    "after the outcome": (["--kill", "after:end_effect:1"], 1),
    "before the settlement": (["--kill", "before:settle:1"], 1),
}
"""How the daemon dies in the turn that rings, and how often the bell has been heard by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belfry:
    """A home whose daemon can ring, the people who hear it, and the model that wants it."""

    home: FermixHome
    people: People
    model: StrictServer
    bell: Path

    @property
    def rings(self) -> int:
        """How often the bell was heard."""
        return len(self.bell.read_bytes().splitlines()) if self.bell.exists() else 0

    def daemon(self, *how: str) -> Daemon:
        """Start a daemon with the bell in it."""
        output = self.home.path.parent / f"daemon-{len(self.home.started)}.out"
        given = ["--far", str(self.people.platform_port), "--bell", str(self.bell), *how]
        with output.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.e2e.bell_daemon", *given],
                cwd=ROOT,
                env=self.home.environ,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self.home.started.append(process)
        return Daemon(home=self.home, process=process, output=output).ready()

    def lose_a_turn(self, death: str = "in the effect") -> None:
        """Let the daemon die in the middle of a turn that rings."""
        how, _ = DEATHS[death]
        self.model.will(RINGS, RANG)
        daemon = self.daemon(*how)
        self.people.write("red", LOST)
        daemon.died()
        self.model.script.clear()

    def paused(self) -> Daemon:
        """Lose a turn, start again, and let a follower wait behind it."""
        self.lose_a_turn()
        daemon = self.daemon()
        self.people.answer("red")
        self.write("red", "follower")
        return daemon

    def write(self, chat: str, text: str) -> None:
        """A message of the owner's that was admitted before this returns."""
        self.people.acknowledged(offset=self.people.write(chat, text))

    def listed(self) -> list[tuple[str, str]]:
        """State and preview of each unsettled turn."""
        turns = self.home.fermix("queue", "list", "--json").document["queue"]["turns"]
        return [(turn["state"], turn["preview"]) for turn in turns]

    def lost_id(self) -> str:
        """The number of the paused turn."""
        turns = self.home.fermix("queue", "list", "--json").document["queue"]["turns"]
        (paused,) = [str(turn["id"]) for turn in turns if turn["state"] == "unknown"]
        return paused

    def outcome(self) -> tuple[str, str | None]:
        """How the turn that was lost stands."""
        ((state, outcome),) = self.home.rows("SELECT state, outcome FROM turns WHERE turn=1")
        return state, outcome

    def asked(self) -> list[str]:
        """What the model was asked last, in each request."""
        return [request.body["messages"][-1]["content"] for request in self.model.requests]


@pytest.fixture
def belfry(home: FermixHome, people: People, model: StrictServer, tmp_path: Path) -> Belfry:
    return Belfry(home=home, people=people, model=model, bell=tmp_path / "bell")


def said(run: Run) -> tuple[int, str, str]:
    return run.code, run.out, run.err


def test_a_turn_that_rings_and_lives_rings_once_and_is_answered(belfry: Belfry) -> None:
    belfry.model.will(RINGS, RANG)
    belfry.daemon()
    belfry.people.write("red", LOST)
    assert belfry.people.answer("red") == [RANG.text]
    assert belfry.rings == 1
    assert belfry.home.rows("SELECT name, repeat, outcome IS NULL FROM effects") == [(RING, "unsafe", 0)]


@pytest.mark.requirement(
    "recovery.unsafe_effect_is_unknown", "recovery.unknown_pauses_lane", "recovery.unknown_told_once"
)
@pytest.mark.parametrize("death", DEATHS)
def test_a_lane_pauses_after_a_death_around_an_effect_and_is_told_once(belfry: Belfry, death: str) -> None:
    belfry.lose_a_turn(death)
    _, rings = DEATHS[death]
    assert belfry.rings == rings
    daemon = belfry.daemon()
    assert belfry.people.answer("red") == [wording.PAUSED]
    assert belfry.outcome() == ("unknown", None)
    assert "turn.cut_off turn=1 outcome=unknown" in belfry.home.log()
    belfry.write("red", "follower 1")
    belfry.write("red", "follower 2")
    daemon.kill()
    belfry.daemon()
    belfry.write("blue", "hello")
    assert belfry.people.answer("blue") == ["You said: hello"]
    assert belfry.listed() == [("unknown", LOST), ("queued", "follower 1"), ("queued", "follower 2")]
    assert belfry.people.in_chat("red") == [wording.PAUSED]
    assert belfry.asked()[-1] == "hello"
    assert not [text for text in belfry.asked() if text.startswith("follower")]
    assert belfry.rings == rings


@pytest.mark.requirement("command.discard_and_retry", "recovery.discard_resolves")
def test_a_discard_from_another_chat_lets_the_followers_run(belfry: Belfry) -> None:
    belfry.paused()
    belfry.people.write("blue", "/discard")
    assert belfry.people.answer("blue") == ["Discarded request 1. Its conversation goes on."]
    (_, answer) = belfry.people.answer("red", count=2)
    assert answer.startswith(f"You said: {LOST}"), "the follower's model reads what was lost"
    assert wording.DISCARDED_MARKER in answer
    assert answer.endswith("\nfollower")
    assert belfry.outcome() == ("settled", "interrupted")
    assert belfry.rings == 1


@pytest.mark.requirement("command.discard_and_retry", "recovery.retry_resolves")
def test_a_retry_from_another_chat_runs_the_turn_again_before_its_followers(belfry: Belfry) -> None:
    belfry.paused()
    belfry.model.will(RINGS, RANG)
    belfry.people.write("blue", "/retry 1")
    assert belfry.people.answer("blue") == ["Request 1 will run again."]
    assert belfry.people.answer("red", count=3)[1:] == [RANG.text, "You said: follower"]
    assert belfry.outcome() == ("settled", "completed")
    assert belfry.rings == 2


@pytest.mark.requirement("command.queue_verbs")
def test_queue_list_and_queue_discard_clear_a_lane_of_another_channel(belfry: Belfry) -> None:
    belfry.paused()
    listed = belfry.home.fermix("queue", "list")
    assert (listed.code, listed.err) == (0, "")
    assert LOST in listed.out
    assert "paused" in listed.out
    assert "test red" in listed.out
    lost = belfry.lost_id()
    wrong = belfry.home.fermix("queue", "discard", "99")
    assert said(wrong) == (1, "", f"fermix: {wording.NOTHING_TO_DISCARD}\n")
    right = belfry.home.fermix("queue", "discard", lost)
    assert said(right) == (0, f"Discarded request {lost}. Its conversation goes on.\n", "")
    assert belfry.people.answer("red", count=2)[1].endswith("follower")
    again = belfry.home.fermix("queue", "discard", "--json")
    assert (again.code, again.document["error"]["code"]) == (1, "nothing_to_do")
    assert belfry.outcome() == ("settled", "interrupted")
    assert belfry.rings == 1


@pytest.mark.requirement("command.queue_verbs")
def test_queue_retry_runs_the_turn_again_and_its_command_has_a_row(belfry: Belfry) -> None:
    belfry.paused()
    belfry.model.will(RINGS, RANG)
    retried = belfry.home.fermix("queue", "retry", "1", "--json")
    assert (retried.code, retried.err) == (0, "")
    assert retried.document == {"ok": True, "text": "Request 1 will run again.", "turn": 1, "queued_as": 1}
    assert belfry.people.answer("red", count=3)[1:] == [RANG.text, "You said: follower"]
    assert belfry.rings == 2
    commands = belfry.home.rows("SELECT done, length(key) FROM messages WHERE origin='cli:local'")
    assert commands == [(1, 36)]


@pytest.mark.requirement("command.new.on_paused_lane")
def test_new_on_a_paused_lane_discards_and_its_followers_run_in_the_new_window(belfry: Belfry) -> None:
    belfry.paused()
    belfry.people.write("red", "/new")
    told, opened, answer = belfry.people.answer("red", count=3)
    assert (told, opened, answer) == (wording.PAUSED, wording.NEW_WINDOW, "You said: follower")
    assert belfry.outcome() == ("settled", "interrupted")
    assert [message["role"] for message in belfry.model.requests[-1].body["messages"]] == ["system", "user"]
    assert belfry.rings == 1


def test_a_lane_that_was_retried_into_a_second_death_pauses_and_is_told_again(belfry: Belfry) -> None:
    belfry.paused().terminate()
    belfry.model.will(RINGS, RANG)
    daemon = belfry.daemon("--dies-ringing")
    belfry.people.write("blue", "/retry")
    daemon.died()
    belfry.model.script.clear()
    belfry.daemon()
    assert belfry.people.answer("red", count=2) == [wording.PAUSED] * 2
    assert belfry.outcome() == ("unknown", None)
    assert belfry.listed() == [("unknown", LOST), ("queued", "follower")]
    assert belfry.rings == 2


@pytest.mark.requirement("command.queue_verbs")
def test_the_queue_can_be_cleared_without_a_daemon_and_the_next_one_goes_on(belfry: Belfry) -> None:
    belfry.paused().terminate()
    assert belfry.listed() == [("unknown", LOST), ("queued", "follower")]
    discarded = belfry.home.fermix("queue", "discard")
    assert said(discarded) == (0, "Discarded request 1. Its conversation goes on.\n", "")
    assert belfry.listed() == [("queued", "follower")]
    assert belfry.people.in_chat("red") == [wording.PAUSED]
    assert belfry.home.fermix("status").code == 3
    belfry.daemon()
    assert belfry.people.answer("red", count=2)[1].endswith("follower")
    assert belfry.rings == 1


def test_what_a_killed_daemon_left_is_listed_as_left_behind_until_the_next_one_looks(belfry: Belfry) -> None:
    belfry.lose_a_turn()
    (turn,) = belfry.home.fermix("queue", "list", "--json").document["queue"]["turns"]
    assert (turn["state"], turn["left_behind"], turn["chat"]) == ("started", True, "red")
    assert "left behind" in belfry.home.fermix("queue", "list").out
    assert belfry.home.fermix("queue", "retry").code == 1
    assert belfry.rings == 1


@pytest.mark.requirement("retention.retry_of_a_failed_turn")
def test_a_failed_turn_is_listed_and_runs_again_as_a_new_one_at_its_lanes_end(belfry: Belfry) -> None:
    belfry.daemon()
    belfry.model.will(Refuse(status=401, body={"error": {"message": "no"}}))
    belfry.people.write("red", "try me")
    belfry.people.answer("red")
    listing = belfry.home.fermix("queue", "list", "--json").document["queue"]
    assert listing["turns"] == []
    assert [(turn["id"], turn["preview"]) for turn in listing["failed"]] == [(1, "try me")]
    retried = belfry.home.fermix("queue", "retry", "1", "--json").document
    assert (retried["turn"], retried["queued_as"]) == (1, 2)
    assert belfry.people.answer("red", count=2)[1].endswith("try me")
    until(lambda: belfry.home.rows("SELECT outcome FROM turns WHERE turn=2") == [("completed",)])
    assert belfry.home.fermix("queue", "list", "--json").document["queue"]["failed"] == []
    assert belfry.home.fermix("queue", "retry", "1").code == 1


@pytest.mark.requirement("retention.retry_of_a_failed_turn")
def test_a_failed_turn_waits_behind_what_its_lane_holds_already(belfry: Belfry) -> None:
    belfry.daemon()
    belfry.model.will(Refuse(status=401, body={"error": {"message": "no"}}), Hang(stage="middle"))
    belfry.people.write("red", "try me")
    belfry.people.answer("red")
    belfry.people.write("red", "hang")
    until(lambda: "hang" in belfry.asked()[-1], what="the model's turn")
    belfry.write("red", "next")
    belfry.people.write("blue", "/retry 1")
    assert belfry.people.answer("blue") == ["Request 1 will run again."]
    assert belfry.listed() == [("started", "hang"), ("queued", "next"), ("queued", "try me")]


def test_a_queue_list_joins_an_ask_that_runs_without_a_daemon(belfry: Belfry) -> None:
    belfry.model.will(Hang(stage="middle"))
    asked = belfry.home.start("ask", "--session", "work", "hang")
    until(lambda: belfry.model.requests, what="the model's turn")
    assert belfry.listed() == [("started", "hang")]
    lines = [line.split() for line in belfry.home.fermix("queue", "list").out.splitlines()]
    assert ["1", "running"] in [line[:2] for line in lines]
    assert belfry.home.fermix("queue", "discard").code == 1
    assert asked.process.poll() is None, "the ask is not disturbed"


def test_sessions_lists_every_conversation_newest_first_and_names_the_terminals_own(belfry: Belfry) -> None:
    belfry.paused()
    assert belfry.home.fermix("ask", "--session", "work", "hello").code == 0
    listed = belfry.home.fermix("sessions", "--json").document["sessions"]
    assert [(one["session"], one["channel"], one["chat"]) for one in listed] == [
        ("work", "cli", "work"),
        (None, "test", "red"),
    ]
    assert [(one["paused"], one["waiting"]) for one in listed] == [(False, 0), (True, 1)]
    shown = belfry.home.fermix("sessions", "--limit", "1").out.splitlines()
    assert [line.split()[0] for line in shown] == ["CONVERSATION", "work"]
