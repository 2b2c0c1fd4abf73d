"""Voice notes, pictures and files through a whole gateway: prepared at once, answered in their turn."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import pytest
from typing_extensions import override

from fermix.application.gateway.drain import drain
from fermix.application.gateway.gateway import Receipt
from fermix.application.media.fetching import FetchMedia
from fermix.application.media.limits import Caps, MediaLimits
from fermix.application.media.making import MakeMedia
from fermix.application.media.preparer import Preparer, Spoken, ToldOfMedia
from fermix.application.ports.channel import (
    ChannelFeatures,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
)
from fermix.application.ports.file_inbox import NotSaved
from fermix.application.ports.pictures import (
    PicturesUnavailable,
    PictureTooLarge,
    TooManyPixels,
    UnreadablePicture,
)
from fermix.application.ports.transcription import (
    Audio,
    NotUnderstood,
    RecordingTooLong,
    TranscriberProfile,
    Transcript,
)
from fermix.domain import wording
from fermix.domain.blob import BlobRef
from fermix.domain.caps import MIB
from fermix.domain.history import UserEntry
from fermix.domain.media_wording import (
    AUDIO_NOT_FETCHED,
    AUDIO_TOO_LONG,
    FILE_OF_A_GUEST,
    NOT_CONFIGURED,
    NOT_TRANSCRIBED,
    NOT_UNDERSTOOD,
    PICTURE_UNREADABLE,
    TOO_MANY_PIXELS,
    heard_in,
)
from fermix.domain.message import AttachmentKind
from fermix.domain.picture import MAX_FILE_BYTES
from fermix.domain.telemetry import Event, MediaIngest, TranscriptionMessage
from fermix.domain.telemetry_words import CallStatus
from fermix.testing.clock import CountedIds, StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.memory_ledger import MemoryLedger
from fermix.testing.memory_transcriber import MemoryTranscriber, ScriptedListener
from fermix.testing.samples import LOCAL, REMOTE, asking, written
from fermix.testing.transcriber_harness import Heard, HearingTrouble
from tests.unit.application.house import MEDIA_DOOR, House, allow, build, running
from tests.unit.application.media_parts import (
    HTML,
    OGG,
    PDF,
    PNG,
    FileServer,
    MediaParts,
    PlainPictures,
    declared,
)
from tests.unit.application.scripted import PROFILE, ScriptedModel, says

pytestmark = pytest.mark.anyio

OWNER, GUEST = "1001", "2002"
LONG = 1000
"""More bytes than are looked at to see what a file is."""


class Inbox:
    """The `FileInbox` port that remembers what it was given."""

    def __init__(self) -> None:
        self.saved: list[tuple[str | None, BlobRef]] = []
        self.full = False

    async def save(self, content: BlobRef, *, name: str | None, extension: str | None) -> str:
        await anyio.lowlevel.checkpoint()
        if self.full:
            raise NotSaved("no room")
        self.saved.append((name, content))
        return f"inbox/{name}"


class Heeding:
    """Telemetry that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)


class Town:
    """A home whose gateways come and go, with a model that says how often it was asked."""

    def __init__(
        self,
        *,
        hears: bool = True,
        languages: frozenset[str] | None = None,
        limits: MediaLimits | None = None,
        features: ChannelFeatures | None = None,
        vision: bool = True,
    ) -> None:
        self.clock, self.ids = StoppedClock(), CountedIds()
        self.ledger = MemoryLedger(clock=self.clock, ids=self.ids)
        self.blobs = MemoryBlobs(clock=self.clock)
        self.listener = ScriptedListener()
        self.model = ScriptedModel(
            [says(f"answer {number}") for number in range(1, 9)], profile=replace(PROFILE, vision=vision)
        )
        self.inbox, self.telemetry = Inbox(), Heeding()
        transcriber = MemoryTranscriber(
            self.listener,
            blobs=self.blobs,
            profile=TranscriberProfile(backend="memory", languages=languages),
        )
        self.media = MediaParts(
            blobs=self.blobs,
            transcriber=transcriber if hears else None,
            limits=limits or MediaLimits(),
            features=features or ChannelFeatures(),
        )

    @property
    def server(self) -> FileServer:
        return self.media.server

    @property
    def pictures(self) -> PlainPictures:
        return self.media.pictures

    def house(self) -> House:
        return build(
            self.model,
            ledger=self.ledger,
            clock=self.clock,
            ids=self.ids,
            telemetry=self.telemetry,
            blobs=self.blobs,
            media=self.media,
            inbox=self.inbox,
        )

    def asked(self) -> list[UserEntry]:
        """What the model was asked last in each of its requests."""
        return [[e for e in each.entries if isinstance(e, UserEntry)][-1] for each in self.model.requests]

    async def pass_time(self, seconds: float = 600) -> None:
        """Let a pause go by, once somebody sleeps."""
        with anyio.fail_after(5):
            while not self.clock.sleepers:
                await anyio.lowlevel.checkpoint()
        self.clock.advance(timedelta(seconds=seconds))


