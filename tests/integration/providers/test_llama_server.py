"""Both wires against llama.cpp's own server with a real model."""

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from fermix.application.ports.model import ModelError
from fermix.domain.failure import FailureKind
from fermix.domain.history import AssistantEntry, CallRecord, MarkerEntry, ToolEntry, UserEntry
from fermix.infrastructure.providers.openai.factory import Wire
from tests.integration.providers.asking import ask, failure, model_at

pytestmark = [pytest.mark.anyio, pytest.mark.needs("local-model", "package:xllamacpp")]
BOTH = pytest.mark.parametrize("wire", list(Wire))
KEY = "llama-test-key"
LIMIT = {Wire.CHAT_COMPLETIONS: "max_tokens", Wire.RESPONSES: "max_output_tokens"}


@pytest.fixture(scope="module")
def llama(local_model_file: Path) -> Iterator[str]:
    """The address of a server in this process; it ends with its object."""
    xllamacpp = importlib.import_module("xllamacpp")
    given = xllamacpp.CommonParams()
    given.model.path = str(local_model_file)
    given.n_ctx = 1024
    given.n_parallel = 1
    given.use_jinja = True
    given.hostnames = ["127.0.0.1"]
    given.port = 0
    given.model_alias = ["llama"]
    given.api_keys = [KEY]
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 2
    given.verbosity = 0
    server = xllamacpp.Server(given)
    yield f"{server.listening_address}/v1"
    del server


@BOTH
async def test_a_real_model_answers_and_two_prompts_give_two_answers(llama: str, wire: Wire) -> None:
    async with model_at(
        llama, wire, key=KEY, model="llama", timeout_seconds=60, extra_body={LIMIT[wire]: 12}
    ) as model:
        first = await ask(model, text="Name a colour.", within=60)
        second = await ask(model, text="Count from one to five.", within=60)

    assert first.text.strip()
    assert first.text != second.text
    assert first.usage.prompt_tokens > 0
    assert first.usage.completion_tokens > 0


@BOTH
async def test_a_history_with_calls_results_and_notes_is_taken(llama: str, wire: Wire) -> None:
    history = (
        UserEntry(text="What is in the file?"),
        AssistantEntry(text="", calls=(CallRecord(call_id="a", name="look", arguments='{"path":"f"}'),)),
        ToolEntry(call_id="a", name="look", text="apples"),
        MarkerEntry(text="the request was stopped"),
        UserEntry(text="And?"),
        AssistantEntry(text="Apples."),
    )
    async with model_at(
        llama, wire, key=KEY, model="llama", timeout_seconds=60, extra_body={LIMIT[wire]: 4}
    ) as model:
        await ask(model, *history, within=60)


@BOTH
async def test_its_refusals_are_understood(llama: str, wire: Wire) -> None:
    async with model_at(llama, wire, key="wrong", model="llama", timeout_seconds=60) as model:
        assert (await failure(model)).kind is FailureKind.CREDENTIAL_REFUSED
    async with model_at(llama, wire, key=KEY, model="llama", timeout_seconds=60) as model:
        with pytest.raises(ModelError) as caught:
            await ask(model, text="word " * 3000, within=60)
    assert caught.value.kind is FailureKind.CONTEXT_TOO_LONG
