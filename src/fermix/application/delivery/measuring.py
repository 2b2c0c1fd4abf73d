"""What telemetry is told of the parts that go out."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import assert_never

from fermix.application.delivery.sending import send_limit
from fermix.application.ports.channel import ChannelRateLimited, ChannelRejected, ChannelUnreachable
from fermix.application.ports.clock import Clock
from fermix.application.ports.outbox import NotDelivered, PartEnd, SendingPart, Sent
from fermix.application.ports.telemetry import Telemetry
from fermix.domain.delivery import MediaPart, Part, ReactionPart, RetryAt, TextPart
from fermix.domain.ids import ChannelName, TurnId
from fermix.domain.telemetry import ChannelMessage, ChannelReply, MediaSendError, TimeoutExpired
from fermix.domain.telemetry_fields import SessionId, session_of
from fermix.domain.telemetry_words import Direction, Limit, MessageEnd, ReplyType, SendStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryMeter:
    """Measures the attempts to send, and counts how parts end.

    Attributes:
        limit: seconds that one attempt may take.
    """

    telemetry: Telemetry
    clock: Clock
    limit: float

    @contextmanager
    def attempt(self, part: SendingPart) -> Iterator[None]:
        """Measure one attempt to send a part; what it raises passes through."""
        with self._sending(part.target.channel, part.body, turn=part.turn, repeated=part.repeated):
            yield

    @contextmanager
    def notice(self, channel: ChannelName) -> Iterator[None]:
        """Measure the one attempt to send a notice; it ends with it."""
        end = MessageEnd.FAILED
        try:
            with self._sending(channel, None, turn=None, repeated=False):
                yield
            end = MessageEnd.SENT
        finally:
            self._ended(channel, end, session=None)

    def ended(self, part: SendingPart, end: PartEnd, *, withdrawn: bool) -> None:
        """Count a part that is sent, or will not be tried again; a reaction is no message."""
        if isinstance(part.body, ReactionPart):
            return
        match end:
            case RetryAt():
                return
            case Sent():
                result = MessageEnd.SENT
            case NotDelivered():
                result = MessageEnd.WITHDRAWN if withdrawn else MessageEnd.FAILED
            case _:
                assert_never(end)
        self._ended(part.target.channel, result, session=_session(part.turn))

    def _ended(self, channel: ChannelName, result: MessageEnd, *, session: SessionId | None) -> None:
        self.telemetry.emit(
            ChannelMessage(channel=channel, direction=Direction.OUTBOUND, result=result, session_id=session)
        )

    @contextmanager
    def _sending(
        self, channel: ChannelName, body: Part | None, *, turn: TurnId | None, repeated: bool
    ) -> Iterator[None]:
        """Measure one call of a channel; a notice has no body."""
        began, status = self.clock.monotonic(), SendStatus.UNKNOWN
        try:
            yield
            status = SendStatus.SENT
        except ChannelRateLimited:
            status = SendStatus.RATE_LIMITED
            raise
        except ChannelUnreachable:
            status = SendStatus.UNREACHABLE
            raise
        except ChannelRejected:
            status = SendStatus.REJECTED
            raise
        except TimeoutError:
            limit = self.limit if body is None else send_limit(body)
            self.telemetry.emit(TimeoutExpired(kind=Limit.SEND, limit=limit, session_id=_session(turn)))
            raise
        finally:
            if isinstance(body, MediaPart) and status is not SendStatus.SENT:
                self.telemetry.emit(
                    MediaSendError(
                        channel=channel, media_kind=body.kind, reason=status, session_id=_session(turn)
                    )
                )
            self.telemetry.emit(
                ChannelReply(
                    channel=channel,
                    reply_type=_reply_type(body),
                    status=status,
                    repeated=repeated,
                    duration=self.clock.monotonic() - began,
                    session_id=_session(turn),
                )
            )


def _reply_type(body: Part | None) -> ReplyType:
    match body:
        case None:
            return ReplyType.NOTICE
        case TextPart():
            return ReplyType.TEXT
        case MediaPart():
            return ReplyType.MEDIA
        case ReactionPart():
            return ReplyType.REACTION
        case _:
            assert_never(body)


def _session(turn: TurnId | None) -> SessionId | None:
    return None if turn is None else session_of(turn)
