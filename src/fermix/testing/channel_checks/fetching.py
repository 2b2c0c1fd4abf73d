"""Checks of fetching what people send: whole, within the limit, by a reference that outlives the process."""

import anyio
import anyio.lowlevel

from fermix.application.ports.channel import (
    Channel,
    ChannelError,
    ChannelRejected,
    ChannelUnreachable,
    FetchesMedia,
    MediaSource,
    MediaTooLarge,
)
from fermix.testing.channel_checks.check import (
    FOREIGN,
    ChannelCheck,
    DirectedInbox,
    in_time,
    listening,
    proves,
)
from fermix.testing.channel_harness import ChannelHarness, OpenChannel
from fermix.testing.checks import CannotArrange
from fermix.testing.error_texts import texts_of
from fermix.testing.expectations import PromiseBroken, must_equal

_CONTENT = bytes(range(256)) * 120
_BROAD = 1024 * 1024


def _source(channel: Channel) -> MediaSource:
    source = channel.media_source if isinstance(channel, FetchesMedia) else None
    if source is None:
        raise CannotArrange("no attachments are fetched")
    return source


async def _reference(harness: ChannelHarness, opened: OpenChannel, content: bytes) -> str:
    """By what a file that somebody sent can be fetched."""
    inbox = DirectedInbox()
    opened.far_side.user_sends_file(content)
    with in_time(harness, "a message with a file"):
        async with listening(opened.channel, inbox):
            await inbox.was_offered(1)
    attachments = inbox.offered[0].get("attachments") or ()
    if not attachments:
        raise CannotArrange("the message does not tell of its file")
    return str(attachments[0]["reference"])


async def _fetched(source: MediaSource, reference: str, *, limit: int) -> bytes:
    async with source.fetch(reference, limit=limit) as pieces:
        return b"".join([piece async for piece in pieces])


async def _error(source: MediaSource, reference: str, *, limit: int = _BROAD) -> ChannelError | None:
    try:
        await _fetched(source, reference, limit=limit)
    except ChannelError as exc:
        return exc
    except FOREIGN as exc:
        raise PromiseBroken(f"fetching: expected an error of channels, found {type(exc).__name__}") from exc
    return None


@proves()
async def what_is_declared_can_be_fetched(harness: ChannelHarness) -> None:
    """The features name a size exactly when the channel can fetch attachments."""
    async with harness.open() as opened:
        channel = opened.channel
        able = isinstance(channel, FetchesMedia) and channel.media_source is not None
        must_equal(channel.features.media_in is not None, able, "whether a size is named")


@proves("media.references_per_platform")
async def a_file_is_fetched_whole(harness: ChannelHarness) -> None:
    """What somebody sent is fetched byte for byte, again and again, and by the next process."""
    async with harness.open() as opened:
        source = _source(opened.channel)
        reference = await _reference(harness, opened, _CONTENT)
        for each in (source, source, _source(opened.again())):
            with in_time(harness, "fetching a file"):
                content = await _fetched(each, reference, limit=_BROAD)
            must_equal(content == _CONTENT, True, "whether the bytes are the same")


@proves("media.byte_caps_on_the_stream")
async def a_file_is_fetched_up_to_its_limit(harness: ChannelHarness) -> None:
    """A file of exactly as many bytes as allowed is fetched; with one more it is too large."""
    async with harness.open() as opened:
        source = _source(opened.channel)
        reference = await _reference(harness, opened, _CONTENT)
        with in_time(harness, "fetching up to the limit"):
            content = await _fetched(source, reference, limit=len(_CONTENT))
            must_equal(len(content), len(_CONTENT), "bytes at the limit")
            error = await _error(source, reference, limit=len(_CONTENT) - 1)
        if not isinstance(error, MediaTooLarge):
            raise PromiseBroken(f"a file over the limit: expected MediaTooLarge, found {error!r}")


@proves()
async def what_cannot_be_fetched_is_told(harness: ChannelHarness) -> None:
    """A reference of nothing is refused; a platform that is gone is unreachable, and back it gives the file."""
    async with harness.open() as opened:
        source = _source(opened.channel)
        reference = await _reference(harness, opened, _CONTENT)
        for wrong in ("nothing", "../../etc/passwd", "http://127.0.0.1:1/", ""):
            with in_time(harness, "fetching nothing"):
                error = await _error(source, wrong)
            if not isinstance(error, ChannelRejected):
                raise PromiseBroken(f"the reference {wrong!r}: expected ChannelRejected, found {error!r}")
        opened.far_side.goes_away()
        with in_time(harness, "fetching from nobody"):
            error = await _error(source, reference)
        if not isinstance(error, ChannelUnreachable):
            raise PromiseBroken(f"a platform that is gone: expected ChannelUnreachable, found {error!r}")
        opened.far_side.comes_back()
        with in_time(harness, "fetching again"):
            must_equal(
                await _fetched(source, reference, limit=_BROAD) == _CONTENT, True, "whether it is back"
            )


@proves()
async def no_fetching_shows_the_credential(harness: ChannelHarness) -> None:
    """No error of fetching holds the credential, nor does what it stands on."""
    async with harness.open() as opened:
        source = _source(opened.channel)
        if not opened.credential:
            raise CannotArrange("this channel has no credential")
        reference = await _reference(harness, opened, _CONTENT)
        errors = [await _error(source, "nothing"), await _error(source, reference, limit=1)]
        opened.far_side.goes_away()
        errors.append(await _error(source, reference))
        opened.far_side.comes_back()
        for error in errors:
            if error is not None and any(opened.credential in text for text in texts_of(error)):
                raise PromiseBroken("an error of fetching shows the credential")


@proves()
async def who_stops_fetching_leaves_it_usable(harness: ChannelHarness) -> None:
    """Whoever leaves in the middle of a file, or is cancelled there, leaves no line and can fetch again."""
    async with harness.open() as opened:
        source = _source(opened.channel)
        reference = await _reference(harness, opened, _CONTENT)
        with in_time(harness, "closing lines"):
            before = await opened.far_side.settles()
        for _ in range(4):
            with in_time(harness, "leaving in the middle"):
                async with source.fetch(reference, limit=_BROAD) as pieces:
                    await anext(aiter(pieces))
                with anyio.CancelScope() as leaving:
                    async with source.fetch(reference, limit=_BROAD) as pieces:
                        await anext(aiter(pieces))
                        leaving.cancel()
                        await anyio.lowlevel.checkpoint()
                must_equal(leaving.cancelled_caught, True, "whether it obeyed")
        with in_time(harness, "fetching again"):
            must_equal(
                await _fetched(source, reference, limit=_BROAD) == _CONTENT, True, "whether it is whole"
            )
        with in_time(harness, "closing lines again"):
            after = await opened.far_side.settles()
        if after > before + 1:
            raise PromiseBroken(f"lines that are open: expected at most {before + 1}, found {after}")


CHECKS: tuple[ChannelCheck, ...] = (
    what_is_declared_can_be_fetched,
    a_file_is_fetched_whole,
    a_file_is_fetched_up_to_its_limit,
    what_cannot_be_fetched_is_told,
    no_fetching_shows_the_credential,
    who_stops_fetching_leaves_it_usable,
)
