"""When too much waits in a conversation, it is told so once, until there is room again."""

import pytest

from fermix.application.ports.channel import Verdict
from fermix.domain import wording
from fermix.domain.lane import QueueLimits
from tests.unit.application.house import PUSH, build, running
from tests.unit.application.scripted import ScriptedModel, says

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("limits.reply_once_per_episode")
async def test_a_command_that_passes_a_full_conversation_begins_no_new_episode() -> None:
    house = build(ScriptedModel([says("hi")]), slots=0, limits=QueueLimits(per_conversation=1))
    async with running(house):
        await house.write("waits", id="m1", door=PUSH)
        first = await house.write("too much", id="m2", door=PUSH)
        assert first.notice == wording.TOO_MUCH_WAITING_HERE
        assert (await house.write("/help", id="m3", door=PUSH)).verdict is Verdict.ACCEPTED
        again = await house.write("still too much", id="m4", door=PUSH)
        assert (again.verdict, again.notice) == (Verdict.ANSWERED, None)
        await house.write("/stop", id="m5", door=PUSH)
        await house.write("room again", id="m6", door=PUSH)
        later = await house.write("too much again", id="m7", door=PUSH)
        assert later.notice == wording.TOO_MUCH_WAITING_HERE
