"""Prompts and their tokens: the first answer counts, and nothing but a right one costs a token."""

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from fermix.domain.approvals import (
    BARRED_SECONDS,
    MAX_REMEMBERED,
    MAX_WRONG,
    TOKEN_SECONDS,
    AnswerProblem,
    Asked,
    NotTaken,
    Origin,
    PromptChoice,
    PromptKind,
    Prompts,
    Question,
    Taken,
    token_of,
)
from fermix.domain.ids import AccountId, ChannelName, ChatId, ThreadId, UserId
from fermix.domain.route import Route


def origin(
    channel: str = "telegram",
    account: str = "bot",
    chat: str = "7",
    thread: str | None = None,
    user: str | None = "1001",
) -> Origin:
    return Origin(
        route=Route(
            channel=ChannelName(channel),
            account=AccountId(account),
            chat=ChatId(chat),
            thread=None if thread is None else ThreadId(thread),
        ),
        user=None if user is None else UserId(user),
    )


HERE = origin()


def counting() -> Callable[[], bytes]:
    numbers = count(1)
    return lambda: next(numbers).to_bytes(5)


def ask(
    prompts: Prompts[str],
    about: str = "/a",
    *,
    now: float = 0.0,
    at: Origin = HERE,
    kind: PromptKind = PromptKind.ACCESS,
    random: Callable[[], bytes] | None = None,
) -> Asked[str]:
    return prompts.ask(
        Question(kind=kind, origin=at, about=about),
        f"grant {about}",
        new_id=f"id-{about}",
        random=random or counting(),
        now=now,
    )


def refused(prompts: Prompts[str], token: str, *, at: Origin = HERE, now: float = 0.0) -> AnswerProblem:
    answer = prompts.answer(token, origin=at, now=now)
    assert isinstance(answer, NotTaken)
    return answer.problem


@given(st.binary(min_size=5, max_size=5), st.binary(min_size=5, max_size=5))
def test_a_token_is_eight_characters_of_base32_and_tells_its_bytes_apart(one: bytes, other: bytes) -> None:
    token = token_of(one)

    assert len(token) == 8
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    assert (token == token_of(other)) == (one == other)


@pytest.mark.parametrize("size", [0, 4, 6])
def test_a_token_of_fewer_or_more_bytes_is_not_made(size: int) -> None:
    with pytest.raises(ValueError, match="5 random bytes"):
        token_of(bytes(size))


@pytest.mark.requirement("approval.prompt_is_a_record")
def test_a_prompt_says_what_is_asked_of_whom_and_how_often() -> None:
    prompts: Prompts[str] = Prompts()
    random = counting()
    first = ask(prompts, random=random).prompt
    again = ask(prompts, now=TOKEN_SECONDS, random=random).prompt

    assert (first.id, first.kind, first.generation, first.choices) == (
        "id-/a",
        PromptKind.ACCESS,
        1,
        (PromptChoice.APPROVE,),
    )
    assert (first.origin, first.about, first.asked_at) == (HERE, "/a", 0.0)
    assert (again.id, again.generation) == (first.id, 2)


def test_the_same_question_has_the_same_token_while_it_waits_and_asking_does_not_prolong_it() -> None:
    prompts: Prompts[str] = Prompts()
    random = counting()
    first = ask(prompts, random=random)
    again = ask(prompts, now=59.0, random=random)
    other = ask(prompts, "/b", now=59.0, random=random)
    elsewhere = ask(prompts, at=origin(thread="5"), now=59.0, random=random)

    assert (again.token, again.fresh) == (first.token, False)
    assert len({first.token, other.token, elsewhere.token}) == 3
    assert refused(prompts, again.token, now=60.0) is AnswerProblem.EXPIRED


@pytest.mark.requirement("approval.token.single_use", "approval.first_answer_wins")
def test_the_first_answer_counts_and_every_other_is_told_so() -> None:
    prompts: Prompts[str] = Prompts()
    asked = ask(prompts)
    answer = prompts.answer(f" {asked.token.lower()} ", origin=HERE, now=1.0)

    assert answer == Taken(prompt=asked.prompt, payload="grant /a")
    assert [refused(prompts, asked.token, now=2.0) for _ in range(10)] == [AnswerProblem.ANSWERED] * 10


@pytest.mark.requirement("approval.token.sixty_seconds")
@given(st.floats(min_value=0, max_value=200))
def test_a_token_is_good_for_sixty_seconds(after: float) -> None:
    prompts: Prompts[str] = Prompts()
    token = ask(prompts, now=1000.0).token
    answer = prompts.answer(token, origin=HERE, now=1000.0 + after)

    assert isinstance(answer, Taken) == (1000.0 + after - 1000.0 < TOKEN_SECONDS)


ORIGINS = st.builds(
    origin,
    channel=st.sampled_from(["telegram", "slack"]),
    account=st.sampled_from(["bot", "other"]),
    chat=st.sampled_from(["7", "8", "7/5"]),
    thread=st.sampled_from([None, "5", "7"]),
    user=st.sampled_from([None, "1001", "2002"]),
)


@pytest.mark.requirement("approval.token.bound_to_origin", "approval.checked_before_taken")
@given(ORIGINS, ORIGINS)
def test_a_token_is_good_only_where_it_was_shown_and_a_try_elsewhere_leaves_it(
    shown: Origin, tried: Origin
) -> None:
    prompts: Prompts[str] = Prompts()
    token = ask(prompts, at=shown).token
    answer = prompts.answer(token, origin=tried, now=1.0)

    if tried == shown:
        assert isinstance(answer, Taken)
    else:
        assert answer == NotTaken(problem=AnswerProblem.ELSEWHERE)
        assert isinstance(prompts.answer(token, origin=shown, now=2.0), Taken)