async def send(house: House, text: str, *files: object, key: str = "m1", **facts: Any) -> Receipt:
    return await house.write(text, door=MEDIA_DOOR, id=key, attachments=list(files), **facts)


async def idle(town: Town, house: House) -> None:
    """Wait until nothing is prepared and no turn runs."""
    assert house.preparer is not None
    with anyio.fail_after(5):
        while (
            house.preparer.running()
            or house.dispatcher.running()
            or (await town.ledger.queue.counts()).waiting
        ):
            await anyio.wait_all_tasks_blocked()


@pytest.mark.requirement("media.transcription.with_or_without_caption", "media.transcription.caption_first")
@pytest.mark.parametrize(
    ("caption", "asked"),
    [
        ("", "Buy milk."),
        ("for tomorrow", "for tomorrow\n\n[voice note transcript]\nBuy milk."),
    ],
)
async def test_a_voice_note_is_read_as_text_below_its_caption(caption: str, asked: str) -> None:
    town = Town()
    town.listener.will(Heard(text=" Buy milk. "))
    async with running(town.house()) as house:
        await send(house, caption, town.server.add(OGG, name="voice.oga", mime_type="audio/x-wrong"))
        assert await house.channel.has_sent(1) == ["answer 1"]
    assert town.asked() == [UserEntry(text=asked)]
    (audio,) = town.listener.audios
    assert (audio.file_name, audio.mime_type) == ("recording.ogg", "audio/ogg")


async def test_only_the_first_recording_of_a_message_is_transcribed() -> None:
    town = Town()
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG), town.server.add(OGG + b"two", name="two.ogg"))
        await house.channel.has_sent(1)
    (entry,) = town.asked()
    assert entry.text.endswith('[attached: a audio named "two.ogg", which you cannot open]')
    assert town.server.asked == ["file-1"]


@pytest.mark.requirement("media.order_is_kept", "media.prepared_at_admission")
async def test_nothing_overtakes_a_slow_voice_note_and_other_chats_do_not_wait_for_it() -> None:
    town = Town()
    town.server.gate = anyio.Event()
    town.listener.will(Heard(text="the transcript"))
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG))
        await send(house, "and then?", key="m2")
        await send(house, "hi", key="m3", chat_id="c2", reply_target="c2", sender_id=GUEST)
        assert await house.channel.has_sent(1) == ["answer 1"]
        assert town.asked()[0].text == "hi"
        town.server.gate.set()
        await house.channel.has_sent(3)
    assert [entry.text for entry in town.asked()] == ["hi", "the transcript", "and then?"]


@pytest.mark.requirement("media.prepared_at_admission")
async def test_what_waits_behind_a_running_turn_is_fetched_at_once() -> None:
    town = Town()
    house = town.house()
    house.channel.gate = anyio.Event()
    async with running(house):
        await send(house, "first")
        await send(house, "", town.server.add(PNG), key="m2")
        await town.server.asked_for(1)
        house.channel.gate.set()
        await house.channel.has_sent(2)


