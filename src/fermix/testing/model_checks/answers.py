"""Checks of answers: their text, their pieces, their calls, and what goes back with the next question."""

import anyio

from fermix.application.ports.model import Model, ModelAnswer, ToolCall, Usage
from fermix.domain.history import AssistantEntry, CallRecord, MarkerEntry, ToolEntry, UserEntry
from fermix.testing.expectations import PromiseBroken, must_equal
from fermix.testing.model_checks.check import QUESTION, ModelCheck, ask, proves, request
from fermix.testing.model_harness import ModelHarness

_AT_ONCE = 6


@proves()
async def the_pieces_join_to_the_text(harness: ModelHarness) -> None:
    """An answer is shown in more than one piece, and the pieces joined are its text."""
    shown: list[str] = []
    async with harness.open() as opened:
        answer = await ask(opened.model, on_text=shown.append)
    must_equal("".join(shown), answer.text, "the pieces joined")
    if len(shown) < 2:
        raise PromiseBroken(f"the pieces: expected more than one, found {shown!r}")


@proves()
async def each_question_gets_its_own_answer(harness: ModelHarness) -> None:
    """Two questions to one model get two answers."""
    async with harness.open() as opened:
        one = await ask(opened.model, text="Name a colour.")
        two = await ask(opened.model, text=QUESTION)
    if not one.text.strip() or one.text == two.text:
        raise PromiseBroken(f"two questions: expected two answers, found {one.text!r} and {two.text!r}")


@proves()
async def askers_at_once_do_not_disturb_each_other(harness: ModelHarness) -> None:
    """Of many questions at the same time each is shown the pieces of its own answer, in order."""
    mixed: list[tuple[str, str]] = []

    async def one(model: Model, number: int) -> None:
        shown: list[str] = []
        answer = await ask(model, text=f"Repeat: number {number}.", on_text=shown.append)
        if "".join(shown[:-1]) != answer.text[: sum(map(len, shown[:-1]))]:
            mixed.append((answer.text, "".join(shown)))

    async with harness.open() as opened, anyio.create_task_group() as tasks:
        for number in range(_AT_ONCE):
            tasks.start_soon(one, opened.model, number)
    must_equal(mixed, [], "answers whose pieces are not theirs")


class _ReaderGone(Exception):
    """Whoever reads the pieces has failed."""


@proves()
async def a_reader_who_fails_is_not_the_providers_fault(harness: ModelHarness) -> None:
    """An error of whoever takes the pieces comes out as it is."""

    def gone(piece: str) -> None:
        raise _ReaderGone(piece)

    async with harness.open() as opened:
        try:
            await ask(opened.model, on_text=gone)
        except _ReaderGone:
            return
    raise PromiseBroken("the reader's error: expected it, found an answer")


@proves()
async def every_kind_of_history_is_taken(harness: ModelHarness) -> None:
    """Questions, answers with calls, results and notes can stand before the question."""
    before = (
        UserEntry(text="What is in the file?"),
        AssistantEntry(text="", calls=(CallRecord(call_id="a", name="look", arguments='{"path":"f"}'),)),
        ToolEntry(call_id="a", name="look", text="apples"),
        MarkerEntry(text="the request was stopped"),
        UserEntry(text="And?"),
        AssistantEntry(text="Apples."),
    )
    async with harness.open() as opened:
        answer = await ask(opened.model, *before)
    must_equal(bool(answer.text or answer.tool_calls), True, "whether there is an answer")


@proves()
async def the_profile_names_the_route(harness: ModelHarness) -> None:
    """Provider and model have names, which stay."""
    async with harness.open() as opened:
        profile = opened.model.profile
        await ask(opened.model)
        must_equal(opened.model.profile, profile, "the profile after a question")
    must_equal(bool(profile.provider.strip() and profile.model.strip()), True, "whether both have names")


@proves()
async def a_text_arrives_as_it_was_written(harness: ModelHarness) -> None:
    """Letters of all scripts, tabs, blank lines and spaces at both ends are kept."""
    text = "  Grüße 🎉\n\n\tto you, 您好 \n"
    async with harness.open() as opened:
        opened.provider.will(ModelAnswer(text=text))
        answer = await ask(opened.model)
    must_equal(answer.text, text, "the text")


