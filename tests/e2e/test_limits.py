"""What a daemon takes at most, and what it does with the rest."""

import pytest

from fermix.testing.servers.openai_strict.script import Hang
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import FermixHome, until
from tests.e2e.harness.people import People


@pytest.mark.requirement("limits.pull_transport_stops_polling", "limits.in_all")
def test_at_the_total_limit_nothing_is_acknowledged_until_there_is_room(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    home.use(model.base_url, core="[fermix_core.queue]\nmax_waiting = 2")
    model.will(Hang(stage="middle"))
    home.daemon(far=people).ready()
    people.acknowledged(offset=people.write("red", "running"))
    until(lambda: model.requests, what="the model's turn")
    people.acknowledged(offset=people.write_all([("red", "one"), ("red", "two")]))
    people.write_all([("green", "three"), ("red", "/whoami")])
    until(lambda: people.offers().count(4) > 1, what="the second offer")
    assert people.acknowledged() == 3
    assert people.in_chat("green") == []
    assert home.fermix("ask", "/stop").out.startswith("Stopped 1 running request and 2 waiting messages")
    people.acknowledged(offset=5)
    assert people.answer("green") == ["You said: three"]
    assert len(people.answer("red")) == 1


@pytest.mark.requirement("limits.per_conversation", "limits.honest_reply", "limits.reply_once_per_episode")
def test_a_full_conversation_is_told_once_and_goes_on_when_there_is_room(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    home.use(model.base_url, core="[fermix_core.queue]\nmax_waiting_per_conversation = 1")
    model.will(Hang(stage="middle"))
    home.daemon(far=people).ready()
    people.acknowledged(offset=people.write("red", "running"))
    until(lambda: model.requests, what="the model's turn")
    people.acknowledged(offset=people.write_all([("red", "waits"), ("red", "lost 1"), ("red", "lost 2")]))
    (told,) = people.answer("red")
    assert "already too much waiting" in told
    people.acknowledged(offset=people.write("blue", "/stop"))
    people.answer("blue")
    people.write("red", "and now?")
    assert people.answer("red", count=2)[1].endswith("and now?")
    assert len(people.in_chat("red")) == 2


@pytest.mark.requirement("lane.slots_are_bounded")
def test_no_more_turns_run_than_there_are_slots(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    home.use(model.base_url, core="[fermix_core.agent]\nmax_concurrent_turns = 2")
    model.will(Hang(stage="middle"), Hang(stage="middle"))
    home.daemon(far=people).ready()
    people.acknowledged(offset=people.write_all([(chat, f"in {chat}") for chat in ("a", "b", "c")]))
    until(lambda: len(model.requests) == 2, what="two turns")
    status = home.fermix("status", "--json").document["status"]
    assert (status["running"], status["waiting"]) == (2, 1)
    assert home.fermix("ask", "/stop").out.startswith("Stopped 2 running requests and 1 waiting message")