@pytest.mark.requirement("approval.wrong_tokens_are_limited")
def test_after_five_wrong_tokens_in_a_minute_an_origin_is_refused_for_a_minute_and_loses_nothing() -> None:
    prompts: Prompts[str] = Prompts()
    for second in range(MAX_WRONG):
        assert refused(prompts, "WRONGONE", now=float(second)) is AnswerProblem.UNKNOWN
    token = ask(prompts, now=5.0).token

    assert refused(prompts, token, now=6.0) is AnswerProblem.BARRED
    assert refused(prompts, "WRONGONE", at=origin(chat="8"), now=6.0) is AnswerProblem.UNKNOWN
    assert isinstance(prompts.answer(token, origin=HERE, now=4.0 + BARRED_SECONDS), Taken)


def test_wrong_tokens_that_are_further_apart_bar_nobody() -> None:
    prompts: Prompts[str] = Prompts()
    tries = [refused(prompts, "WRONGONE", now=15.0 * number) for number in range(20)]

    assert tries == [AnswerProblem.UNKNOWN] * 20


def test_what_is_withdrawn_is_no_longer_asked_and_other_kinds_stay() -> None:
    prompts: Prompts[str] = Prompts()
    random = counting()
    agents = ask(prompts, random=random)
    typed = ask(prompts, kind=PromptKind.TYPED, random=random)
    prompts.withdraw(kind=PromptKind.ACCESS)

    assert refused(prompts, agents.token) is AnswerProblem.WITHDRAWN
    assert isinstance(prompts.answer(typed.token, origin=HERE, now=1.0), Taken)


def test_a_prompt_that_nobody_saw_leaves_no_trace() -> None:
    prompts: Prompts[str] = Prompts()
    token = ask(prompts).token
    prompts.forget(token)
    prompts.forget(token)

    assert refused(prompts, token) is AnswerProblem.UNKNOWN


def test_open_prompts_have_a_bound_and_the_oldest_gives_way() -> None:
    prompts: Prompts[str] = Prompts()
    random = counting()
    tokens = [ask(prompts, f"/{number}", random=random).token for number in range(MAX_REMEMBERED + 1)]

    assert refused(prompts, tokens[0]) is AnswerProblem.WITHDRAWN
    assert isinstance(prompts.answer(tokens[-1], origin=HERE, now=1.0), Taken)


def test_a_token_that_is_known_already_is_not_given_out_again() -> None:
    prompts: Prompts[str] = Prompts()
    bytes_ = iter([b"aaaaa", b"aaaaa", b"bbbbb"])
    first = ask(prompts, random=lambda: next(bytes_))
    second = ask(prompts, "/b", random=lambda: next(bytes_))

    assert first.token != second.token


class TokensOverTime(RuleBasedStateMachine):
    """Prompts against the dullest model: when each token was made, where, and whether it was used."""

    tokens = Bundle("tokens")

    def __init__(self) -> None:
        super().__init__()
        self.prompts: Prompts[str] = Prompts()
        self.random = counting()
        self.now = 0.0
        self.made: dict[str, tuple[float, Origin]] = {}
        self.used: set[str] = set()
        self.wrong: dict[Origin, list[float]] = {}
        self.barred: dict[Origin, float] = {}

    @rule(target=tokens, about=st.sampled_from(["/a", "/b"]), at=ORIGINS)
    def asks(self, about: str, at: Origin) -> str:
        asked = ask(self.prompts, about, now=self.now, at=at, random=self.random)
        assert asked.fresh == (asked.token not in self.made)
        self.made.setdefault(asked.token, (self.now, at))
        return asked.token

    @rule(seconds=st.sampled_from([0.5, 10.0, 29.0, 60.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(token=tokens, at=st.none() | ORIGINS)
    def answers(self, token: str, at: Origin | None) -> None:
        asked_at, home = self.made[token]
        tried = home if at is None else at
        answer = self.prompts.answer(token, origin=tried, now=self.now)
        good = (
            tried == home
            and token not in self.used
            and self.now - asked_at < TOKEN_SECONDS
            and self.now >= self.barred.get(tried, 0.0)
        )
        assert isinstance(answer, Taken) == good
        if good:
            self.used.add(token)
        elif isinstance(answer, NotTaken):
            self._note(answer.problem, tried)

    @precondition(lambda self: self.made)
    @rule(at=ORIGINS)
    def guesses(self, at: Origin) -> None:
        self._note(refused(self.prompts, "NOTTOKEN", at=at, now=self.now), at)

    def _note(self, problem: AnswerProblem, at: Origin) -> None:
        is_barred = self.now < self.barred.get(at, 0.0)
        assert (problem is AnswerProblem.BARRED) == is_barred
        if problem in {AnswerProblem.UNKNOWN, AnswerProblem.ELSEWHERE}:
            times = [one for one in self.wrong.get(at, []) if self.now - one < 60.0] + [self.now]
            if len(times) >= MAX_WRONG:
                self.barred[at] = self.now + BARRED_SECONDS
                times = []
            self.wrong[at] = times

    @invariant()
    def no_token_is_used_twice_by_anybody(self) -> None:
        assert self.used <= self.made.keys()


TestTokensOverTime = TokensOverTime.TestCase
