"""The key never shows: not in errors, not in logs, though the server sends it back."""

import logging
import traceback
from collections.abc import Iterator

import pytest

from fermix.application.ports.model import ModelError
from fermix.domain.failure import FailureKind
from fermix.infrastructure.providers.openai.factory import Wire
from fermix.testing.servers.openai_strict.script import Answer, Drop, Frames, Hang, Refuse, Say
from fermix.testing.servers.openai_strict.server import strict_server
from tests.integration.providers.asking import ask, model_at

pytestmark = pytest.mark.anyio
KEY = "Tr0ub4dor&3-correct/horse+battery=staple"
PASSWORD = "p4ssw0rd-of-a-gateway"

ECHOES: list[Answer] = [
    Say(text="fine"),
    Refuse(status=401, body={"error": {"message": f"Incorrect API key provided: {KEY}"}}),
    Refuse(status=400, body={"error": {"message": f"header was Bearer {KEY}", "code": KEY}}),
    Refuse(status=500, body=f"trace: authorization={KEY} at {KEY[:20]}"),
    Refuse(status=429, body={"error": KEY}, headers={"X-Echo": KEY}),
    Refuse(status=307, headers={"Location": f"http://127.0.0.1:1/?key={KEY}"}),
    Frames(frames=(f'data: {{"error":{{"message":"{KEY}","code":500}}}}\n\n',), end="close"),
    Frames(frames=(KEY,), end="close", content_type="text/plain"),
    Drop(),
    Hang(stage="middle"),
]


def everything_about(error: BaseException) -> Iterator[str]:
    """All texts that a log or a debugger would print of an error, chained ones included."""
    seen: BaseException | None = error
    while seen is not None:
        yield from (str(seen), repr(seen), repr(vars(seen)))
        yield from traceback.format_exception(seen)
        seen = seen.__cause__ or seen.__context__


@pytest.mark.parametrize("wire", list(Wire))
@pytest.mark.parametrize("answer", ECHOES, ids=lambda answer: type(answer).__name__)
async def test_the_key_shows_nowhere(wire: Wire, answer: Answer, caplog: pytest.LogCaptureFixture) -> None:
    texts: list[str] = []
    with caplog.at_level(logging.DEBUG), strict_server(answer, key=KEY) as server:
        async with model_at(server.base_url, wire, key=KEY, timeout_seconds=0.3) as model:
            try:
                await ask(model)
            except ModelError as error:
                texts += [*everything_about(error), repr(error.failure)]
    texts += [record.getMessage() for record in caplog.records]

    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert not [text for text in texts if KEY in text or KEY[8:20] in text]


@pytest.mark.parametrize(
    "bad",
    ["sk-abc\ndef-0123456789", "sk-abc\x00def-0123456789", "sk-abc def-0123456789", "sk-äbcdef-0123456789"],
)
async def test_a_key_that_no_header_can_carry_is_refused_unsent_and_unseen(
    bad: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), strict_server(key=bad) as server:
        async with model_at(server.base_url, Wire.CHAT_COMPLETIONS, key=bad) as model:
            with pytest.raises(ModelError) as caught:
                await ask(model)

    assert caught.value.kind is FailureKind.CREDENTIAL_REFUSED
    assert server.requests == []
    texts = [*everything_about(caught.value), *(record.getMessage() for record in caplog.records)]
    assert not [text for text in texts if "0123456789" in text]


async def test_spaces_around_a_key_are_not_part_of_it() -> None:
    with strict_server(key="test-key") as server:
        async with model_at(server.base_url, Wire.CHAT_COMPLETIONS, key=" test-key\n") as model:
            await ask(model)


async def test_the_password_of_an_address_shows_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), strict_server(key="another") as server:
        address = server.base_url.replace("http://", f"http://me:{PASSWORD}@")
        async with model_at(address, Wire.CHAT_COMPLETIONS, key=None) as model:
            with pytest.raises(ModelError) as caught:
                await ask(model)

    texts = [*everything_about(caught.value), *(record.getMessage() for record in caplog.records)]
    assert not [text for text in texts if PASSWORD in text]
