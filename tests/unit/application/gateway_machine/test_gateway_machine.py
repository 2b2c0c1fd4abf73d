"""The real gateway does what the dullest model of it says, whatever happens in whatever order."""

from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from fermix.testing.histories import SABOTEURS, Sabotage
from tests.unit.application.gateway_machine.machine import GatewayMachine

BRIEF = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


class OnAsyncio(GatewayMachine):
    """The same on the other loop; its turns have no clock that could be moved."""

    backend: ClassVar[str] = "asyncio"


class OverTheFile(GatewayMachine):
    """The same over the real ledger."""

    home: ClassVar[str] = "sqlite"


@pytest.mark.requirement(
    "lane.first_in_first_out",
    "lane.fair_between_conversations",
    "lane.table_is_the_queue",
    "limits.reply_once_per_episode",
    "deliver.repeat_is_marked",
)
@pytest.mark.parametrize(("machine", "examples"), [(GatewayMachine, 60), (OnAsyncio, 20), (OverTheFile, 20)])
def test_a_gateway_stands_as_its_dullest_model_says(machine: type[GatewayMachine], examples: int) -> None:
    run_state_machine_as_test(machine, settings=settings(BRIEF, max_examples=examples))


@pytest.mark.parametrize("fault", ["hides_repeats", "overtakes_albums"])
def test_the_model_notices_a_ledger_with_a_planted_fault(fault: str) -> None:
    class Sabotaged(GatewayMachine):
        sabotage: ClassVar[Sabotage | None] = SABOTEURS[fault]

    quick = settings(BRIEF, max_examples=1500, phases=[Phase.generate], database=None, print_blob=False)
    with pytest.raises((AssertionError, BaseExceptionGroup)) as caught:
        run_state_machine_as_test(Sabotaged, settings=quick)
    assert any(isinstance(each, AssertionError) for each in _leaves(caught.value))


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for each in error.exceptions for leaf in _leaves(each)]
    return [error]
