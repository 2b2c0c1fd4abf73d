"""Models with one fault each, planted around the scripted one, by the check that is there to notice it."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

import anyio

from fermix.application.ports.model import Model, ModelAnswer, ModelError, ModelProfile, ModelRequest, Usage
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.history import AssistantEntry, ToolEntry, UserEntry
from fermix.testing.model_conformance import Trouble
from tests.contract.model.harness_scripted import SECRET, Behind, Sabotage

OnText = Callable[[str], None]
Complete = Callable[[ModelRequest, OnText], Awaitable[ModelAnswer]]


@dataclass(slots=True)
class Relay:
    """A model whose thoughts are told to whoever asked last, unless its asker wants them."""

    inner: Model
    on_thought: OnText | None = None

    @property
    def profile(self) -> ModelProfile:
        return self.inner.profile

    async def complete(
        self, request: ModelRequest, *, on_text: OnText, on_thought: OnText | None = None
    ) -> ModelAnswer:
        return await self.inner.complete(request, on_text=on_text, on_thought=on_thought or self.on_thought)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faulty:
    profile: ModelProfile
    do: Complete
    relay: Relay

    async def complete(
        self, request: ModelRequest, *, on_text: OnText, on_thought: OnText | None = None
    ) -> ModelAnswer:
        self.relay.on_thought = on_thought
        return await self.do(request, on_text)


def fault(make: Callable[[Model, Behind], Complete]) -> Callable[[Model, Behind], Faulty]:
    """A saboteur that keeps the profile, and tells thoughts as they are."""

    def plant(model: Model, behind: Behind) -> Faulty:
        relay = Relay(model)
        return Faulty(profile=model.profile, do=make(relay, behind), relay=relay)

    return plant


def wrong_answer(change: Callable[[ModelAnswer], ModelAnswer]) -> Sabotage:
    """A saboteur that changes what was answered, and shows it as it was."""

    def make(model: Model, behind: Behind) -> Complete:
        async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
            return change(await model.complete(request, on_text=on_text))

        return do

    return fault(make)


def wrong_request(change: Callable[[ModelRequest, ModelProfile], ModelRequest]) -> Sabotage:
    """A saboteur that asks something else."""

    def make(model: Model, behind: Behind) -> Complete:
        return lambda request, on_text: model.complete(change(request, model.profile), on_text=on_text)

    return fault(make)


def wrong_failure(
    change: Callable[[Failure], Failure], *, of: Trouble | None = None
) -> Callable[[Model, Behind], Faulty]:
    """A saboteur that takes one trouble (or any) for something else."""

    def make(model: Model, behind: Behind) -> Complete:
        async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
            concerned = of is None or behind.provider.next_deed is of
            try:
                return await model.complete(request, on_text=on_text)
            except ModelError as exc:
                raise ModelError(change(exc.failure) if concerned else exc.failure) from None

        return do

    return fault(make)


def mistaken(trouble: Trouble) -> Sabotage:
    return wrong_failure(lambda failure: replace(failure, kind=FailureKind.INTERNAL), of=trouble)


def content_with(trouble: Trouble) -> Sabotage:
    """Takes what came before the trouble for the answer."""

    def make(model: Model, behind: Behind) -> Complete:
        async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
            concerned = behind.provider.next_deed is trouble
            shown: list[str] = []

            def show(piece: str) -> None:
                shown.append(piece)
                on_text(piece)

            try:
                return await model.complete(request, on_text=show)
            except ModelError:
                if concerned:
                    return ModelAnswer(text="".join(shown))
                raise

        return do

    return fault(make)


@fault
def drops_the_last_piece(model: Model, behind: Behind) -> Complete:
    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        held: list[str] = []

        def show(piece: str) -> None:
            held.append(piece)
            if len(held) > 1:
                on_text(held[-2])

        return await model.complete(request, on_text=show)

    return do


@fault
def answers_from_memory(model: Model, behind: Behind) -> Complete:
    said: dict[int, ModelAnswer] = {}

    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        if behind.provider.next_deed is None and said and len(request.entries) == 1:
            on_text(said[0].text)
            return said[0]
        answer = await model.complete(request, on_text=on_text)
        said.setdefault(0, answer)
        return answer

    return do


@fault
def shows_all_to_the_last_asker(model: Model, behind: Behind) -> Complete:
    last: list[OnText] = []

    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        last[:] = [on_text]

        def show(piece: str) -> None:
            last[0](piece)

        return await model.complete(request, on_text=show)

    return do


@fault
def blames_the_provider_for_the_reader(model: Model, behind: Behind) -> Complete:
    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        def show(piece: str) -> None:
            try:
                on_text(piece)
            except Exception as exc:  # the fault itself
                failed = Failure(
                    kind=FailureKind.PROVIDER_FAILED,
                    provider=model.profile.provider,
                    model=model.profile.model,
                )
                raise ModelError(failed) from exc

        return await model.complete(request, on_text=show)

    return do


@fault
def cannot_take_results(model: Model, behind: Behind) -> Complete:
    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        if any(isinstance(entry, ToolEntry) for entry in request.entries):
            raise ModelError(Failure(kind=FailureKind.PROVIDER_FAILED))
        return await model.complete(request, on_text=on_text)

    return do


def is_nameless(model: Model, behind: Behind) -> Model:
    inside = wrong_failure(lambda failure: replace(failure, model=""))(model, behind)
    return replace(inside, profile=replace(model.profile, model=""))


@fault
def writes_blanks_for_tabs(model: Model, behind: Behind) -> Complete:
    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        answer = await model.complete(request, on_text=lambda piece: on_text(piece.replace("\t", " ")))
        return replace(answer, text=answer.text.replace("\t", " "))

    return do


def _without_made_ids(answer: ModelAnswer) -> ModelAnswer:
    calls = (
        replace(call, call_id="" if call.call_id.startswith("call-") else call.call_id)
        for call in answer.tool_calls
    )
    return replace(answer, tool_calls=tuple(calls))


def _parsed(arguments: str) -> str:
    try:
        json.loads(arguments)
    except ValueError:
        return "{}"
    return arguments


def _with_parsed_arguments(answer: ModelAnswer) -> ModelAnswer:
    calls = (replace(call, arguments=_parsed(call.arguments)) for call in answer.tool_calls)
    return replace(answer, tool_calls=tuple(calls))


def _as_if_ours(request: ModelRequest, profile: ModelProfile) -> ModelRequest:
    entries = (
        replace(entry, provider=profile.provider) if isinstance(entry, AssistantEntry) else entry
        for entry in request.entries
    )
    return replace(request, entries=tuple(entries))


@fault
def asks_again(model: Model, behind: Behind) -> Complete:
    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        try:
            return await model.complete(request, on_text=on_text)
        except ModelError:
            await model.complete(request, on_text=lambda _: None)
            raise

    return do


@fault
def breaks_for_good(model: Model, behind: Behind) -> Complete:
    failures: list[ModelError] = []

    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        if failures:
            raise failures[0]
        try:
            return await model.complete(request, on_text=on_text)
        except ModelError as exc:
            failures.append(exc)
            raise

    return do


@fault
def spills_the_key(model: Model, behind: Behind) -> Complete:
    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        try:
            return await model.complete(request, on_text=on_text)
        except ModelError as exc:
            raise exc from RuntimeError(f"header was Bearer {SECRET}")

    return do


@fault
def stays_when_its_asker_leaves(model: Model, behind: Behind) -> Complete:
    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        if behind.provider.next_deed is not Trouble.SILENT:
            return await model.complete(request, on_text=on_text)
        done = anyio.Event()
        ended: list[ModelAnswer | ModelError] = []

        async def alone() -> None:
            try:
                ended.append(await model.complete(request, on_text=on_text))
            except ModelError as exc:
                ended.append(exc)
            done.set()

        behind.tasks.start_soon(alone)
        await done.wait()
        if isinstance(ended[0], ModelError):
            raise ended[0]
        return ended[0]

    return do


@fault
def pretends_to_have_answered(model: Model, behind: Behind) -> Complete:
    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        try:
            return await model.complete(request, on_text=on_text)
        except anyio.get_cancelled_exc_class():
            return ModelAnswer(text="")  # the fault itself

    return do


@fault
def keeps_its_thoughts(model: Model, behind: Behind) -> Complete:
    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        return await model.complete(request, on_text=on_text, on_thought=lambda _: None)

    return do


@fault
def thinks_aloud(model: Model, behind: Behind) -> Complete:
    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        assert isinstance(model, Relay)
        tell = model.on_thought

        def both(thought: str) -> None:
            on_text(thought)
            if tell is not None:
                tell(thought)

        return await model.complete(request, on_text=on_text, on_thought=None if tell is None else both)

    return do


def _mixed_up(request: ModelRequest, profile: ModelProfile) -> ModelRequest:
    entries = (
        replace(entry, pictures=entry.pictures[::-1]) if isinstance(entry, UserEntry) else entry
        for entry in request.entries
    )
    return replace(request, entries=tuple(entries))


@fault
def never_forgets_a_picture(model: Model, behind: Behind) -> Complete:
    seen: dict[str, bytes] = {}

    async def do(request: ModelRequest, on_text: OnText) -> ModelAnswer:
        seen.update(request.pictures)
        return await model.complete(replace(request, pictures=dict(seen)), on_text=on_text)

    return do


SABOTEURS: tuple[tuple[str, Sabotage], ...] = (
    ("the_pieces_join_to_the_text", drops_the_last_piece),
    ("each_question_gets_its_own_answer", answers_from_memory),
    ("askers_at_once_do_not_disturb_each_other", shows_all_to_the_last_asker),
    ("a_reader_who_fails_is_not_the_providers_fault", blames_the_provider_for_the_reader),
    ("every_kind_of_history_is_taken", cannot_take_results),
    ("the_profile_names_the_route", is_nameless),
    ("a_text_arrives_as_it_was_written", writes_blanks_for_tabs),
    (
        "calls_keep_their_ids_and_their_order",
        wrong_answer(lambda answer: replace(answer, tool_calls=answer.tool_calls[::-1])),
    ),
    ("every_call_has_an_id", wrong_answer(_without_made_ids)),
    ("arguments_come_as_they_were_written", wrong_answer(_with_parsed_arguments)),
    ("usage_is_what_the_provider_reports", wrong_answer(lambda answer: replace(answer, usage=Usage()))),
    ("thoughts_go_back_to_their_maker_alone", wrong_request(_as_if_ours)),
    (
        "thoughts_go_back_to_their_maker_alone",
        wrong_answer(lambda answer: replace(answer, provider_state=None)),
    ),
    ("a_thought_is_told_before_the_words_and_is_none_of_them", keeps_its_thoughts),
    ("a_thought_is_told_before_the_words_and_is_none_of_them", thinks_aloud),
    ("pictures_are_shown_as_they_are_and_in_their_order", wrong_request(_mixed_up)),
    ("a_picture_that_a_request_does_not_hold_is_not_shown", never_forgets_a_picture),
    ("a_model_without_vision_is_told", mistaken(Trouble.NO_VISION)),
    ("a_refused_picture_is_told", mistaken(Trouble.PICTURE_REFUSED)),
    ("a_missing_key_is_told", mistaken(Trouble.KEY_MISSING)),
    ("a_refused_key_is_told", mistaken(Trouble.KEY_REFUSED)),
    ("an_unknown_model_is_told", mistaken(Trouble.UNKNOWN_MODEL)),
    (
        "a_rate_limit_keeps_its_wait",
        wrong_failure(lambda failure: replace(failure, retry_after=None), of=Trouble.RATE_LIMITED),
    ),
    (
        "a_rate_limit_invents_no_wait",
        wrong_failure(
            lambda failure: replace(failure, retry_after=timedelta(seconds=1)),
            of=Trouble.RATE_LIMITED_FOR_LONG,
        ),
    ),
    ("a_request_too_long_is_told", mistaken(Trouble.TOO_LONG)),
    ("nobody_there_is_told", mistaken(Trouble.UNREACHABLE)),
    ("silence_ends_in_time", mistaken(Trouble.SILENT)),
    ("silence_before_words_ends_in_time", mistaken(Trouble.SILENT_BEFORE_WORDS)),
    ("silence_among_words_ends_in_time", content_with(Trouble.SILENT_AMONG_WORDS)),
    ("a_cut_stream_is_no_answer", content_with(Trouble.CUT_AMONG_WORDS)),
    ("a_call_in_a_cut_stream_is_not_handed_out", content_with(Trouble.CUT_IN_A_CALL)),
    ("an_error_in_a_stream_is_a_failure", content_with(Trouble.ERROR_AMONG_WORDS)),
    ("a_failure_names_its_route", wrong_failure(lambda failure: replace(failure, provider=None))),
    ("a_failure_is_not_asked_again", asks_again),
    ("a_model_can_be_asked_after_a_failure", breaks_for_good),
    ("no_secret_shows_in_a_failure", spills_the_key),
    ("who_leaves_a_silent_provider_is_seen_leaving", stays_when_its_asker_leaves),
    ("who_leaves_among_words_is_shown_no_more", pretends_to_have_answered),
)
"""Each with the one check that must notice it; every check has at least one."""
