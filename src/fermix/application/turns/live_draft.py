"""One turn's draft on its platform: carries out what the draft machine decides, one call at a time."""

import logging
from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

import anyio

from fermix.application.agent.journal import Journal
from fermix.application.delivery.sealing import Sealing
from fermix.application.ports.channel import (
    ChannelError,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Drafts,
)
from fermix.application.ports.ledger_errors import LedgerError
from fermix.application.turns.phases import Streamed, StreamObserver, StreamPhase
from fermix.application.turns.settle import Ending
from fermix.domain.ids import PlatformMessageId
from fermix.domain.streaming.draft import (
    DiscardDraft,
    DraftMachine,
    DraftWrite,
    EditDraft,
    OpenDraft,
    SealDraft,
    WriteFailure,
)
from fermix.domain.streaming.heard import Heard
from fermix.domain.turn import Outcome

_log = logging.getLogger("fermix.streaming")

CALL_SECONDS = 15.0
"""How long one write may take; the reply waits for it at most so long, and is then sent anew."""

LAST_WORDS_SECONDS = 5.0
"""How long a write under way may still take when its turn was stopped."""


class LiveDraft:
    """See `Live`."""

    def __init__(
        self,
        *,
        machine: DraftMachine,
        drafts: Drafts,
        sealing: Sealing,
        journal: Journal,
        observe: StreamObserver,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self._call_seconds = call_seconds
        self._machine = machine
        self._drafts = drafts
        self._sealing = sealing
        self._journal = journal
        self._observe = observe
        self._clock = journal.clock
        self._target = journal.claim.messages[-1].target
        self._replaced = list(journal.claim.drafts[:-1])
        self._began = self._clock.monotonic()
        self._closing = False
        self._sealed = False
        self._call: anyio.CancelScope | None = None
        self._idle = anyio.Event()
        self._idle.set()

    def hear(self, event: Heard) -> None:
        """See `Live.hear`."""
        self._machine.hear(event)

    def due(self, now: datetime) -> datetime | None:
        """See `Live.due`."""
        return None if self._closing else self._machine.due(now)

    async def act(self) -> None:
        """See `Live.act`.

        A call that was begun is seen through even when the turn is stopped: a draft whose name nobody learned
        could never be removed.
        """
        write = None if self._closing else self._machine.next_write(self._clock.now())
        if write is None:
            return
        self._idle = anyio.Event()
        try:
            with anyio.CancelScope(
                shield=True, deadline=anyio.current_time() + self._call_seconds
            ) as self._call:
                await self._make(write)
            if self._call.cancelled_caught:
                _log.warning("streaming.no_answer", extra={"channel": self._target.channel})
                self._machine.failed(WriteFailure.UNKNOWN, now=self._clock.now())
        finally:
            self._call = None
            self._idle.set()

    def hurry(self) -> None:
        """See `Live.hurry`."""
        self._closing = True
        if self._call is not None:
            self._call.deadline = min(self._call.deadline, anyio.current_time() + LAST_WORDS_SECONDS)

    async def end(self, ending: Ending) -> Ending:
        """See `Live.end`. Waits for the write under way, so that none can land after the reply."""
        self._closing = True
        await self._idle.wait()
        answered = ending.outcome is Outcome.COMPLETED and bool(ending.text.strip())
        match self._machine.end(answered=answered):
            case SealDraft(draft=draft):
                self._sealed = True
                return replace(ending, draft=draft)
            case DiscardDraft() | None:
                return ending
            case other:
                assert_never(other)

    async def leave(self, *, settled: bool) -> None:
        """See `Live.leave`. A draft that no reply fills is removed."""
        for old in self._replaced:
            await self._sealing.discard(self._target, old)
        draft = self._machine.draft
        if draft is None:
            return
        began = self._clock.monotonic()
        if self._sealed and settled:
            self._tell(StreamPhase.SEAL, since=began)
            return
        gone = await self._sealing.discard(self._target, draft)
        self._tell(StreamPhase.DISCARD, since=began, succeeded=gone)

    async def _make(self, write: DraftWrite) -> None:
        opens = isinstance(write, OpenDraft)
        began = self._began if opens else self._clock.monotonic()
        succeeded = await self._try(write)
        phase = StreamPhase.OPEN if opens else StreamPhase.EDIT
        self._tell(phase, since=began, succeeded=succeeded)

    async def _try(self, write: DraftWrite) -> bool:
        failure, wait = WriteFailure.UNKNOWN, None
        try:
            await self._write(write)
        except ChannelRateLimited as exc:
            failure, wait, cause = WriteFailure.NOT_SENT, exc.retry_after, str(exc)
        except ChannelUnreachable as exc:
            failure, cause = WriteFailure.NOT_SENT, str(exc)
        except ChannelRejected as exc:
            failure, cause = WriteFailure.REFUSED, str(exc)
        except ChannelError as exc:
            cause = str(exc)
        except LedgerError as exc:
            # The turn itself meets it too, and is the one to say so.
            failure, cause = WriteFailure.NOT_SENT, type(exc).__name__
        except Exception as exc:  # noqa: BLE001  # whatever an adapter raises, a courtesy must not cost the answer
            cause = type(exc).__name__
        else:
            return True
        _log.debug("streaming.write_failed", extra={"channel": self._target.channel, "cause": cause})
        self._machine.failed(failure, now=self._clock.now(), wait=wait)
        if isinstance(write, EditDraft) and self._machine.draft is None:
            self._replaced.append(write.draft)
        return False

    async def _write(self, write: DraftWrite) -> None:
        match write:
            case OpenDraft(text=text):
                step = await self._journal.begin_draft()
                draft = await self._drafts.open(self._target, text)
                self._machine.wrote(draft)
                await self._note(step, draft)
            case EditDraft(draft=draft, text=text):
                await self._drafts.edit(self._target, draft, text)
                self._machine.wrote(draft)
            case _:
                assert_never(write)

    async def _note(self, step: int, draft: PlatformMessageId) -> None:
        try:
            await self._journal.end_draft(step, draft)
        except LedgerError as exc:
            _log.warning(
                "streaming.draft_not_noted",
                extra={"turn": self._journal.claim.turn, "cause": type(exc).__name__},
            )

    def _tell(self, phase: StreamPhase, *, since: float, succeeded: bool = True) -> None:
        self._observe(
            Streamed(
                phase=phase,
                turn=self._journal.claim.turn,
                channel=self._target.channel,
                succeeded=succeeded,
                took=timedelta(seconds=self._clock.monotonic() - since),
                index=self._machine.writes,
                dropped=self._machine.dropped,
            )
        )
