"""A conversation far longer than the model's window: it is cut, and the model goes on answering."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from fermix.application.agent.journal import Journal
from fermix.application.agent.loop import AgentLoop, AgentTask
from fermix.application.agent.toolbox import Toolbox
from fermix.application.agent.window import fit_to_window
from fermix.application.ports.tools import ToolContext
from fermix.domain.authorization import Trust
from fermix.domain.capability import Scope
from fermix.domain.history import AssistantEntry, HistoryEntry, UserEntry
from fermix.domain.ids import TurnId
from fermix.infrastructure.providers.local.files import DefaultModelFile
from fermix.infrastructure.providers.local.profile import default_profile
from fermix.infrastructure.providers.openai.endpoint import ApiKey, Endpoint
from fermix.infrastructure.providers.openai.factory import Wire, build_model
from fermix.infrastructure.system.clock import SystemClock
from tests.integration.local_model.runtimes import runtime_for

pytestmark = [pytest.mark.anyio, pytest.mark.needs("local-model", "package:xllamacpp")]

TURNS = 30


class NothingToJournal(Journal):
    def __init__(self) -> None:
        self.clock = SystemClock()


async def test_thirty_turns_fit_into_a_window_that_holds_a_few(
    local_model_file: Path, tmp_path: Path
) -> None:
    local = default_profile(tmp_path)
    profile = replace(local.profile, model="tested", context_window=400, max_output_tokens=16)
    history: list[HistoryEntry] = []
    async with runtime_for(DefaultModelFile(path=local_model_file)) as runtime:

        @asynccontextmanager
        async def endpoint() -> AsyncGenerator[Endpoint]:
            async with runtime.lease() as leased:
                yield Endpoint(base_url=leased.base_url, api_key=ApiKey(leased.api_key))

        model = build_model(
            profile=profile,
            wire=Wire.CHAT_COMPLETIONS,
            endpoint=endpoint,
            timeout_seconds=60,
            extra_body=local.sampling.body(),
        )
        with anyio.fail_after(300):
            for number in range(TURNS):
                asked = UserEntry(
                    text=f"Number {number}. " + "The sea was calm and the boats lay still. " * 12
                )
                transcript: list[HistoryEntry] = [asked]
                answer = await AgentLoop(max_iterations=1).run(
                    AgentTask(
                        model=model,
                        system=str(profile.system_prompt),
                        history=tuple(history),
                        transcript=transcript,
                        toolbox=Toolbox(()),
                        context=ToolContext(turn=TurnId(number), scope=Scope(trust=Trust.OPERATOR)),
                        journal=NothingToJournal(),
                        report=lambda _event: None,
                    )
                )
                assert answer.text.strip()
                history.extend(transcript)
        await model.aclose()
    kept = fit_to_window(history, [UserEntry(text="next")], model, str(profile.system_prompt), ())
    assert len(history) == 2 * TURNS
    assert 2 < len(kept) < 12
    assert isinstance(kept[0], UserEntry)
    assert isinstance(kept[1], AssistantEntry)
