"""Prompts that wait for a human, and the tokens that answer them: looked at, checked, and only then taken."""

import base64
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

from fermix.domain.ids import UserId
from fermix.domain.route import Route

TOKEN_SECONDS = 60.0
"""How long a token answers its prompt; kept by the monotonic clock, so that a clock set back prolongs nothing."""

TOKEN_BYTES = 5
"""Random bytes of a token: 40 bits, eight characters of base32."""

MAX_WRONG = 5
"""Wrong tokens of one origin within a minute; with the last of them the origin is refused for a minute."""

WRONG_SECONDS = 60.0
BARRED_SECONDS = 60.0

MAX_REMEMBERED = 1000
"""Open prompts, prompts that are over, and origins that were wrong lately: so many of each."""

_P = TypeVar("_P")


class PromptKind(StrEnum):
    """Who wants something: its owner typed a command, or the agent asked for a folder."""

    TYPED = "typed"
    ACCESS = "access"


class PromptChoice(StrEnum):
    """What can be answered. There is no refusal to give: not answering is one."""

    APPROVE = "approve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a prompt was shown and to whom: channel, account, chat and thread, and the user.

    `user` is `None` on the local channel, whose only user is the owner of the machine.
    """

    route: Route
    user: UserId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A question to a human.

    Attributes:
        id: the same for the same question at the same origin, as long as it is remembered.
        kind: who wants it.
        generation: how often the question was put; each time has a token of its own, and only the newest answers.
        choices: what can be answered.
        origin: the only place and person an answer counts from.
        about: what is asked, in a form that is equal for equal questions.
        asked_at: in seconds of the monotonic clock.
    """

    id: str
    kind: PromptKind
    generation: int
    choices: tuple[PromptChoice, ...]
    origin: Origin
    about: str
    asked_at: float

    def is_over(self, now: float) -> bool:
        """Whether its time has passed."""
        return now - self.asked_at >= TOKEN_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be asked; equal questions that are open at the same time are one prompt."""

    kind: PromptKind
    origin: Origin
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Generic[_P]):
    """A prompt that is open now; `fresh` unless it was open already."""

    prompt: Prompt
    token: str
    payload: _P
    fresh: bool


class AnswerProblem(StrEnum):
    """Why an answer does not count. Only `UNKNOWN` and `ELSEWHERE` are guesses."""

    UNKNOWN = "unknown"
    ELSEWHERE = "elsewhere"
    EXPIRED = "expired"
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"
    BARRED = "barred"


_GUESSES = frozenset({AnswerProblem.UNKNOWN, AnswerProblem.ELSEWHERE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken(Generic[_P]):
    """The first answer that counts; the token is used up."""

    prompt: Prompt
    payload: _P


@dataclass(frozen=True, slots=True, kw_only=True)
class NotTaken:
    """The answer does not count; an open prompt stays as it was."""

    problem: AnswerProblem


Answer: TypeAlias = Taken[_P] | NotTaken


def token_of(random: bytes) -> str:
    """The token of five random bytes: eight characters, A to Z and 2 to 7.

    Raises:
        ValueError: there are not five.
    """
    if len(random) != TOKEN_BYTES:
        raise ValueError(f"a token takes {TOKEN_BYTES} random bytes, not {len(random)}")
    return base64.b32encode(random).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Over:
    origin: Origin
    problem: AnswerProblem


class Prompts(Generic[_P]):
    """All prompts of one process, in memory only: a restart leaves none open.

    `payload` is what an answer sets off. Times are seconds of a clock that never goes back.
    """

    def __init__(self) -> None:
        self._open: OrderedDict[str, tuple[Prompt, _P]] = OrderedDict()
        self._over: OrderedDict[str, _Over] = OrderedDict()
        self._asked: OrderedDict[Question, tuple[str, int]] = OrderedDict()
        self._wrong: OrderedDict[Origin, deque[float]] = OrderedDict()
        self._barred: OrderedDict[Origin, float] = OrderedDict()

    def ask(
        self, question: Question, payload: _P, *, new_id: str, random: Callable[[], bytes], now: float
    ) -> Asked[_P]:
        """Open a prompt, or find the one that is open: the same question has the same token while it waits.

        Asking again neither prolongs nor changes what is open.

        Args:
            question: what is asked, where and whom.
            payload: what an answer sets off; for a new prompt only.
            new_id: for a question that is not remembered.
            random: gives `TOKEN_BYTES` fresh random bytes with each call.
            now: the time.
        """
        self._close_expired(now)
        for token, (prompt, kept) in self._open.items():
            if (prompt.kind, prompt.origin, prompt.about) == (question.kind, question.origin, question.about):
                return Asked(prompt=prompt, token=token, payload=kept, fresh=False)
        number, generation = self._asked.pop(question, (new_id, 0))
        _remember(self._asked, question, (number, generation + 1))
        prompt = Prompt(
            id=number,
            kind=question.kind,
            generation=generation + 1,
            choices=(PromptChoice.APPROVE,),
            origin=question.origin,
            about=question.about,
            asked_at=now,
        )
        token = token_of(random())
        while token in self._open or token in self._over:
            token = token_of(random())
        if len(self._open) >= MAX_REMEMBERED:
            self._close(next(iter(self._open)), AnswerProblem.WITHDRAWN)
        self._open[token] = (prompt, payload)
        return Asked(prompt=prompt, token=token, payload=payload, fresh=True)

    def answer(self, typed: str, *, origin: Origin, now: float) -> Answer[_P]:
        """Look, check, and only then take: whatever is refused leaves every open prompt as it was."""
        if now < self._barred.get(origin, now):
            return NotTaken(problem=AnswerProblem.BARRED)
        self._barred.pop(origin, None)
        self._close_expired(now)
        token = typed.strip().upper()
        problem = self._problem_with(token, origin)
        if problem is not None:
            if problem in _GUESSES:
                self._count_wrong(origin, now)
            return NotTaken(problem=problem)
        prompt, payload = self._open[token]
        self._close(token, AnswerProblem.ANSWERED)
        return Taken(prompt=prompt, payload=payload)

    def withdraw(self, *, kind: PromptKind) -> None:
        """Ask none of that kind any more; what answers them is told so."""
        for token in [token for token, (prompt, _) in self._open.items() if prompt.kind is kind]:
            self._close(token, AnswerProblem.WITHDRAWN)

    def forget(self, token: str) -> None:
        """Take back a prompt that was not shown to anybody."""
        self._open.pop(token, None)

    def _problem_with(self, token: str, origin: Origin) -> AnswerProblem | None:
        if token in self._open:
            return None if self._open[token][0].origin == origin else AnswerProblem.ELSEWHERE
        over = self._over.get(token)
        return over.problem if over is not None and over.origin == origin else AnswerProblem.UNKNOWN

    def _close_expired(self, now: float) -> None:
        """In the order they were asked in, which is the order their times pass in."""
        while self._open:
            token, (prompt, _) = next(iter(self._open.items()))
            if not prompt.is_over(now):
                return
            self._close(token, AnswerProblem.EXPIRED)

    def _close(self, token: str, problem: AnswerProblem) -> None:
        prompt, _ = self._open.pop(token)
        _remember(self._over, token, _Over(origin=prompt.origin, problem=problem))

    def _count_wrong(self, origin: Origin, now: float) -> None:
        times = self._wrong.pop(origin, deque[float]())
        times.append(now)
        while now - times[0] >= WRONG_SECONDS:
            times.popleft()
        if len(times) >= MAX_WRONG:
            _remember(self._barred, origin, now + BARRED_SECONDS)
        else:
            _remember(self._wrong, origin, times)


_K = TypeVar("_K")
_V = TypeVar("_V")


def _remember(memory: OrderedDict[_K, _V], key: _K, value: _V) -> None:
    memory[key] = value
    while len(memory) > MAX_REMEMBERED:
        memory.popitem(last=False)
