"""What a channel offers whose platform calls us: endpoints of the daemon's HTTP server."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from fermix.application.ports.channel import Channel
from fermix.domain.ids import ChannelName


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest:
    """One request as it came, nothing decoded.

    Attributes:
        method: in capitals.
        query: of each parameter the first value.
        headers: names in small letters; the values of a repeated one joined by commas.
        body: the raw bytes, which is what signatures are made over; never longer than the webhook's `max_bytes`.
    """

    method: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookAnswer:
    """What is answered. A status of 503 makes a platform call again later."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"


class Webhook(Protocol):
    """One endpoint. No token of ours stands before it: it must check the platform's signature itself, first."""

    @property
    def path(self) -> str:
        """Where it is, `/webhook/…`; no two channels share one."""
        ...

    @property
    def methods(self) -> frozenset[str]:
        """What it may be asked with; anything else is answered 405."""
        ...

    @property
    def max_bytes(self) -> int:
        """Longest body; a longer one is answered 413 before it is read."""
        ...

    async def answer(self, request: WebhookRequest) -> WebhookAnswer:
        """Check and take a request; answers 503 while the channel does not run or the message was not stored.

        Raises nothing but cancellation. Whoever takes longer than the platform waits is cancelled.
        """
        ...


@runtime_checkable
class TakesWebhooks(Protocol):
    """A channel whose platform calls us. Its `run` keeps the inbox and waits until it is cancelled."""

    @property
    def webhook(self) -> Webhook:
        """The endpoint; asked for once, before the channel runs."""
        ...


def webhooks_of(channels: Mapping[ChannelName, Channel]) -> tuple[Webhook, ...]:
    """The endpoints of all channels that have one."""
    return tuple(channel.webhook for channel in channels.values() if isinstance(channel, TakesWebhooks))
