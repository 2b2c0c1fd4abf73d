"""Checks of attachments on their way to being ready."""

from dataclasses import replace
from typing import TypeAlias

from fermix.application.ports.admissions import (
    Accepted,
    Duplicate,
    MediaToPrepare,
    RetryTurn,
    StopEverything,
    Stopped,
)
from fermix.application.ports.media_queue import MediaPlace
from fermix.application.ports.turns import PreparedMedia
from fermix.domain import wording
from fermix.domain.blob import BlobRef
from fermix.domain.history import MarkerEntry, UserEntry
from fermix.domain.incoming_media import (
    FileKept,
    MediaFailed,
    MediaProblem,
    MediaResult,
    PictureReady,
    Transcribed,
)
from fermix.domain.message import AttachmentKind
from fermix.domain.picture import Picture
from fermix.domain.turn import Outcome, TurnState
from fermix.testing.expectations import must_be, must_equal
from fermix.testing.ledger_checks.check import (
    SERVED,
    LedgerCheck,
    admit,
    claim_all,
    claim_one,
    keys,
    must_stand,
    owned,
    proves,
    remembered,
)
from fermix.testing.ledger_harness import LedgerHarness, OpenLedger
from fermix.testing.samples import LOCAL, REMOTE, asking, commanding, failing, written

_CONTENT = BlobRef(digest="ab" * 32, size_bytes=7)
_OTHER = BlobRef(digest="cd" * 32, size_bytes=9)
_FAILED = MediaFailed(
    problem=MediaProblem.AUDIO_TOO_LARGE, kind=AttachmentKind.AUDIO, size_bytes=9, limit_bytes=8
)

_Places: TypeAlias = list[tuple[str, int]]


async def _waiting(ledger: OpenLedger, *, limit: int = 9) -> _Places:
    found = await ledger.media.waiting(channels=SERVED, limit=limit)
    return [(media.message.key, media.place.position) for media in found]


async def _prepare(ledger: OpenLedger, accepted: Accepted, *results: MediaResult) -> None:
    for position, result in enumerate(results):
        await ledger.media.prepared(accepted.row, PreparedMedia(position=position, result=result))


@proves()
async def what_is_to_be_prepared_is_listed_in_rounds(harness: LedgerHarness) -> None:
    """Attachments of waiting and of collecting turns are listed, of served channels, up to a limit.

    The oldest of each conversation comes first, so that none of them fills the list.
    """
    async with owned(harness) as ledger:
        first = await admit(ledger, asking(written("1"), media=2))
        await admit(ledger, asking(written("2"), album="a", media=1))
        await admit(ledger, asking(written("3", channel=LOCAL, chat="8"), media=1))
        everything = [("1", 0), ("3", 0), ("1", 1), ("2", 0)]
        must_equal(await _waiting(ledger), everything, "what waits")
        must_equal(await _waiting(ledger, limit=3), everything[:3], "the first three")
        remote = await ledger.media.waiting(channels=frozenset({REMOTE}), limit=9)
        must_equal(len(remote), 3, "what waits on one channel")
        (head, *_) = remote
        facts = (head.place, head.turn, head.channel, head.reference, head.attempts, head.fetched)
        place = MediaPlace(row=first.row, position=0)
        must_equal(facts, (place, first.turn, REMOTE, "file-0", 0, None), "the oldest")
        await _prepare(ledger, first, _FAILED)
        left = [("1", 1), ("3", 0), ("2", 0)]
        must_equal(await _waiting(ledger), left, "what waits when one is prepared")


@proves()
async def a_stopped_turn_keeps_its_pictures(harness: LedgerHarness) -> None:
    """What was sent with a request that is stopped stays in the history, also when it had no words."""
    picture = Picture(content=_OTHER, mime_type="image/png", width=640, height=480)
    async with owned(harness) as ledger:
        accepted = await admit(ledger, asking(written("1", ""), media=2))
        await _prepare(ledger, accepted, PictureReady(picture=picture), PictureReady(picture=picture))
        await claim_one(ledger)
        await admit(ledger, commanding(written("2", "/stop"), StopEverything()))
        entries = (
            UserEntry(text="", pictures=(picture, picture)),
            MarkerEntry(text=wording.STOPPED_MARKER),
        )
        must_equal(await remembered(ledger), entries, "the history")
        named = await ledger.blob_names.named((_OTHER.digest,))
        must_equal(named, frozenset({_OTHER.digest}), "files that are named")


@proves("media.not_prepared_twice")
async def what_was_prepared_is_known_to_the_next_process(harness: LedgerHarness) -> None:
    """Attempts, bytes that were fetched, and results of every kind outlive the process."""
    picture = Picture(content=_OTHER, mime_type="image/png", width=640, height=480)
    results = (
        Transcribed(text="buy milk", foreign_language="de"),
        Transcribed(text="buy bread"),
        PictureReady(picture=picture),
        FileKept(content=_CONTENT, mime_type="application/pdf"),
        FileKept(content=_CONTENT),
        _FAILED,
    )
    async with owned(harness) as ledger:
        accepted = await admit(ledger, asking(written("1"), media=len(results) + 1))
        await _prepare(ledger, accepted, *results)
        place = MediaPlace(row=accepted.row, position=len(results))
        must_equal(await ledger.media.begin(place), True, "beginning")
        await ledger.media.fetched(place, _CONTENT)
        await harness.kill()
    async with owned(harness) as ledger:
        (left,) = await ledger.media.waiting(channels=SERVED, limit=9)
        must_equal((left.place, left.attempts, left.fetched), (place, 1, _CONTENT), "what is left")
        await ledger.media.prepared(place.row, PreparedMedia(position=place.position, result=results[0]))
        (message,) = (await claim_one(ledger)).messages
        must_equal(tuple(each.result for each in message.media), (*results, results[0]), "the results")
        must_equal([each.position for each in message.media], list(range(7)), "their positions")