@pytest.mark.requirement("media.image.attached_as_content", "media.album.is_one_turn", "media.order_is_kept")
async def test_pictures_reach_the_model_as_content_in_the_order_in_which_they_were_sent() -> None:
    town = Town()
    contents = [PNG + bytes([number]) for number in range(4)]
    async with running(town.house()) as house:
        await send(house, "what are these?", *(town.server.add(content) for content in contents))
        await house.channel.has_sent(1)
    (entry,) = town.asked()
    assert entry.text == "what are these?"
    shown = town.model.requests[0].pictures
    assert [shown[picture.content.digest] for picture in entry.pictures] == contents


async def test_a_file_is_what_its_content_says() -> None:
    town = Town()
    town.listener.will(Heard(text="spoken"))
    async with running(town.house()) as house:
        sent = [
            declared(AttachmentKind.FILE, town.server.add(PNG)),
            declared(AttachmentKind.AUDIO, town.server.add(PNG + b"2")),
            declared(AttachmentKind.FILE, town.server.add(OGG)),
        ]
        await send(house, "look", *sent)
        await house.channel.has_sent(1)
    (entry,) = town.asked()
    assert entry.text == "look\n\n[voice note transcript]\nspoken"
    assert len(entry.pictures) == 2


@pytest.mark.requirement("media.transcription.not_configured_reply", "lane.failed_preparation_waits_its_turn")
async def test_without_a_transcriber_the_sender_is_told_in_their_turn_and_no_model_is_asked() -> None:
    town = Town(hears=False)
    house = town.house()
    house.channel.gate = anyio.Event()
    async with running(house):
        await send(house, "first")
        await send(house, "listen", town.server.add(OGG), key="m2")
        await anyio.wait_all_tasks_blocked()
        house.channel.gate.set()
        assert await house.channel.has_sent(2) == ["answer 1", NOT_CONFIGURED]
        await idle(town, house)
    assert (len(town.model.requests), town.server.asked) == (1, [])
    assert "fermix setup" in NOT_CONFIGURED


@pytest.mark.requirement("media.transcription.too_large_reply", "media.byte_caps_on_the_stream")
@pytest.mark.parametrize(
    ("declared_size", "fetched", "reply"),
    [
        (
            3 * MIB + 1,
            0,
            "Your recording (3.1 MB) is larger than the 2 MB I can take.",
        ),
        (None, 1, "Your recording is larger than the 2 MB I can take."),
        (10, 1, "Your recording is larger than the 2 MB I can take."),
    ],
)
async def test_a_recording_over_the_limit_is_told_with_the_limit_and_not_fetched_where_that_is_known(
    declared_size: int | None, fetched: int, reply: str
) -> None:
    town = Town(limits=MediaLimits(audio_bytes=2 * MIB))
    about = {} if declared_size is None else {"size_bytes": declared_size}
    town.server.piece = MIB
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG + bytes(3 * MIB), **about))
        assert await house.channel.has_sent(1) == [f"{reply} Please send a shorter clip."]
        await send(house, "", town.server.add(OGG + bytes(100)), key="m2")
        assert (await house.channel.has_sent(2))[1] == "answer 1"
    assert len(town.server.asked) == fetched + 1
    assert len(await town.blobs.stale(before=town.clock.now() + timedelta(days=1), limit=9)) == 1


async def test_a_recording_exactly_at_the_limit_is_transcribed() -> None:
    content = OGG + bytes(1000 - len(OGG))
    town = Town(limits=MediaLimits(audio_bytes=1000))
    async with running(town.house()) as house:
        await send(house, "", town.server.add(content, size_bytes=1000))
        assert await house.channel.has_sent(1) == ["answer 1"]


async def test_a_file_over_what_its_channel_hands_out_is_told_with_that_limit() -> None:
    town = Town(features=ChannelFeatures(media_in=2 * MIB))
    async with running(town.house()) as house:
        await send(house, "", town.server.add(PDF, size_bytes=2 * MIB + 1))
        expected = "Your file (2.1 MB) is larger than the 2 MB I can take. Please send a smaller one."
        assert await house.channel.has_sent(1) == [expected]
    assert town.server.asked == []


