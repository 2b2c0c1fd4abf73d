"""A model in memory that answers by a script: the quickest provider, for tests of everything around a model.

    provider = ScriptedProvider()
    provider.will(ModelAnswer(text="Hi"), Trouble.RATE_LIMITED)
    model = ScriptedModel(provider)

Without a script it answers `You said: …`. It passes the model's conformance suite.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import assert_never

import anyio
import anyio.lowlevel

from fermix.application.ports.model import ModelAnswer, ModelError, ModelProfile, ModelRequest, Usage
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.history import AssistantEntry, HistoryEntry, UserEntry
from fermix.testing.model_harness import RATE_LIMIT_WAIT, Deed, Trouble

_PIECE = 4
"""Characters that come at a time."""

_WORDS = "The answer is"
"""What was said before it went wrong."""

_KINDS = {
    Trouble.KEY_MISSING: FailureKind.CREDENTIAL_MISSING,
    Trouble.KEY_REFUSED: FailureKind.CREDENTIAL_REFUSED,
    Trouble.UNKNOWN_MODEL: FailureKind.UNKNOWN_MODEL,
    Trouble.RATE_LIMITED: FailureKind.RATE_LIMITED,
    Trouble.RATE_LIMITED_FOR_LONG: FailureKind.RATE_LIMITED,
    Trouble.NO_VISION: FailureKind.IMAGE_UNSUPPORTED,
    Trouble.PICTURE_REFUSED: FailureKind.IMAGE_REFUSED,
    Trouble.TOO_LONG: FailureKind.CONTEXT_TOO_LONG,
    Trouble.UNREACHABLE: FailureKind.UNREACHABLE,
    Trouble.SILENT: FailureKind.TIMED_OUT,
    Trouble.SILENT_BEFORE_WORDS: FailureKind.TIMED_OUT,
    Trouble.SILENT_AMONG_WORDS: FailureKind.TIMED_OUT,
    Trouble.CUT_AMONG_WORDS: FailureKind.PROVIDER_FAILED,
    Trouble.CUT_IN_A_CALL: FailureKind.PROVIDER_FAILED,
    Trouble.ERROR_AMONG_WORDS: FailureKind.PROVIDER_FAILED,
}
_SILENT = frozenset({Trouble.SILENT, Trouble.SILENT_BEFORE_WORDS, Trouble.SILENT_AMONG_WORDS})
_AMONG_WORDS = frozenset({Trouble.SILENT_AMONG_WORDS, Trouble.CUT_AMONG_WORDS, Trouble.ERROR_AMONG_WORDS})


class ScriptedProvider:
    """The far side of scripted models; belongs to one event loop. See the `Provider` of the model's suite.

    Attributes:
        sent: every request as it was sent: another provider's state is not in it.
    """

    def __init__(self) -> None:
        self.sent: list[ModelRequest] = []
        self._script: deque[Deed] = deque()
        self._arrived = anyio.Event()
        self._left = anyio.Event()

    def will(self, *deeds: Deed) -> None:
        """See `Provider.will`."""
        self._script.extend(deeds)

    @property
    def next_deed(self) -> Deed | None:
        """What the script says about the next request."""
        return self._script[0] if self._script else None

    async def asked(self, times: int) -> None:
        """See `Provider.asked`."""
        while len(self.sent) < times:
            await self._arrived.wait()

    @property
    def requests(self) -> int:
        """See `Provider.requests`."""
        return len(self.sent)

    async def left(self) -> None:
        """See `Provider.left`; each leaving is seen once."""
        await self._left.wait()
        self._left = anyio.Event()

    def shown(self) -> Sequence[bytes]:
        """See `Provider.shown`."""
        request = self.sent[-1]
        said = (entry for entry in request.entries if isinstance(entry, UserEntry))
        digests = [picture.content.digest for entry in said for picture in entry.pictures]
        return [request.pictures[digest] for digest in digests if digest in request.pictures]

    def was_told(self, words: str) -> bool:
        """See `Provider.was_told`."""
        return any(words in repr(request) for request in self.sent)

    @contextmanager
    def line(self, request: ModelRequest) -> Generator[Deed | None]:
        """Take a request; inside, its deed is done."""
        self.sent.append(request)
        arrived, self._arrived = self._arrived, anyio.Event()
        arrived.set()
        answered = False
        try:
            yield self._script.popleft() if self._script else None
            answered = True
        except ModelError:
            answered = True
            raise
        finally:
            if not answered:
                self._left.set()


class ScriptedModel:
    """The `Model` port over a scripted provider."""

    def __init__(
        self,
        provider: ScriptedProvider,
        *,
        profile: ModelProfile | None = None,
        impatient: bool = False,
    ) -> None:
        self._provider = provider
        self._profile = profile or ModelProfile(provider="scripted", model="scripted-1")
        self._impatient = impatient

    @property
    def profile(self) -> ModelProfile:
        """See `Model.profile`."""
        return self._profile

    async def complete(
        self,
        request: ModelRequest,
        *,
        on_text: Callable[[str], None],
        on_thought: Callable[[str], None] | None = None,
    ) -> ModelAnswer:
        """See `Model.complete`. A provider that falls silent is waited for, unless the model is impatient."""
        with self._provider.line(self._as_sent(request)) as deed:
            match deed:
                case None:
                    return await _say(_echo(request), on_text)
                case ModelAnswer():
                    if deed.provider_state is not None and on_thought is not None:
                        on_thought(deed.provider_state)
                    return await _say(deed, on_text)
                case Trouble():
                    raise await self._trouble(deed, on_text)
                case _:
                    assert_never(deed)

    async def _trouble(self, trouble: Trouble, on_text: Callable[[str], None]) -> ModelError:
        if trouble in _AMONG_WORDS:
            await _speak(_WORDS, on_text)
        await anyio.lowlevel.checkpoint()
        if trouble in _SILENT and not self._impatient:
            await anyio.sleep_forever()
        wait = RATE_LIMIT_WAIT if trouble is Trouble.RATE_LIMITED else None
        return ModelError(
            Failure(
                kind=_KINDS[trouble],
                provider=self._profile.provider,
                model=self._profile.model,
                retry_after=wait,
            )
        )

    def _as_sent(self, request: ModelRequest) -> ModelRequest:
        return replace(request, entries=tuple(self._entry(entry) for entry in request.entries))

    def _entry(self, entry: HistoryEntry) -> HistoryEntry:
        if isinstance(entry, AssistantEntry) and entry.provider != self._profile.provider:
            return replace(entry, provider_state=None)
        return entry


def _echo(request: ModelRequest) -> ModelAnswer:
    said = next((entry.text for entry in reversed(request.entries) if isinstance(entry, UserEntry)), "")
    text = f"You said: {said}"
    return ModelAnswer(text=text, usage=Usage(prompt_tokens=len(said.split()), completion_tokens=2))


async def _say(answer: ModelAnswer, on_text: Callable[[str], None]) -> ModelAnswer:
    await _speak(answer.text, on_text)
    calls = tuple(
        call if call.call_id else replace(call, call_id=f"call-{number}")
        for number, call in enumerate(answer.tool_calls)
    )
    return replace(answer, tool_calls=calls)


async def _speak(text: str, on_text: Callable[[str], None]) -> None:
    for start in range(0, len(text), _PIECE):
        await anyio.lowlevel.checkpoint()
        on_text(text[start : start + _PIECE])
    await anyio.lowlevel.checkpoint()
