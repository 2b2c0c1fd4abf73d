"""Intent and outcome of each call that a repeat would do twice, written down around the call."""

import json
from dataclasses import dataclass, field, replace

from fermix.application.patience import until_stored
from fermix.application.ports.clock import Clock
from fermix.application.ports.model import ToolCall
from fermix.application.ports.outbox import SendingPart
from fermix.application.ports.tools import ToolResult
from fermix.application.ports.turns import ClaimedTurn, EffectIntent, Turns
from fermix.domain.capability import Capability
from fermix.domain.delivery import Part
from fermix.domain.ids import PlatformMessageId
from fermix.domain.recovery import Repeat
from fermix.domain.route import Target

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
        intent = self._intent(
            capability.name, Repeat.UNSAFE, json.dumps({"arguments": call.arguments[:MAX_NOTE]})
        )
        await self.turns.begin_effect(intent)
        return intent.step

    async def begin_draft(self) -> int:
        """Write down that a draft is about to be opened; returns the step.

        Raises:
            StaleTurn: the turn was stopped; no draft may be opened.
        """
        intent = self._intent("draft", Repeat.ADOPT, "{}")
        await self.turns.begin_effect(intent)
        return intent.step

    async def end_draft(self, step: int, draft: PlatformMessageId) -> None:
        """Write down what the draft is called, so that the next run of this turn finds it.

        Raises:
            StaleTurn: the turn was stopped meanwhile.
        """
        await self.turns.end_effect(
            self.claim.turn, generation=self.claim.generation, step=step, outcome=draft
        )

    async def say(self, part: Part, target: Target) -> SendingPart | None:
        """Commit a piece of the turn's own text to be sent now; a run that has said something is not repeated.

        Returns:
            What to send at once; nothing while something older is on its way there.

        Raises:
            StaleTurn: the turn was stopped; nothing may be sent.
        """
        intent = self._intent("block", Repeat.TEXT, "{}")
        return await self.turns.begin_effect(replace(intent, part=part, target=target))

    async def send(
        self, name: str, intent: str, part: Part, target: Target, *, repeat: Repeat = Repeat.UNSAFE
    ) -> SendingPart | None:
        """Commit what a call shows in the conversation: what it was about, and the part to be sent now.

        Returns:
            What to send at once; nothing while something older is on its way there.

        Raises:
            StaleTurn: the turn was stopped; nothing may be shown.
        """
        meant = self._intent(name, repeat, intent[:MAX_NOTE])
        return await self.turns.begin_effect(replace(meant, part=part, target=target))

    def _intent(self, name: str, repeat: Repeat, intent: str) -> EffectIntent:
        step, self._step = self._step, self._step + 1
        return EffectIntent(
            turn=self.claim.turn,
            generation=self.claim.generation,
            step=step,
            name=name,
            repeat=repeat,
            intent=intent,
        )

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
