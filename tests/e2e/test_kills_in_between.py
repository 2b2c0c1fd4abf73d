"""Killed between the parts of one reply, and killed again while a start puts things right."""

import pytest

from fermix.testing.servers.openai_strict.script import Say
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import FermixHome
from tests.e2e.harness.people import People

MARK = "(possibly sent before)\n"
MAX_TEXT = 120
LINES = [f"{name} " + "and so on " * 6 + "end." for name in ("first", "second", "third")]


def _texts(people: People, *, wait: int) -> list[str]:
    return [part.text for part in people.seen(count=wait)]


@pytest.mark.requirement("recovery.kill.around_delivery", "deliver.in_order", "deliver.repeat_is_marked")
def test_a_kill_between_two_parts_sends_the_rest_in_order(
    home: FermixHome, people: People, model: StrictServer
) -> None:
    home.use(model.base_url)
    model.will(Say(text="\n\n".join(LINES)))
    dying = home.daemon(far=people, kill="after:done:1", max_text=MAX_TEXT)
    people.write("red", "tell me a lot")
    dying.died()
    assert _texts(people, wait=1) == LINES[:1]
    daemon = home.daemon(far=people, max_text=MAX_TEXT).ready()
    assert _texts(people, wait=3) == [LINES[0], MARK + LINES[1], LINES[2]]
    assert len(model.requests) == 1
    assert daemon.terminate() == 0


@pytest.mark.requirement("recovery.kill.around_settlement")
@pytest.mark.parametrize("again", ["before:recover:1", "after:recover:1"])
def test_a_kill_during_recovery_changes_nothing(
    home: FermixHome, people: People, model: StrictServer, again: str
) -> None:
    home.use(model.base_url)
    model.will(Say(text="the answer"))
    dying = home.daemon(far=people, kill="after:settle:1")
    people.write("red", "a question")
    dying.died()
    home.daemon(far=people, kill=again).died()
    daemon = home.daemon(far=people).ready()
    assert _texts(people, wait=1) == [f"{MARK}the answer"]
    assert len(model.requests) == 1
    assert daemon.terminate() == 0
