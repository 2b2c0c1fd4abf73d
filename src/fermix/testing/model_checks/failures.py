"""Checks of failures: each kind told apart, asked once, survived, and silent about secrets."""

from collections.abc import Iterator
from datetime import timedelta

from fermix.domain.failure import FailureKind
from fermix.testing.checks import CannotArrange
from fermix.testing.error_texts import texts_of
from fermix.testing.expectations import must_equal
from fermix.testing.model_checks.check import ModelCheck, ask, failure_of, must_fail, proves
from fermix.testing.model_harness import RATE_LIMIT_WAIT, ModelHarness, OpenModel, Trouble


def _fails(
    trouble: Trouble, kind: FailureKind, *, name: str, promise: str, wait: timedelta | None = None
) -> ModelCheck:
    async def run(harness: ModelHarness) -> None:
        async with harness.open(impatient=True) as opened:
            opened.provider.will(trouble)
            failed = await must_fail(opened.model, name)
        must_equal((failed.kind, failed.retry_after), (kind, wait), "kind and wait")

    run.__name__, run.__doc__ = name, promise
    return proves()(run)


def _troubles(opened: OpenModel) -> Iterator[Trouble]:
    """Every trouble that the provider can be brought to, arranged for the next question."""
    met = 0
    for trouble in Trouble:
        try:
            opened.provider.will(trouble)
        except CannotArrange:
            continue
        met += 1
        yield trouble
    if not met:
        raise CannotArrange("this provider cannot be brought into any trouble")


@proves()
async def a_failure_names_its_route(harness: ModelHarness) -> None:
    """Every failure says which provider and which model was asked."""
    async with harness.open(impatient=True) as opened:
        profile = opened.model.profile
        for trouble in _troubles(opened):
            failed = await failure_of(opened.model)
            if failed is not None:
                named = (failed.failure.provider, failed.failure.model)
                must_equal(named, (profile.provider, profile.model), f"the route in a failure ({trouble})")


@proves("turn.only_the_chain_asks_again")
async def a_failure_is_not_asked_again(harness: ModelHarness) -> None:
    """What was refused or broke off is not asked a second time by the adapter."""
    for trouble in (Trouble.RATE_LIMITED, Trouble.ERROR_AMONG_WORDS):
        async with harness.open(impatient=True) as opened:
            opened.provider.will(trouble)
            await failure_of(opened.model)
            must_equal(opened.provider.requests, 1, f"requests ({trouble})")


@proves()
async def a_model_can_be_asked_after_a_failure(harness: ModelHarness) -> None:
    """Whatever went wrong with one question, the next one is answered."""
    async with harness.open(impatient=True) as opened:
        for _ in _troubles(opened):
            await failure_of(opened.model)
            await ask(opened.model)


@proves()
async def no_secret_shows_in_a_failure(harness: ModelHarness) -> None:
    """Neither an error nor what it stands on holds the key, though the provider repeats it."""
    async with harness.open(impatient=True) as opened:
        if not opened.secrets:
            raise CannotArrange("this model knows no secret")
        for trouble in _troubles(opened):
            failed = await failure_of(opened.model)
            texts = () if failed is None else (*texts_of(failed), repr(failed.failure))
            shown = any(secret in text for secret in opened.secrets for text in texts)
            must_equal(shown, False, f"a secret in a failure ({trouble})")


CHECKS: tuple[ModelCheck, ...] = (
    _fails(
        Trouble.KEY_MISSING,
        FailureKind.CREDENTIAL_MISSING,
        name="a_missing_key_is_told",
        promise="A provider that needs a key is not asked without one, and the failure says so.",
    ),
    _fails(
        Trouble.KEY_REFUSED,
        FailureKind.CREDENTIAL_REFUSED,
        name="a_refused_key_is_told",
        promise="A key that the provider does not take is told apart from every other refusal.",
    ),
    _fails(
        Trouble.UNKNOWN_MODEL,
        FailureKind.UNKNOWN_MODEL,
        name="an_unknown_model_is_told",
        promise="A model that the provider does not have is told apart from every other refusal.",
    ),
    _fails(
        Trouble.RATE_LIMITED,
        FailureKind.RATE_LIMITED,
        wait=RATE_LIMIT_WAIT,
        name="a_rate_limit_keeps_its_wait",
        promise="A rate limit is told with the wait the provider asked for.",
    ),
    _fails(
        Trouble.RATE_LIMITED_FOR_LONG,
        FailureKind.RATE_LIMITED,
        name="a_rate_limit_invents_no_wait",
        promise="A rate limit whose provider named no wait is told without one.",
    ),
    _fails(
        Trouble.TOO_LONG,
        FailureKind.CONTEXT_TOO_LONG,
        name="a_request_too_long_is_told",
        promise="A request that does not fit the model is told apart from every other refusal.",
    ),
    _fails(
        Trouble.UNREACHABLE,
        FailureKind.UNREACHABLE,
        name="nobody_there_is_told",
        promise="A provider that cannot be reached is told apart from one that fails.",
    ),
    _fails(
        Trouble.SILENT,
        FailureKind.TIMED_OUT,
        name="silence_ends_in_time",
        promise="A provider that takes a request and says nothing is left within the time limit.",
    ),
    _fails(
        Trouble.SILENT_BEFORE_WORDS,
        FailureKind.TIMED_OUT,
        name="silence_before_words_ends_in_time",
        promise="A provider that begins an answer without a word is left within the time limit.",
    ),
    _fails(
        Trouble.SILENT_AMONG_WORDS,
        FailureKind.TIMED_OUT,
        name="silence_among_words_ends_in_time",
        promise="A provider that stops in the middle of its words is left within the time limit.",
    ),
    _fails(
        Trouble.CUT_AMONG_WORDS,
        FailureKind.PROVIDER_FAILED,
        name="a_cut_stream_is_no_answer",
        promise="Words whose stream did not end as the wire says are a failure, though they were shown.",
    ),
    _fails(
        Trouble.CUT_IN_A_CALL,
        FailureKind.PROVIDER_FAILED,
        name="a_call_in_a_cut_stream_is_not_handed_out",
        promise="A tool call whose stream did not end as the wire says is never run.",
    ),
    _fails(
        Trouble.ERROR_AMONG_WORDS,
        FailureKind.PROVIDER_FAILED,
        name="an_error_in_a_stream_is_a_failure",
        promise="An error inside a stream that began well is a failure.",
    ),
    a_failure_names_its_route,
    a_failure_is_not_asked_again,
    a_model_can_be_asked_after_a_failure,
    no_secret_shows_in_a_failure,
)
