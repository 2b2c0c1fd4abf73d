"""Checks of drafts: one message that changes, becomes the reply or goes, and never stands in the reply's way.

A channel without drafts promises nothing here.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from fermix.application.ports.channel import (
    ChannelError,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
    Drafts,
    OutgoingPart,
    ShowsDrafts,
)
from fermix.domain.delivery import TextPart
from fermix.domain.ids import PlatformMessageId
from fermix.domain.route import Target
from fermix.testing.channel_checks.check import FOREIGN, ChannelCheck, error_of, in_time, proves, troubles
from fermix.testing.channel_checks.stepping import cancelled_at
from fermix.testing.channel_harness import PRIVATE, WAIT, ChannelHarness, OpenChannel, Trouble
from fermix.testing.expectations import PromiseBroken, must_be, must_equal

_MOST_STEPS = 500
_REMEDIES: dict[Trouble, type[ChannelError]] = {
    Trouble.TOO_FAST: ChannelRateLimited,
    Trouble.UNREACHABLE: ChannelUnreachable,
    Trouble.REFUSED: ChannelRejected,
    Trouble.ANSWER_LOST: ChannelOutcomeUnknown,
    Trouble.ANSWER_GARBLED: ChannelOutcomeUnknown,
}


@asynccontextmanager
async def _opened(harness: ChannelHarness) -> AsyncGenerator[tuple[OpenChannel, Drafts | None]]:
    """The channel, and its drafts if it has any."""
    async with harness.open() as opened:
        channel = opened.channel
        yield opened, channel.drafts if isinstance(channel, ShowsDrafts) else None


async def _texts(harness: ChannelHarness, opened: OpenChannel, count: int) -> list[str]:
    with in_time(harness, f"{count} messages"):
        return [each.text for each in await opened.far_side.shown(count)]


async def _error_of(call: Callable[[], Awaitable[object]]) -> ChannelError | None:
    """How a call failed, `None` when it did not.

    Raises:
        PromiseBroken: with an error that is none of channels.
    """
    try:
        await call()
    except ChannelError as exc:
        return exc
    except FOREIGN as exc:
        raise PromiseBroken(f"a draft: expected an error of channels, found {type(exc).__name__}") from exc
    return None


def _target(opened: OpenChannel, *, in_thread: bool = False) -> Target:
    return opened.part("a draft", in_thread=in_thread).target


@proves()
async def a_draft_is_one_message_that_becomes_the_reply(harness: ChannelHarness) -> None:
    """A draft is one message that reads as it was changed last, and whose id is that of the reply in its place."""
    async with _opened(harness) as (opened, drafts):
        if drafts is None:
            return
        target = _target(opened)
        draft = await drafts.open(target, "The answer")
        must_equal(await _texts(harness, opened, 1), ["The answer"], "what is shown first")
        for text in ("The answer is", "The answer is", "The answer is\nlong"):
            await drafts.edit(target, draft, text)
            must_equal(await _texts(harness, opened, 1), [text], "what is shown while it is written")
        delivered: Delivered = await drafts.seal(target, draft, TextPart(text="The answer is 7."))
        with in_time(harness, "the reply"):
            (reply,) = await opened.far_side.shown(1)
    must_equal(reply.text, "The answer is 7.", "the reply")
    must_equal(delivered.platform_id, reply.id, "its id")


@proves()
async def a_draft_that_is_discarded_is_gone(harness: ChannelHarness) -> None:
    """A discarded draft is shown no more, discarding it again is no error, and nothing can take its place."""
    async with _opened(harness) as (opened, drafts):
        if drafts is None:
            return
        target = _target(opened)
        draft = await drafts.open(target, "never mind")
        for _ in range(2):
            await drafts.discard(target, draft)
        must_equal(await _texts(harness, opened, 0), [], "what is shown")
        for late in (
            partial(drafts.edit, target, draft, "a late edit"),
            partial(drafts.seal, target, draft, TextPart(text="a late reply")),
        ):
            must_be(await _error_of(late), ChannelRejected, "the error of a change that comes too late")
        must_equal(await _texts(harness, opened, 0), [], "what is shown after that")


@proves()
async def what_is_no_draft_is_refused(harness: ChannelHarness) -> None:
    """A name that is none of a draft's is refused for good by whatever would change it."""
    async with _opened(harness) as (opened, drafts):
        if drafts is None:
            return
        target = _target(opened)
        for name in ("", "no such draft", "7/", "/7", "🎉", "٣/٣"):
            draft = PlatformMessageId(name)
            for change in (
                partial(drafts.edit, target, draft, "words"),
                partial(drafts.seal, target, draft, TextPart(text="words")),
            ):
                with in_time(harness, f"a draft called {name!r}"):
                    must_be(await _error_of(change), ChannelRejected, f"the error of a draft called {name!r}")