@pytest.mark.requirement("media.transcription.failure_reply")
@pytest.mark.parametrize("trouble", [Heard(text=" "), HearingTrouble.UNREADABLE, HearingTrouble.KEY_REFUSED])
async def test_a_transcription_that_failed_for_good_is_answered_at_once(
    trouble: Heard | HearingTrouble,
) -> None:
    town = Town()
    town.listener.will(trouble)
    async with running(town.house()) as house:
        await send(house, "with a caption", town.server.add(OGG))
        assert await house.channel.has_sent(1) == [NOT_TRANSCRIBED]
        await idle(town, house)
    assert town.model.requests == []
    assert await town.blobs.stale(before=town.clock.now(), limit=9) == []


@pytest.mark.parametrize(
    "content", [b"", HTML, HTML * 50, b"no sound at all"], ids=["empty", "page", "long page", "text"]
)
async def test_what_only_claims_to_be_a_recording_is_not_handed_to_the_transcriber(content: bytes) -> None:
    town = Town()
    async with running(town.house()) as house:
        await send(house, "", declared(AttachmentKind.AUDIO, town.server.add(content, name="voice.ogg")))
        assert await house.channel.has_sent(1) == [NOT_TRANSCRIBED]
    assert town.listener.audios == []


async def test_a_busy_transcriber_is_asked_again_and_the_recording_is_not_fetched_again() -> None:
    town = Town()
    town.listener.will(HearingTrouble.BUSY, HearingTrouble.NONSENSE, Heard(text="at last"))
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG))
        for _ in range(2):
            await town.pass_time()
        await house.channel.has_sent(1)
    assert ([entry.text for entry in town.asked()], len(town.server.asked)) == (["at last"], 1)


async def test_a_transcriber_that_stays_away_is_given_up_after_three_attempts() -> None:
    town = Town()
    town.listener.will(*[HearingTrouble.BUSY] * 4)
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG))
        for _ in range(2):
            await town.pass_time()
        assert await house.channel.has_sent(1) == [NOT_TRANSCRIBED]
    assert len(town.listener.audios) == 3


async def test_a_recording_that_cannot_be_downloaded_is_told_so() -> None:
    town = Town()
    town.server.troubles.append(ChannelRejected("gone"))
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG))
        assert await house.channel.has_sent(1) == [AUDIO_NOT_FETCHED]


async def test_a_download_is_tried_again_after_the_wait_that_its_platform_asks_for() -> None:
    town = Town()
    wait = timedelta(seconds=40)
    town.server.troubles += [ChannelRateLimited("slow down", retry_after=wait), ChannelUnreachable("away")]
    async with running(town.house()) as house:
        await send(house, "", town.server.add(PNG))
        await town.pass_time(39)
        await anyio.wait_all_tasks_blocked()
        assert len(town.server.asked) == 1
        await town.pass_time(1)
        await town.pass_time(8)
        await house.channel.has_sent(1)
    assert len(town.server.asked) == 3


@pytest.mark.parametrize("stands_still", [True, False])
async def test_a_download_that_takes_too_long_is_given_up_and_holds_no_other(stands_still: bool) -> None:
    limits = MediaLimits(piece_seconds=0.01, download_seconds=5)
    town = Town(limits=limits if stands_still else replace(limits, piece_seconds=5, download_seconds=0.01))
    town.server.gate = anyio.Event()
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG))
        for _ in range(2):
            await town.pass_time()
        assert await house.channel.has_sent(1) == [AUDIO_NOT_FETCHED]
    assert len(town.server.asked) == 3
    assert await town.blobs.stale(before=town.clock.now() + timedelta(days=1), limit=9) == []


