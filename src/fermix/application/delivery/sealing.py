"""Delivering a part by replacing the text of the draft that announced it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import anyio

from fermix.application.ports.channel import (
    ChannelError,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
    Drafts,
)
from fermix.application.ports.outbox import SendingPart
from fermix.domain.delivery import MAX_COUNTED_ATTEMPTS, draft_of
from fermix.domain.ids import ChannelName, PlatformMessageId
from fermix.domain.route import Target

_log = logging.getLogger("fermix.delivery")

LONGEST_WAIT = timedelta(seconds=4)
"""What a platform may ask a seal to wait; a longer wait is not worth the draft, and the part is sent anew."""

SEAL_SECONDS = 15.0
"""After this nobody knows whether the seal was done."""

DISCARD_SECONDS = 5.0
"""How long a draft's removal may take before it is left standing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendAnew:
    """The part is to be sent as any other. `may_be_shown`: the draft may stand there with the same words."""

    may_be_shown: bool = False


class Sealing:
    """Puts parts into their drafts, and removes drafts that no part will fill."""

    def __init__(self, drafts: Mapping[ChannelName, Drafts]) -> None:
        self._drafts = drafts

    async def seal(self, part: SendingPart, *, tries: int) -> Delivered | SendAnew:
        """Replace the draft's text by the part.

        Repeating it doubles nothing, so the part carries no mark here whatever became of earlier tries.

        Args:
            part: what is to be delivered.
            tries: how often in a row this was tried before, in vain.

        Returns:
            What to do instead, when the part has no draft or the draft is lost.

        Raises:
            ChannelRateLimited: try again when told.
            ChannelUnreachable: try again soon.
        """
        draft, drafts = draft_of(part.body), self._drafts.get(part.target.channel)
        if draft is None or drafts is None:
            return SendAnew()
        known = True
        try:
            with anyio.fail_after(SEAL_SECONDS):
                return await drafts.seal(part.target, draft, part.body)
        except ChannelUnreachable:
            raise
        except ChannelRateLimited as exc:
            if exc.retry_after <= LONGEST_WAIT:
                raise
            cause = str(exc)
        except ChannelRejected as exc:
            cause = str(exc)
        except (ChannelError, TimeoutError) as exc:
            cause = str(exc) or "no answer in time"
            if tries + 1 < MAX_COUNTED_ATTEMPTS:
                raise ChannelUnreachable(f"perhaps not sealed: {cause}") from exc
            known = False
        _log.warning(
            "delivery.draft_lost",
            extra={"part": part.part, "channel": part.target.channel, "cause": cause},
        )
        gone = await self.discard(part.target, draft)
        return SendAnew(may_be_shown=not (known or gone))

    async def discard(self, target: Target, draft: PlatformMessageId) -> bool:
        """Remove a draft if that can be done soon; whether it is gone."""
        drafts = self._drafts.get(target.channel)
        if drafts is None:
            return False
        try:
            with anyio.fail_after(DISCARD_SECONDS):
                await drafts.discard(target, draft)
        except (ChannelError, TimeoutError) as exc:
            cause = str(exc) if isinstance(exc, ChannelError) else type(exc).__name__
            _log.warning("delivery.draft_left", extra={"channel": target.channel, "cause": cause})
            return False
        except Exception:  # noqa: BLE001  # as for parts: an adapter's bug must not end the gateway
            _log.exception("delivery.adapter_failed", extra={"channel": target.channel})
            return False
        return True