@proves()
async def what_nobody_waits_for_is_not_begun(harness: LedgerHarness) -> None:
    """After a stop, nothing of what waited is listed, begun or recorded; a message that ran keeps its results."""
    async with owned(harness) as ledger:
        accepted = await admit(ledger, asking(written("1"), media=1))
        await admit(ledger, asking(written("2"), album="a", media=1))
        place = MediaPlace(row=accepted.row, position=0)
        await ledger.media.fetched(place, _CONTENT)
        stop = await admit(ledger, commanding(written("3", "/stop"), StopEverything()))
        report = must_be(stop.effect, Stopped, "the effect").report
        must_equal(report.waiting_messages, 2, "messages that were stopped")
        must_equal(await _waiting(ledger), [], "what waits")
        must_equal(await ledger.media.begin(place), False, "beginning")
        await _prepare(ledger, accepted, Transcribed(text="too late"))
        must_equal(await ledger.blob_names.named((_CONTENT.digest,)), frozenset(), "files that are needed")
        must_equal(await claim_all(ledger), (), "what runs")


@proves("retention.media_with_its_last_row")
async def stored_bytes_are_named_while_something_needs_them(harness: LedgerHarness) -> None:
    """Bytes are named from their fetching on; a transcript or a failure needs them no more, a file does."""
    async with owned(harness) as ledger:
        accepted = await admit(ledger, asking(written("1"), media=3))
        for position, content in ((0, _CONTENT), (1, _OTHER)):
            await ledger.media.fetched(MediaPlace(row=accepted.row, position=position), content)
        both = (_CONTENT.digest, _OTHER.digest)
        must_equal(await ledger.blob_names.named(both), frozenset(both), "what is fetched")
        await _prepare(ledger, accepted, Transcribed(text="words"), _FAILED)
        must_equal(await ledger.blob_names.named(both), frozenset(), "what ended without them")
        kept = PreparedMedia(position=2, result=FileKept(content=_OTHER))
        await ledger.media.prepared(accepted.row, kept)
        must_equal(await ledger.blob_names.named(both), frozenset({_OTHER.digest}), "a kept file")


@proves()
async def a_message_may_bring_what_was_prepared_before(harness: LedgerHarness) -> None:
    """An attachment that is admitted with its result is ready at once."""
    async with owned(harness) as ledger:
        item = asking(written("1"), media=1)
        known = MediaToPrepare(position=0, reference="file-0", prepared=Transcribed(text="words"))
        await admit(ledger, replace(item, media=(known,)))
        must_equal(await _waiting(ledger), [], "what waits")
        (message,) = (await claim_one(ledger)).messages
        must_equal(
            message.media, (PreparedMedia(position=0, result=Transcribed(text="words")),), "what is known"
        )


@proves()
async def a_retry_prepares_again_what_failed(harness: LedgerHarness) -> None:
    """A failed turn that runs again tries its failed attachments anew, from the first attempt, and no others."""
    async with owned(harness) as ledger:
        accepted = await admit(ledger, asking(written("1"), media=2))
        await ledger.media.begin(MediaPlace(row=accepted.row, position=1))
        await _prepare(ledger, accepted, Transcribed(text="words"), _FAILED)
        claimed = await claim_one(ledger)
        await ledger.turns.settle(failing(claimed))
        await admit(ledger, commanding(written("2", "/retry"), RetryTurn(turn=claimed.turn)))
        (again,) = await ledger.media.waiting(channels=SERVED, limit=9)
        must_equal((again.place.position, again.attempts), (1, 0), "what is prepared again")
        must_equal(await claim_all(ledger), (), "what runs meanwhile")
        await ledger.media.prepared(accepted.row, PreparedMedia(position=1, result=Transcribed(text="more")))
        must_equal(keys([await claim_one(ledger)]), [["1"]], "what runs then")


@proves("command.checked_again_after_transcription")
async def a_command_takes_the_place_of_the_turn_it_was_heard_in(harness: LedgerHarness) -> None:
    """The waiting turn ends in the command's commit, before its work; one that waits no more is left alone."""
    async with owned(harness) as ledger:
        voice = await admit(ledger, asking(written("1"), media=1))
        await admit(ledger, asking(written("2")))
        heard = replace(commanding(written("1:spoken", "/stop"), StopEverything()), instead_of=voice.turn)
        report = must_be((await admit(ledger, heard)).effect, Stopped, "the effect").report
        must_equal(report.waiting_messages, 1, "messages that were stopped, the command aside")
        await must_stand(ledger, "1", TurnState.SETTLED, Outcome.CANCELLED)
        late = replace(heard, message=written("late", "/stop"))
        (answer,) = await ledger.admissions.admit([late])
        duplicate = must_be(answer, Duplicate, "a command whose turn has ended")
        must_equal((duplicate.row, duplicate.outcome), (voice.row, Outcome.CANCELLED), "what was decided")
        must_equal(await ledger.queue.find(origin="telegram:bot", key="late"), None, "what was written")


CHECKS: tuple[LedgerCheck, ...] = (
    what_is_to_be_prepared_is_listed_in_rounds,
    a_stopped_turn_keeps_its_pictures,
    what_was_prepared_is_known_to_the_next_process,
    what_nobody_waits_for_is_not_begun,
    stored_bytes_are_named_while_something_needs_them,
    a_message_may_bring_what_was_prepared_before,
    a_retry_prepares_again_what_failed,
    a_command_takes_the_place_of_the_turn_it_was_heard_in,
)
