"""A daemon killed with -9 around each transaction of a message's life loses nothing and says nothing twice."""

from collections import Counter
from collections.abc import Sequence

import pytest

from fermix.testing.servers.openai_strict.script import Hang
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import FermixHome, until
from tests.e2e.harness.people import People, Seen

MARK = "(possibly sent before)\n"
CHATS = ("red", "green", "blue")
WRITTEN = [(chat, f"{chat} {number}") for number in (1, 2) for chat in CHATS]


def _questions(model: StrictServer) -> Counter[str]:
    """How often the model was asked each question."""
    return Counter(request.body["messages"][-1]["content"] for request in model.requests)


def _by_chat(parts: Sequence[Seen], chat: str) -> tuple[list[str], list[str]]:
    """The unmarked and the marked texts of one chat, in order."""
    texts = [part.text for part in parts if part.chat == chat]
    return (
        [text for text in texts if not text.startswith(MARK)],
        [text.removeprefix(MARK) for text in texts if text.startswith(MARK)],
    )


def _settled(home: FermixHome) -> set[str]:
    """The questions whose answers the ledger holds."""
    rows = home.rows(
        "SELECT u.content FROM entries u JOIN turns t ON u.turn=t.turn"
        " WHERE t.outcome='completed' AND u.role='user'"
    )
    return {text for _, text in WRITTEN if any(text in content for (content,) in rows)}


def _on_their_way(home: FermixHome) -> set[str]:
    rows = home.rows("SELECT body FROM outbox WHERE state='sending'")
    return {text for _, text in WRITTEN if any(text in body for (body,) in rows)}


def _write_into_a_death(home: FermixHome, people: People, kill: str) -> None:
    daemon = home.daemon(far=people, kill=kill).ready()
    people.write_all(WRITTEN[:3])
    people.write_all(WRITTEN[3:])
    daemon.died()


def _restart_and_settle(home: FermixHome, people: People) -> list[Seen]:
    """Start again, and wait until nothing waits, runs or is to be sent any more."""
    daemon = home.daemon(far=people).ready()
    people.acknowledged(offset=len(WRITTEN))

    def at_rest() -> bool:
        status = home.fermix("status", "--json").document["status"]
        return not (status["waiting"] or status["running"] or status["open_parts"])

    until(at_rest, what="the end of all work")
    parts = people.seen()
    assert daemon.terminate() == 0
    assert "Traceback" not in home.log() + daemon.printed()
    return parts


def _hold(parts: Sequence[Seen], model: StrictServer, *, settled: set[str], repeatable: set[str]) -> None:
    """The promise of the whole product, seen from outside."""
    repeats: set[str] = set()
    for chat in CHATS:
        expected = [f"You said: {text}" for where, text in WRITTEN if where == chat]
        unmarked, marked = _by_chat(parts, chat)
        first = list(dict.fromkeys(part.text.removeprefix(MARK) for part in parts if part.chat == chat))
        assert first == expected, "each is answered, in order"
        assert max(Counter(unmarked).values()) == 1, "nothing leaves twice unmarked"
        assert max(Counter(marked).values(), default=1) == 1, "nothing is repeated twice"
        repeats |= {text.removeprefix("You said: ") for text in marked}
    assert repeats <= repeatable, "only what was on its way is marked"
    asked = _questions(model)
    assert set(asked) == {text for _, text in WRITTEN}
    assert {text for text, times in asked.items() if times > 1} <= set(asked) - settled
    assert max(asked.values()) <= 2


def _survive(home: FermixHome, people: People, model: StrictServer, kill: str) -> list[Seen]:
    _write_into_a_death(home, people, kill)
    settled, repeatable = _settled(home), _on_their_way(home)
    parts = _restart_and_settle(home, people)
    _hold(parts, model, settled=settled, repeatable=repeatable)
    return parts


