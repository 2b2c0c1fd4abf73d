"""Checks of the way out: parts are shown as they are, where they belong, and up to the length that is said."""

from fermix.application.ports.channel import ChannelFeatures, ChannelRejected
from fermix.domain.splitting import TextUnit, units
from fermix.testing.channel_checks.check import ChannelCheck, error_of, in_time, proves
from fermix.testing.channel_harness import ChannelHarness, OpenChannel
from fermix.testing.checks import CannotArrange
from fermix.testing.expectations import PromiseBroken, must_be, must_equal

_LONG = 10_000
"""Characters that a channel without a limit must carry in one part."""

_ASTRAL = "🎉"
"""One code point, two units of UTF-16."""


async def _is_shown(harness: ChannelHarness, opened: OpenChannel, *texts: str) -> None:
    for text in texts:
        await opened.channel.send(opened.part(text))
    with in_time(harness, "all parts"):
        shown = [each.text for each in await opened.far_side.shown(len(texts))]
    if shown != list(texts):
        lengths = [len(text) for text in texts], [len(text) for text in shown]
        raise PromiseBroken(
            f"what is shown: expected {texts!r:.200}, found {shown!r:.200} (lengths {lengths})"
        )


@proves()
async def a_part_is_shown_as_it_is(harness: ChannelHarness) -> None:
    """A part is shown with all its lines and letters."""
    async with harness.open() as opened:
        await _is_shown(harness, opened, "Grüße 🎉\n\nsecond paragraph, 您好")


@proves()
async def parts_are_shown_in_their_order(harness: ChannelHarness) -> None:
    """Parts that are sent one after another are shown in that order."""
    async with harness.open() as opened:
        await _is_shown(harness, opened, "one", "two", "three")


@proves()
async def the_same_words_can_be_said_twice(harness: ChannelHarness) -> None:
    """Two parts with the same text are two parts."""
    async with harness.open() as opened:
        await _is_shown(harness, opened, "yes", "yes")


@proves()
async def a_part_goes_to_its_thread(harness: ChannelHarness) -> None:
    """A part for a thread is shown there, and one for no thread is not."""
    async with harness.open() as opened:
        for in_thread in (True, False):
            await opened.channel.send(opened.part("here", in_thread=in_thread))
        with in_time(harness, "two parts"):
            shown = await opened.far_side.shown(2)
    must_equal([each.in_thread for each in shown], [True, False], "whether they are shown in the thread")


@proves()
async def a_sent_part_is_known_by_its_id(harness: ChannelHarness) -> None:
    """Who has sent a part is told the platform's id of it."""
    async with harness.open() as opened:
        delivered = [await opened.channel.send(opened.part(text)) for text in ("one", "two")]
        with in_time(harness, "two parts"):
            shown = await opened.far_side.shown(2)
    ids = [each.id for each in shown]
    if None in ids:
        raise CannotArrange("this platform has no ids")
    must_equal([each.platform_id for each in delivered], ids, "the ids")


@proves()
async def the_longest_part_is_shown_whole(harness: ChannelHarness) -> None:
    """A part as long as the channel says it can carry is shown whole, in one."""
    async with harness.open() as opened:
        await _is_shown(harness, opened, "x" * (opened.channel.features.max_text or _LONG))


@proves()
async def length_is_counted_as_it_says(harness: ChannelHarness) -> None:
    """A part of characters beyond the first 65,536 is shown whole, when it fits by the unit that is said."""
    async with harness.open() as opened:
        features = opened.channel.features
        each = units(_ASTRAL, features.text_unit)
        await _is_shown(harness, opened, _ASTRAL * ((features.max_text or _LONG) // each))


@proves()
async def what_is_too_long_is_refused(harness: ChannelHarness) -> None:
    """A part longer than the channel says is refused for good, and not a word of it shown."""
    async with harness.open() as opened:
        longest = _limit_of(opened.channel.features)
        must_be(await error_of(opened, "x" * (longest + 1)), ChannelRejected, "the error of a part too long")
        must_equal([each.text[:20] for each in await opened.far_side.shown(0)], [], "what is shown")


def _limit_of(features: ChannelFeatures) -> int:
    if features.max_text is None:
        raise CannotArrange("this channel carries any length")
    return features.max_text


@proves()
async def one_more_character_is_too_long(harness: ChannelHarness) -> None:
    """A part that is too long by one character beyond the first 65,536 is refused for good."""
    async with harness.open() as opened:
        longest = _limit_of(opened.channel.features)
        if opened.channel.features.text_unit is TextUnit.UTF16:
            longest //= 2
        failed = await error_of(opened, _ASTRAL * (longest + 1))
        must_be(failed, ChannelRejected, "the error of a part too long")


CHECKS: tuple[ChannelCheck, ...] = (
    a_part_is_shown_as_it_is,
    parts_are_shown_in_their_order,
    the_same_words_can_be_said_twice,
    a_part_goes_to_its_thread,
    a_sent_part_is_known_by_its_id,
    the_longest_part_is_shown_whole,
    length_is_counted_as_it_says,
    what_is_too_long_is_refused,
    one_more_character_is_too_long,
)