@proves()
async def a_draft_goes_to_its_thread(harness: ChannelHarness) -> None:
    """A draft for a thread is shown there, and one for no thread is not."""
    async with _opened(harness) as (opened, drafts):
        if drafts is None:
            return
        for in_thread in (True, False):
            await drafts.open(_target(opened, in_thread=in_thread), "here")
        with in_time(harness, "two drafts"):
            shown = await opened.far_side.shown(2)
    must_equal([each.in_thread for each in shown], [True, False], "whether they are shown in the thread")


@proves()
async def a_draft_holds_as_much_as_a_part(harness: ChannelHarness) -> None:
    """A text as long as a part can be is shown whole in a draft, from its first words on and as the reply."""
    async with _opened(harness) as (opened, drafts):
        longest = opened.channel.features.max_text
        if drafts is None or longest is None:
            return
        target = _target(opened)
        if await error_of(opened, "x" * longest) is not None:
            return
        draft = await drafts.open(target, "y" * longest)
        await drafts.edit(target, draft, "z" * longest)
        must_equal([len(text) for text in await _texts(harness, opened, 2)], [longest] * 2, "the lengths")
        await drafts.seal(target, draft, TextPart(text="." * longest))
        must_equal([text[-1:] for text in await _texts(harness, opened, 2)], ["x", "."], "how both end")


@proves()
async def a_draft_that_cannot_be_opened_says_what_can_be_done(harness: ChannelHarness) -> None:
    """Opening fails as sending does, by remedy; the error holds no word of the draft, and it is tried once."""
    async with _opened(harness) as (opened, drafts):
        if drafts is None:
            return
        for trouble in troubles(opened.far_side):
            target, tries = _target(opened), opened.far_side.tries
            with in_time(harness, f"an opening that meets {trouble}"):
                failed = must_be(
                    await _error_of(partial(drafts.open, target, PRIVATE)),
                    _REMEDIES[trouble],
                    f"the error of an opening that meets {trouble}",
                )
            if isinstance(failed, ChannelRateLimited):
                must_equal(failed.retry_after, WAIT, "the wait")
            must_equal(PRIVATE in str(failed), False, f"whether the error of {trouble} tells the text")
            must_equal(opened.far_side.tries - tries <= 1, True, f"whether {trouble} is met once")


@proves()
async def a_wait_for_drafts_keeps_no_reply_from_leaving(harness: ChannelHarness) -> None:
    """A wait that the platform named to a draft is for drafts: another one is sealed, and a reply leaves."""
    async with _opened(harness) as (opened, drafts):
        if drafts is None:
            return
        target = _target(opened)
        draft = await drafts.open(target, "The answer")
        opened.far_side.trouble_next(Trouble.TOO_FAST)
        target = _target(opened)
        with in_time(harness, "a draft, a seal and a reply"):
            failed = await _error_of(partial(drafts.open, target, "another draft"))
            must_be(failed, ChannelRateLimited, "the error of a draft that comes too fast")
            await drafts.seal(target, draft, TextPart(text="The answer is 7."))
            await opened.channel.send(
                OutgoingPart(target=target, body=TextPart(text="And that is all."), nonce="after the wait")
            )
        must_equal(
            await _texts(harness, opened, 2), ["The answer is 7.", "And that is all."], "what is shown"
        )


@proves()
async def a_draft_can_be_left_at_every_await(harness: ChannelHarness) -> None:
    """Opening and changing a draft, cancelled wherever they wait, end by that, and the next call is made."""
    async with _opened(harness) as (opened, drafts):
        if drafts is None:
            return
        target = _target(opened)
        draft = await drafts.open(target, "The answer")
        await _at_every_await(harness, partial(drafts.edit, target, draft, "The answer is"))
        await _at_every_await(harness, partial(drafts.open, target, "Another"))
        with in_time(harness, "a draft after all that"):
            await drafts.seal(target, draft, TextPart(text="The answer is 7."))
            must_equal((await opened.far_side.shown(1))[0].text, "The answer is 7.", "the reply")


async def _at_every_await(harness: ChannelHarness, call: Callable[[], Awaitable[object]]) -> None:
    for step in range(1, _MOST_STEPS):
        with in_time(harness, f"the end of a call that was cancelled at its await {step}"):
            came = await cancelled_at(step, call)
        if not came.asked:
            return
        must_equal(came.obeyed, True, f"whether a call that was cancelled at its await {step} ended by that")
    raise PromiseBroken(f"a draft: expected less than {_MOST_STEPS} awaits")


CHECKS: tuple[ChannelCheck, ...] = (
    a_draft_is_one_message_that_becomes_the_reply,
    a_draft_that_is_discarded_is_gone,
    what_is_no_draft_is_refused,
    a_draft_goes_to_its_thread,
    a_draft_holds_as_much_as_a_part,
    a_draft_that_cannot_be_opened_says_what_can_be_done,
    a_wait_for_drafts_keeps_no_reply_from_leaving,
    a_draft_can_be_left_at_every_await,
)