async def test_a_platform_whose_downloads_all_hang_holds_no_other_platform() -> None:
    town = Town()
    await town.ledger.ownership.take(instance="test", boot="boot")
    stuck, quick = FileServer(gate=anyio.Event()), FileServer()
    for server, channel, count in ((stuck, REMOTE, 40), (quick, LOCAL, 1)):
        await town.ledger.admissions.admit([asking(written("1", channel=channel), media=count)])
        server.files = {f"file-{number}": PDF for number in range(count)}
    caps = Caps(features={}, audio_bytes=MIB)
    preparer = Preparer(
        queue=town.ledger.media,
        fetch=FetchMedia(
            sources={REMOTE: stuck, LOCAL: quick}, blobs=town.blobs, caps=caps, limits=town.media.limits
        ),
        make=MakeMedia(blobs=town.blobs, pictures=town.pictures, transcriber=None, limits=town.media.limits),
        clock=town.clock,
        channels=(REMOTE, LOCAL),
    )
    prepared = anyio.Event()

    async def no_command(_spoken: Spoken) -> bool:
        raise AssertionError

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(preparer.run, ToldOfMedia(prepared=prepared.set, spoken=no_command))
            preparer.wake()
            await prepared.wait()
            tasks.cancel_scope.cancel()
    assert quick.asked == ["file-0"]
    assert len(stuck.asked) <= town.media.limits.downloads


@pytest.mark.requirement("media.image.failure_is_silent_to_sender", "media.album.is_one_turn")
async def test_one_picture_that_cannot_be_downloaded_ends_its_whole_message_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    town = Town()
    good, bad = town.server.add(PNG), town.server.add(PNG + b"2")
    del town.server.files["file-2"]
    async with running(town.house()) as house:
        await send(house, "look", good, bad)
        await send(house, "hello?", key="m2")
        assert await house.channel.has_sent(1) == ["answer 1"]
    assert [entry.text for entry in town.asked()] == ["hello?"]
    assert "turn.media_failed" in caplog.messages


BROKEN = UnreadablePicture("broken")
LARGE_IN_PIXELS = TooManyPixels("a gigapixel")
LARGE_IN_BYTES = PictureTooLarge("33 MiB", limit=32 * MIB)


@pytest.mark.requirement("media.album.is_one_turn")
@pytest.mark.parametrize(
    ("content", "trouble", "reply"),
    [
        (HTML, None, PICTURE_UNREADABLE),
        (b"", None, PICTURE_UNREADABLE),
        (PDF, None, PICTURE_UNREADABLE),
        (PNG + b"2", BROKEN, PICTURE_UNREADABLE),
        (PNG + b"2", LARGE_IN_PIXELS, TOO_MANY_PIXELS),
        (
            PNG + bytes(99),
            LARGE_IN_BYTES,
            "Your picture (0.1 MB) is larger than the 32 MB I can take. Please send a smaller one.",
        ),
    ],
    ids=["a page", "empty", "a document", "broken", "pixels", "bytes"],
)
async def test_what_arrived_and_is_no_picture_that_can_be_shown_is_answered_with_what_to_do(
    content: bytes, trouble: Exception | None, reply: str
) -> None:
    town = Town()
    good, bad = town.server.add(PNG), town.server.add(content)
    if trouble is not None:
        town.pictures.troubles += [trouble, trouble]
    async with running(town.house()) as house:
        await send(house, "look", good, declared(AttachmentKind.IMAGE, bad))
        assert await house.channel.has_sent(1) == [reply]
    assert town.model.requests == []


async def test_of_two_pictures_that_failed_the_one_is_told_whose_sender_can_put_it_right() -> None:
    town = Town()
    lost, page = town.server.add(PNG), town.server.add(HTML)
    del town.server.files["file-1"]
    async with running(town.house()) as house:
        await send(house, "look", lost, declared(AttachmentKind.IMAGE, page))
        assert await house.channel.has_sent(1) == [PICTURE_UNREADABLE]


async def test_a_picture_that_its_platform_calls_too_large_is_told_with_the_limit() -> None:
    town = Town(features=ChannelFeatures(media_in=MIB))
    async with running(town.house()) as house:
        await send(house, "look", town.server.add(PNG, size_bytes=3 * MIB))
        assert await house.channel.has_sent(1) == [
            "Your picture (3 MB) is larger than the 1 MB I can take. Please send a smaller one."
        ]
    assert town.server.asked == []


