"""Intent and outcome of each call that a repeat would do twice, written down around the call."""

import json
from dataclasses import dataclass, field

from fermix.application.patience import until_stored
from fermix.application.ports.clock import Clock
from fermix.application.ports.model import ToolCall
from fermix.application.ports.tools import ToolResult
from fermix.application.ports.turns import ClaimedTurn, EffectIntent, Turns
from fermix.domain.capability import Capability
from fermix.domain.recovery import Repeat

MAX_NOTE = 2_000
"""Characters kept of arguments and results: enough for an owner to recognise the call."""


@dataclass(slots=True)
class Journal:
    """The effects of one claim, numbered in the order they begin."""

    turns: Turns
    clock: Clock
    claim: ClaimedTurn
    _step: int = field(default=0)

    async def begin(self, capability: Capability, call: ToolCall) -> int:
        """Write down what is about to happen, durably; returns the step.

        Raises:
            StaleTurn: the turn was stopped; the call must not run.
        """
        step, self._step = self._step, self._step + 1
        await self.turns.begin_effect(
            EffectIntent(
                turn=self.claim.turn,
                generation=self.claim.generation,
                step=step,
                name=capability.name,
                repeat=Repeat.UNSAFE,
                intent=json.dumps({"arguments": call.arguments[:MAX_NOTE]}),
            )
        )
        return step

    async def end(self, step: int, result: ToolResult) -> None:
        """Write down what happened.

        Raises:
            StaleTurn: the turn was stopped while the call ran.
        """
        outcome = json.dumps({"failed": result.failed, "text": result.text[:MAX_NOTE]})
        await until_stored(
            self.clock,
            "effect outcome",
            lambda: self.turns.end_effect(
                self.claim.turn, generation=self.claim.generation, step=step, outcome=outcome
            ),
        )
