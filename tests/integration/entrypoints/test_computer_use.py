"""Screen control stands in the registry of a real container only when the owner enabled it."""

from pathlib import Path

import pytest

from fermix.application.ports.control import OwnerKind
from fermix.application.ports.tools import ToolContext
from fermix.domain.authorization import Trust
from fermix.domain.capability import RiskClass, Scope
from fermix.domain.ids import TurnId
from fermix.entrypoints.container import Container
from fermix.entrypoints.lifespan import open_container
from fermix.entrypoints.preparation import prepare
from fermix.infrastructure.tools.registry import built_in_tools
from tests.unit.application.scripted import RecordingTool

pytestmark = pytest.mark.anyio

OPERATOR = Scope(trust=Trust.OPERATOR)


def turn_of(scope: Scope) -> ToolContext:
    return ToolContext(turn=TurnId(1), scope=scope)


def with_a_screen(container: Container) -> None:
    tools = built_in_tools(container.workspace(), container.blobs())
    container.tools.override((*tools, RecordingTool("screen", risk=RiskClass.GUI_CONTROL)))


@pytest.mark.requirement("trust.gui_control.only_when_enabled", "trust.gui_control.never_delegated")
@pytest.mark.parametrize(
    ("section", "registered"),
    [
        ("", False),
        ("[fermix_core.computer_use]\ndisplay = 1\n", False),
        ("[fermix_core.computer_use]\nenabled = false\n", False),
        ("[fermix_core.computer_use]\nenabled = true\n", True),
    ],
)
async def test_the_screen_is_there_when_enabled_for_an_operators_own_turn_alone(
    tmp_path: Path, section: str, *, registered: bool
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(section)
    prepared = prepare(home, {"HOME": str(tmp_path)})
    async with open_container(
        prepared.home,
        prepared.loaded.settings,
        kind=OwnerKind.DAEMON,
        environ={},
        on_broken=lambda: None,
        override=with_a_screen,
    ) as (container, _):
        toolbox = container.toolbox()
    offered = [tool.name for tool in toolbox.definitions(turn_of(OPERATOR))]
    assert ("screen" in offered, toolbox.knows("screen")) == (registered, registered)
    assert "file_read" in offered
    for scope in (OPERATOR.handed_on(), Scope(trust=Trust.GUEST), Scope(trust=None)):
        assert "screen" not in [tool.name for tool in toolbox.definitions(turn_of(scope))]
