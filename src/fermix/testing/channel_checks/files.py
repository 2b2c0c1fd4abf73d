"""Checks of files on the way out: what is declared arrives, and what is not is refused before it leaves."""

from dataclasses import replace

from fermix.application.ports.blobs import BlobError
from fermix.application.ports.channel import ChannelError, ChannelRejected
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import MediaKind, MediaPart, Part
from fermix.testing.channel_checks.check import ChannelCheck, in_time, proves
from fermix.testing.channel_harness import ChannelHarness, OpenChannel
from fermix.testing.checks import CannotArrange
from fermix.testing.expectations import PromiseBroken, must_equal

_CONTENT = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40 + b"\r\n--"
_NAMES = {
    MediaKind.IMAGE: ("picture.png", "image/png"),
    MediaKind.DOCUMENT: ("plan \u00fc.pdf", "application/pdf"),
    MediaKind.AUDIO: ("song.mp3", "audio/mpeg"),
    MediaKind.VOICE: ("note.ogg", "audio/ogg"),
    MediaKind.VIDEO: ("film.mp4", "video/mp4"),
}
_MISSING = BlobRef(digest="0" * 64, size_bytes=10)


def _file(kind: MediaKind, blob: BlobRef, caption: str = "") -> MediaPart:
    name, mime_type = _NAMES[kind]
    return MediaPart(kind=kind, blob=blob, file_name=name, mime_type=mime_type, caption=caption)


async def send_body(opened: OpenChannel, body: Part) -> ChannelError | None:
    """How sending one part failed, `None` when it did not.

    Raises:
        PromiseBroken: with an error that is none of channels.
    """
    try:
        await opened.channel.send(opened.part_of(body))
    except ChannelError as exc:
        return exc
    except BlobError as exc:
        raise PromiseBroken(f"sending: expected an error of channels, found {type(exc).__name__}") from exc
    return None


async def must_be_refused(harness: ChannelHarness, opened: OpenChannel, body: Part, about: str) -> None:
    """A part is refused for good, and the platform never hears of it.

    Raises:
        PromiseBroken: it is not, or the platform does.
    """
    before = opened.far_side.tries
    with in_time(harness, about):
        error = await send_body(opened, body)
    if not isinstance(error, ChannelRejected):
        raise PromiseBroken(f"{about}: expected ChannelRejected, found {error!r}")
    must_equal(opened.far_side.tries, before, f"{about}: how often the platform was asked")


@proves()
async def a_file_of_each_kind_arrives(harness: ChannelHarness) -> None:
    """A file of each kind that is declared is shown byte for byte, under its name, with its caption, by its id."""
    async with harness.open() as opened:
        kinds = _kinds(opened)
        content = _CONTENT
        for number, kind in enumerate(kinds, 1):
            cap = opened.channel.features.media_out[kind]
            caption = "" if cap.max_caption == 0 else f"look at this {number} \u00fc\U0001f389"
            blob = await opened.keep(content)
            with in_time(harness, f"a file of the kind {kind}"):
                delivered = await opened.channel.send(opened.part_of(_file(kind, blob, caption)))
                shown = (await opened.far_side.shown(number))[-1]
            if shown.file is None:
                raise PromiseBroken(f"a file of the kind {kind}: expected a file, found {shown.text!r}")
            must_equal(shown.file.content == content, True, f"whether the bytes of the {kind} are the same")
            must_equal(shown.text, caption, f"the caption of the {kind}")
            must_equal(shown.file.kind in {None, kind}, True, f"whether the {kind} is shown as one")
            must_equal(
                shown.file.name in {None, _NAMES[kind][0]}, True, f"whether the name of the {kind} is its own"
            )
            must_equal(delivered.platform_id, shown.id, f"the id of the {kind}")


@proves("outbound_media.caps")
async def the_largest_file_is_taken_and_no_larger_one(harness: ChannelHarness) -> None:
    """A file exactly at its cap arrives; one byte more is refused for each kind, and never leaves."""
    async with harness.open() as opened:
        caps = {kind: opened.channel.features.media_out[kind].max_bytes for kind in _kinds(opened)}
        kind = min(caps, key=lambda each: caps[each])
        blob = await opened.keep(bytes(caps[kind]))
        with in_time(harness, "the largest file"):
            must_equal(await send_body(opened, _file(kind, blob)), None, "the error of the largest file")
            (shown,) = await opened.far_side.shown(1)
        must_equal(shown.file is not None and len(shown.file.content), caps[kind], "its size")
        for each, cap in caps.items():
            larger = _file(each, replace(_MISSING, size_bytes=cap + 1))
            await must_be_refused(harness, opened, larger, f"a {each} of one byte more")


@proves()
async def the_longest_caption_is_taken_and_no_longer_one(harness: ChannelHarness) -> None:
    """A caption exactly at its cap is shown whole; one character more is refused."""
    async with harness.open() as opened:
        captioned = [
            (kind, cap.max_caption)
            for kind, cap in opened.channel.features.media_out.items()
            if cap.max_caption is not None
        ]
        if not captioned:
            raise CannotArrange("captions have no limit here")
        blob, sent = await opened.keep(_CONTENT), 0
        for kind, longest in captioned:
            longer = _file(kind, blob, "x" * (longest + 1))
            await must_be_refused(harness, opened, longer, f"a longer caption of a {kind}")
            if longest:
                sent += 1
                with in_time(harness, f"the longest caption of a {kind}"):
                    error = await send_body(opened, _file(kind, blob, "x" * longest))
                    must_equal(error, None, f"the error of the longest caption of a {kind}")
                    shown = (await opened.far_side.shown(sent))[-1]
                must_equal(shown.text, "x" * longest, f"the longest caption of a {kind}")


@proves()
async def a_kind_that_is_not_declared_is_refused(harness: ChannelHarness) -> None:
    """A file of a kind that the features do not name is refused for good, and never leaves."""
    async with harness.open() as opened:
        others = [kind for kind in MediaKind if kind not in opened.channel.features.media_out]
        for kind in others:
            with in_time(harness, f"a {kind}"):
                error = await send_body(opened, _file(kind, _MISSING))
            if not isinstance(error, ChannelRejected):
                raise PromiseBroken(f"a {kind}: expected ChannelRejected, found {error!r}")


@proves()
async def a_file_that_is_not_kept_is_told(harness: ChannelHarness) -> None:
    """A file that the store does not have is an error that says nothing was sent, and the next part is sent."""
    async with harness.open() as opened:
        kind = _kinds(opened)[0]
        with in_time(harness, "a file that is not kept"):
            try:
                await opened.channel.send(opened.part_of(_file(kind, _MISSING)))
            except (BlobError, ChannelRejected):
                pass
            else:
                raise PromiseBroken("a file that is not kept: expected an error")
        with in_time(harness, "the next part"):
            await opened.channel.send(opened.part("still here"))
            shown = await opened.far_side.shown(1)
        must_equal([each.text for each in shown], ["still here"], "what is shown")


def _kinds(opened: OpenChannel) -> list[MediaKind]:
    kinds = [*opened.channel.features.media_out]
    if not kinds:
        raise CannotArrange("no files are declared")
    return kinds


CHECKS: tuple[ChannelCheck, ...] = (
    a_file_of_each_kind_arrives,
    the_largest_file_is_taken_and_no_larger_one,
    the_longest_caption_is_taken_and_no_longer_one,
    a_kind_that_is_not_declared_is_refused,
    a_file_that_is_not_kept_is_told,
)