async def test_a_picture_that_is_too_large_to_be_looked_at_is_not_fetched() -> None:
    town = Town(features=ChannelFeatures(media_in=100 * MIB))
    async with running(town.house()) as house:
        await send(house, "look", town.server.add(PNG, size_bytes=MAX_FILE_BYTES + 1))
        (told,) = await house.channel.has_sent(1)
    assert "larger than the 32 MB I can take" in told
    assert town.server.asked == []


async def test_a_decoder_that_died_is_tried_again() -> None:
    town = Town()
    town.pictures.troubles += [PicturesUnavailable("it died"), ZeroDivisionError("a bug")]
    async with running(town.house()) as house:
        await send(house, "look", town.server.add(PNG))
        for _ in range(2):
            await town.pass_time()
        await house.channel.has_sent(1)
    assert len(town.server.asked) == 1
    assert len(town.pictures.seen) == 3


@pytest.mark.requirement("media.nothing_readable_looks_empty")
async def test_a_message_of_an_empty_file_looks_empty() -> None:
    town = Town()
    async with running(town.house()) as house:
        await send(house, "", town.server.add(b""))
        assert await house.channel.has_sent(1) == [wording.LOOKS_EMPTY]
    assert town.model.requests == []


async def test_the_owners_file_is_saved_and_named_to_the_agent_in_one_line() -> None:
    town = Town()
    async with running(town.house()) as house:
        await send(house, "read this", town.server.add(PDF, name="two\nlines.pdf"))
        await house.channel.has_sent(1)
    (entry,) = town.asked()
    line = (
        f'[attached: a file named "two lines.pdf" (application/pdf, {len(PDF)} bytes), '
        'saved in your workspace as "inbox/two lines.pdf"]'
    )
    assert (entry.text, entry.inbox_lines) == (f"read this\n\n{line}", (line,))


async def test_a_file_that_cannot_be_saved_is_only_named() -> None:
    town = Town()
    town.inbox.full = True
    async with running(town.house()) as house:
        await send(house, "read this", town.server.add(PDF, name="a.pdf"))
        await house.channel.has_sent(1)
    (entry,) = town.asked()
    assert entry.text == 'read this\n\n[attached: a file named "a.pdf", which you cannot open]'


@pytest.mark.parametrize("content", [PDF, PDF + bytes(LONG)], ids=["short", "long"])
async def test_a_guests_file_is_refused_with_a_sentence_and_not_fetched_to_its_end(content: bytes) -> None:
    town = Town()
    town.server.piece = 600
    async with running(town.house()) as house:
        await send(house, "read this", town.server.add(content), sender_id=GUEST)
        assert await house.channel.has_sent(1) == [FILE_OF_A_GUEST]
        await idle(town, house)
    assert (town.model.requests, town.inbox.saved) == ([], [])
    assert town.server.left_early == int(len(content) > LONG)


async def test_a_guests_picture_and_voice_note_are_taken() -> None:
    town = Town()
    async with running(town.house()) as house:
        await send(house, "", town.server.add(PNG), sender_id=GUEST)
        await send(house, "", town.server.add(OGG), key="m2", sender_id=GUEST)
        await house.channel.has_sent(2)


async def test_a_file_of_somebody_who_is_no_owner_any_more_is_refused() -> None:
    town = Town()
    house = town.house()
    house.channel.gate = anyio.Event()
    async with running(house):
        await send(house, "first")
        await send(house, "read this", town.server.add(PDF), key="m2")
        await town.server.asked_for(1)
        house.policies.policies = allow(owner=None, guests=[OWNER])
        house.channel.gate.set()
        assert (await house.channel.has_sent(2))[1] == FILE_OF_A_GUEST
    assert town.inbox.saved == []


@pytest.mark.requirement("trust.shared_chat.no_inbox_paths", "trust.shared_chat.no_tool_calls")
async def test_a_guest_in_a_shared_chat_sees_no_path_of_the_inbox() -> None:
    town = Town()
    group = {"chat_kind": "group", "chat_id": "g", "reply_target": "g"}
    async with running(town.house()) as house:
        await send(house, "keep this", town.server.add(PDF, name="secret.pdf"), **group)
        await house.channel.has_sent(1)
        await send(house, "what was that?", key="m2", sender_id=GUEST, **group)
        await send(house, "and that?", key="m3", **group)
        await house.channel.has_sent(3)
    first, guests, owners = (str(request.entries) for request in town.model.requests)
    assert "inbox/" in first
    assert "inbox/" not in guests
    assert "keep this" in guests
    assert "inbox/" in owners