@proves()
async def calls_keep_their_ids_and_their_order(harness: ModelHarness) -> None:
    """Tool calls come in the order the model made them, with its ids, beside its text."""
    calls = (
        ToolCall(call_id="call_b", name="look", arguments='{"path":"b"}'),
        ToolCall(call_id="call_a", name="look", arguments="{}"),
    )
    async with harness.open() as opened:
        opened.provider.will(ModelAnswer(text="Looking.", tool_calls=calls))
        answer = await ask(opened.model)
    must_equal((answer.text, answer.tool_calls), ("Looking.", calls), "text and calls")


@proves()
async def every_call_has_an_id(harness: ModelHarness) -> None:
    """Calls that the provider gave no id have one all the same, each its own."""
    call = ToolCall(call_id="", name="look", arguments="{}")
    async with harness.open() as opened:
        opened.provider.will(ModelAnswer(text="", tool_calls=(call, call)))
        answer = await ask(opened.model)
    ids = {each.call_id for each in answer.tool_calls if each.call_id.strip()}
    must_equal(len(ids), 2, "calls with an id of their own")


@proves()
async def arguments_come_as_they_were_written(harness: ModelHarness) -> None:
    """Arguments that are no JSON object are handed on: the agent loop answers the model about them."""
    call = ToolCall(call_id="a", name="look", arguments='{"path": "a')
    async with harness.open() as opened:
        opened.provider.will(ModelAnswer(text="", tool_calls=(call,)))
        answer = await ask(opened.model)
    must_equal([each.arguments for each in answer.tool_calls], [call.arguments], "the arguments")


@proves()
async def usage_is_what_the_provider_reports(harness: ModelHarness) -> None:
    """Token counts of prompt and answer are handed on."""
    usage = Usage(prompt_tokens=12, completion_tokens=5)
    async with harness.open() as opened:
        opened.provider.will(ModelAnswer(text="Twelve.", usage=usage))
        answer = await ask(opened.model)
    must_equal(answer.usage, usage, "the usage")


@proves()
async def thoughts_go_back_to_their_maker_alone(harness: ModelHarness) -> None:
    """What a provider wants back is sent with the next question, and never to another provider."""
    async with harness.open() as opened:
        opened.provider.will(ModelAnswer(text="Yes.", provider_state="THOUGHT"))
        answer = await ask(opened.model)
        said = AssistantEntry(
            text=answer.text,
            provider=opened.model.profile.provider,
            provider_state=answer.provider_state,
        )
        for model, sent in ((opened.elsewhere, False), (opened.model, True)):
            await ask(model, UserEntry(text=QUESTION), said)
            must_equal(
                opened.provider.was_told("THOUGHT"), sent, f"thoughts sent to {model.profile.provider}"
            )


@proves()
async def a_thought_is_told_before_the_words_and_is_none_of_them(harness: ModelHarness) -> None:
    """A thought is told whole and once, before the words it led to; who wants none is told none."""
    heard: list[tuple[str, str]] = []
    thinking = ModelAnswer(text="Yes, it is.", provider_state="THOUGHT")
    async with harness.open() as opened:
        opened.provider.will(thinking, thinking)
        answer = await opened.model.complete(
            request(),
            on_text=lambda piece: heard.append(("word", piece)),
            on_thought=lambda thought: heard.append(("thought", thought)),
        )
        await ask(opened.model)
    must_equal(heard[:1], [("thought", "THOUGHT")], "what is told first")
    must_equal({kind for kind, _ in heard[1:]}, {"word"}, "what is told after it")
    words = "".join(piece for kind, piece in heard if kind == "word")
    must_equal(
        "THOUGHT" in words or "THOUGHT" in answer.text, False, "whether the thought is among the words"
    )


CHECKS: tuple[ModelCheck, ...] = (
    the_pieces_join_to_the_text,
    each_question_gets_its_own_answer,
    askers_at_once_do_not_disturb_each_other,
    a_reader_who_fails_is_not_the_providers_fault,
    every_kind_of_history_is_taken,
    the_profile_names_the_route,
    a_text_arrives_as_it_was_written,
    calls_keep_their_ids_and_their_order,
    every_call_has_an_id,
    arguments_come_as_they_were_written,
    usage_is_what_the_provider_reports,
    thoughts_go_back_to_their_maker_alone,
    a_thought_is_told_before_the_words_and_is_none_of_them,
)
