"""Who writes where nothing is offered again is told when a message could not be taken, and nobody else."""

from pathlib import Path

import pytest

from fermix.application.gateway.stages import Door
from fermix.application.ports.channel import Verdict
from fermix.domain import wording
from fermix.domain.ids import AccountId
from fermix.domain.normalise import Registration
from fermix.entrypoints.messengers import BUILDERS
from fermix.entrypoints.preparation import prepare
from fermix.entrypoints.surroundings import surroundings_of
from fermix.testing.clock import StoppedClock
from tests.unit.application.house import TEST, build, running
from tests.unit.application.scripted import ScriptedModel

pytestmark = pytest.mark.anyio

SECTIONS = {
    "signal": 'account = "+15550000001"\nowner_user_id = "+15551001"',
    "discord": 'bot_token = "OTAwMDAwMDAwMDAwMDAwMDAx.GaBcDe.secret"\nowner_user_id = "7"',
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.requirement("restart.signal_and_cli_are_told")
@pytest.mark.parametrize(("name", "told"), [("signal", [wording.RESTARTING]), ("discord", [])])
async def test_during_a_restart_who_is_not_offered_again_is_told(
    name: str, told: list[str], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f"[fermix_channels.{name}]\nenabled = true\n{SECTIONS[name]}\n")
    settings = prepare(home, {"HOME": str(tmp_path)}).loaded.settings
    channel = BUILDERS[name](settings, StoppedClock(), surroundings_of(home, {}))
    assert channel is not None
    door = Door(registration=Registration(channel=TEST, account=AccountId("a")), features=channel.features)
    async with running(build(ScriptedModel([]))) as house:
        house.gateway.close()
        receipt = await house.write("hello", door=door)
        assert receipt.verdict is Verdict.UNAVAILABLE
        assert await house.channel.has_sent(len(told)) == told