@pytest.mark.requirement("command.checked_again_after_transcription")
async def test_a_command_that_was_said_runs_ahead_of_the_queue_and_asks_no_model() -> None:
    town = Town()
    town.listener.will(Heard(text="/whoami"), Heard(text="/new please"))
    house = town.house()
    async with running(house):
        await send(house, "", town.server.add(OGG))
        (said,) = await house.channel.has_sent(1)
        assert said.startswith("Your user id on test is 1001")
        await send(house, "", town.server.add(OGG), key="m2", sender_id=GUEST)
        assert (await house.channel.has_sent(2))[1] == wording.NEEDS_OWNER
        await idle(town, house)
    assert town.model.requests == []


@pytest.mark.requirement("command.checked_again_after_transcription")
async def test_a_stop_that_was_said_stops_what_waits_but_is_not_counted_itself() -> None:
    town = Town()
    town.listener.will(Heard(text="/stop"))
    house = town.house()
    house.channel.gate = anyio.Event()
    async with running(house):
        gate = town.server.gate = anyio.Event()
        await send(house, "", town.server.add(PNG), chat_id="c2", reply_target="c2")
        await send(house, "more", key="m2", chat_id="c2", reply_target="c2")
        await town.server.asked_for(1)
        town.server.gate = None
        await send(house, "", town.server.add(OGG), key="m3")
        house.channel.gate.set()
        (said,) = await house.channel.has_sent(1)
        assert said == wording.stopped(running=0, waiting=2)
        gate.set()
        await idle(town, house)
    assert town.model.requests == []


async def test_what_is_said_under_a_caption_is_no_command() -> None:
    town = Town()
    town.listener.will(Heard(text="/new"))
    async with running(town.house()) as house:
        await send(house, "he said:", town.server.add(OGG))
        assert await house.channel.has_sent(1) == ["answer 1"]


async def test_words_that_only_look_like_a_command_go_to_the_agent() -> None:
    town = Town()
    town.listener.will(Heard(text="/etc/passwd is a file"))
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG))
        assert await house.channel.has_sent(1) == ["answer 1"]


async def test_a_language_that_the_transcriber_does_not_know_is_said_in_the_reply_and_not_remembered() -> (
    None
):
    town = Town(languages=frozenset({"en"}))
    town.listener.will(Heard(text="gooten tuck", language="de"), Heard(text="hello", language="en"))
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG))
        await house.channel.has_sent(1)
        await send(house, "", town.server.add(OGG), key="m2")
        assert await house.channel.has_sent(2) == [f"answer 1\n\n{heard_in('de')}", "answer 2"]
    assert "German" in heard_in("de")
    assert heard_in("de") not in str(town.model.requests[1].entries)


@pytest.mark.requirement("media.not_prepared_twice")
async def test_a_restart_goes_on_from_what_was_fetched_and_fetches_nothing_twice() -> None:
    town = Town()
    town.listener.will(HearingTrouble.SILENT, Heard(text="words"))
    async with running(town.house()) as house:
        await send(house, "", town.server.add(PNG), town.server.add(OGG))
        await town.listener.asked(1)
        await anyio.wait_all_tasks_blocked()
    assert town.model.requests == []
    town.ledger.kill()
    town.ledger = town.ledger.reopened()
    async with running(town.house()) as house:
        await house.channel.has_sent(1)
    assert sorted(town.server.asked) == ["file-1", "file-2"]
    assert len(town.pictures.seen) == 1
    assert [entry.text for entry in town.asked()] == ["words"]