@pytest.mark.requirement("recovery.kill.before_admission", "ingress.admit.synced_before_acknowledge")
def test_a_kill_before_admission_leaves_nothing_and_the_messages_are_offered_again(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    _write_into_a_death(home, people, "before:admit:1")
    assert people.acknowledged() == 0
    assert home.rows("SELECT count(*) FROM messages") == [(0,)]
    parts = _restart_and_settle(home, people)
    _hold(parts, model, settled=set(), repeatable=set())
    assert people.offers().count(1) == 2
    assert max(_questions(model).values()) == 1


@pytest.mark.requirement(
    "recovery.kill.after_admission", "ingress.admit.one_list_one_transaction", "lane.table_is_the_queue"
)
def test_a_kill_after_admission_makes_the_second_offer_a_duplicate(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    _write_into_a_death(home, people, "after:admit:1")
    assert people.acknowledged() == 0
    admitted = home.rows("SELECT count(*) FROM messages")[0][0]
    assert admitted >= 3
    parts = _restart_and_settle(home, people)
    _hold(parts, model, settled=set(), repeatable=set())
    assert people.offers().count(1) == 2
    assert home.rows("SELECT count(*) FROM messages") == [(len(WRITTEN),)]
    assert max(_questions(model).values()) == 1


@pytest.mark.requirement(
    "recovery.kill.around_claim", "recovery.replays_without_effect", "lane.first_in_first_out"
)
@pytest.mark.parametrize("kill", ["before:claim:1", "after:claim:1", "after:claim:2"])
def test_a_kill_around_a_claim_replays_the_turn(
    home: FermixHome, people: People, model: StrictServer, kill: str
) -> None:
    _survive(home, people, model, kill)


@pytest.mark.requirement("recovery.attempt_counted_before_run")
def test_the_attempt_of_a_turn_that_was_just_claimed_is_on_disk(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    daemon = home.daemon(far=people, kill="after:claim:1").ready()
    people.write("red", "red 1")
    daemon.died()
    assert home.rows("SELECT state, attempts FROM turns") == [("started", 1)]
    assert not model.requests
    home.daemon(far=people).ready()
    assert people.answer("red") == ["You said: red 1"]


@pytest.mark.requirement("recovery.at_most_two_replays")
def test_a_message_that_kills_its_process_three_times_is_given_up_and_the_next_one_runs(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    people.write_all([("red", "red 1"), ("red", "red 2")])
    for _ in range(3):
        home.daemon(far=people, kill="after:claim:1").died()
    home.daemon(far=people).ready()
    apology, answer = people.answer("red", count=2)
    assert "given up on it" in apology
    assert answer.endswith("red 2")


@pytest.mark.requirement("recovery.kill.around_settlement", "settle.one_transaction")
@pytest.mark.parametrize("kill", ["before:settle:1", "before:settle:3", "after:settle:1", "after:settle:4"])
def test_a_kill_around_a_settlement_loses_no_answer_and_makes_no_second_one(
    home: FermixHome, people: People, model: StrictServer, kill: str
) -> None:
    _survive(home, people, model, kill)


@pytest.mark.requirement(
    "recovery.kill.around_delivery", "deliver.repeat_is_marked", "deliver.nonce_is_stable"
)
@pytest.mark.parametrize("kill", ["before:done:1", "before:done:4", "after:done:1", "after:done:4"])
def test_a_kill_around_the_end_of_a_delivery_makes_at_most_one_marked_repeat(
    home: FermixHome, people: People, model: StrictServer, kill: str
) -> None:
    parts = _survive(home, people, model, kill)
    for text in {part.text.removeprefix(MARK) for part in parts}:
        assert len({part.nonce for part in parts if part.text.removeprefix(MARK) == text}) == 1
    if kill.startswith("before"):
        assert any(part.repeated for part in parts), "the part whose end was not recorded leaves once more"
    assert all(part.text.startswith(MARK) == part.repeated for part in parts)


@pytest.mark.requirement("recovery.kill.stop_stays_stopped", "settle.stopped_turn_says_nothing")
def test_a_kill_right_after_stop_has_committed_leaves_everything_stopped(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    model.will(Hang(stage="middle"))
    daemon = home.daemon(far=people, kill="after:admit:3").ready()
    people.acknowledged(offset=people.write("red", "red 1"))
    until(lambda: model.requests, what="the model's turn")
    people.acknowledged(offset=people.write("red", "red 2"))
    people.write("blue", "/stop")
    daemon.died()
    assert people.acknowledged() == 2
    home.daemon(far=people).ready()
    (reply,) = people.answer("blue")
    assert reply.startswith(f"{MARK}Stopped 1 running request and 1 waiting message")
    people.acknowledged(offset=3)
    people.write("red", "red 3")
    (answer,) = people.answer("red")
    assert answer.endswith("red 3")
    assert [part.chat for part in people.seen()] == ["blue", "red"]