async def test_a_failed_voice_note_is_listened_to_again_when_its_owner_wants_it() -> None:
    town = Town()
    town.listener.will(HearingTrouble.UNREADABLE, Heard(text="now I hear you"))
    async with running(town.house()) as house:
        receipt = await send(house, "", town.server.add(OGG))
        assert await house.channel.has_sent(1) == [NOT_TRANSCRIBED]
        await house.write(f"/retry {receipt.turn}", key="again", id="m2")
        assert (await house.channel.has_sent(3))[2] == "answer 1"
    assert [entry.text for entry in town.asked()] == ["now I hear you"]


async def test_a_recording_too_long_or_in_no_language_that_is_known_has_its_own_reply() -> None:
    town = Town()
    errors = [RecordingTooLong(limit=timedelta(minutes=30)), NotUnderstood("no word is certain")]

    class Strict(MemoryTranscriber):
        @override
        async def transcribe(self, audio: Audio) -> Transcript:
            await anyio.lowlevel.checkpoint()
            raise errors.pop(0)

    town.media.transcriber = Strict(town.listener, blobs=town.blobs)
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG))
        await house.channel.has_sent(1)
        await send(house, "", town.server.add(OGG), key="m2")
        assert await house.channel.has_sent(2) == [AUDIO_TOO_LONG, NOT_UNDERSTOOD]


async def test_a_file_that_kills_the_process_three_times_is_given_up() -> None:
    town = Town()
    town.listener.will(*[HearingTrouble.SILENT] * 3)
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG))
        await town.listener.asked(1)
    for life in (2, 3):
        town.ledger.kill()
        town.ledger = town.ledger.reopened()
        async with running(town.house()):
            await town.listener.asked(life)
    town.ledger.kill()
    town.ledger = town.ledger.reopened()
    async with running(town.house()) as house:
        assert await house.channel.has_sent(1) == [NOT_TRANSCRIBED]
    assert len(town.listener.audios) == 3


async def test_a_stop_ends_preparing_and_counts_what_was_being_prepared() -> None:
    town = Town()
    town.listener.will(HearingTrouble.SILENT)
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG))
        await send(house, "more", key="m2")
        await town.listener.asked(1)
        await house.write("/stop", id="s")
        await town.listener.left()
        assert await house.channel.has_sent(1) == [wording.stopped(running=0, waiting=2)]
        await idle(town, house)
    assert town.model.requests == []


async def test_ending_the_gateway_ends_preparing_and_begins_nothing_new() -> None:
    town = Town()
    town.listener.will(HearingTrouble.SILENT)
    async with running(town.house()) as house:
        assert house.preparer is not None
        await send(house, "", town.server.add(OGG))
        await town.listener.asked(1)
        house.preparer.close()
        await town.listener.left()
        await send(house, "", town.server.add(PNG), key="m2")
        await drain(
            dispatcher=house.dispatcher,
            deliverer=house.deliverer,
            turns=town.ledger.turns,
            grace=timedelta(seconds=1),
        )
        assert house.preparer.running() == 0
    assert town.server.asked == ["file-1"]
    assert (await town.ledger.queue.counts()).waiting == 2


@pytest.mark.requirement("telemetry.transcription")
async def test_each_recording_is_reported_once_with_channel_outcome_and_duration() -> None:
    town = Town()
    town.listener.will(HearingTrouble.BUSY, Heard(text="words"), HearingTrouble.UNREADABLE)
    async with running(town.house()) as house:
        await send(house, "", town.server.add(OGG))
        await town.pass_time()
        await house.channel.has_sent(1)
        await send(house, "", town.server.add(OGG), key="m2")
        await send(house, "", town.server.add(PNG), key="m3")
        await house.channel.has_sent(3)
    told: Sequence[Event] = town.telemetry.events
    heard = [event for event in told if isinstance(event, TranscriptionMessage)]
    assert [(event.channel, event.status) for event in heard] == [
        ("test", CallStatus.OK),
        ("test", CallStatus.FAILED),
    ]
    ingested = [(event.kind, event.status) for event in told if isinstance(event, MediaIngest)]
    assert sorted(ingested) == [("audio", "failed"), ("audio", "ok"), ("image", "ok")]
