"""How everything stands, gathered from those who know it."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from fermix.application.ports.control import (
    ChannelHealth,
    ChannelStatus,
    Health,
    ProviderHealth,
    Readiness,
)
from fermix.application.ports.remarks import Remark
from fermix.domain.failure import FailureKind

_PROVIDER_IS_DOWN = frozenset(
    {
        FailureKind.CREDENTIAL_REFUSED,
        FailureKind.UNKNOWN_MODEL,
        FailureKind.TIMED_OUT,
        FailureKind.UNREACHABLE,
        FailureKind.PROVIDER_FAILED,
    }
)

LEDGER = "ledger"
"""The component that stands for everything being written to disk."""


class HealthBoard:
    """Holds the state of each component as last reported; overall health is derived, never stored.

    `required` names the channels that the owner enabled in so many words: that one of them lacks set-up counts.
    A channel that lacks it at the start lacks it until the next one: that it listens fills nothing in.
    """

    def __init__(
        self,
        *,
        providers: Callable[[], Iterable[ProviderHealth]],
        channels: Iterable[ChannelHealth],
        required: Iterable[str] = (),
    ) -> None:
        self._providers = providers
        self._channels = {channel.name: channel for channel in channels}
        self._required = {
            channel.name for channel in self._channels.values() if channel.status is ChannelStatus.READY
        } | set(required)
        self._lacking = {
            name: channel
            for name, channel in self._channels.items()
            if channel.status is ChannelStatus.SETUP_REQUIRED
        }
        self._modes = {channel.name: channel.mode for channel in self._channels.values()}
        self._remarks: dict[str, Callable[[], tuple[Remark, ...]]] = {}
        self._failures: dict[str, str] = {}
        self._unreadable: Counter[str] = Counter()

    def channel(self, health: ChannelHealth) -> None:
        """Report a channel's state."""
        ready = health.status is ChannelStatus.READY
        self._channels[health.name] = self._lacking.get(health.name, health) if ready else health

    def remarked(self, channel: str, remarks: Callable[[], tuple[Remark, ...]]) -> None:
        """Let a channel be asked for its remarks each time health is."""
        self._remarks[channel] = remarks

    def unreadable(self, channel: str) -> None:
        """Report that a channel was handed something nobody could read; counted, for as long as we run."""
        self._unreadable[channel] += 1

    def failing(self, component: str, detail: str) -> None:
        """Report that a component (`ledger`, `http`, …) does not work now."""
        self._failures[component] = detail

    def ledger_waits(self, detail: str) -> None:
        """Report that something already done cannot be written down now."""
        self.failing(LEDGER, detail)

    def is_failing(self, component: str) -> bool:
        """Whether the last report of a component was that it does not work."""
        return component in self._failures

    def provider(self, name: str, failure: FailureKind | None) -> None:
        """Report how a request to a provider ended; what only this one request was about says nothing of it."""
        if failure is not None and failure in _PROVIDER_IS_DOWN:
            self.failing(f"provider:{name}", failure.value)
        elif failure is None:
            self.working(f"provider:{name}")

    def working(self, component: str) -> None:
        """Report that a component works (again)."""
        self._failures.pop(component, None)

    def health(self) -> Health:
        """Health now: degraded when something that should work does not, else what set-up still needs."""
        providers = tuple(self._providers())
        channels = tuple(
            replace(
                channel,
                unreadable=self._unreadable[channel.name],
                mode=self._modes.get(channel.name, channel.mode),
                remarks=self._remarks.get(channel.name, tuple)(),
            )
            for channel in self._channels.values()
        )
        failures = [f"{name}: {detail}" for name, detail in self._failures.items()]
        degraded = bool(failures)
        setup = not any(provider.status is Readiness.READY for provider in providers)
        for provider in providers:
            if provider.status is not Readiness.READY:
                failures.append(f"provider:{provider.name}")
                degraded = degraded or provider.status is Readiness.DEGRADED
        for channel in channels:
            if channel.status is ChannelStatus.DEGRADED:
                failures.append(f"channel:{channel.name}")
                degraded = True
            elif channel.status is ChannelStatus.SETUP_REQUIRED and channel.name in self._required:
                failures.append(f"channel:{channel.name}")
                setup = True
        status = Readiness.READY
        if degraded:
            status = Readiness.DEGRADED
        elif setup:
            status = Readiness.SETUP_REQUIRED
        return Health(status=status, providers=providers, channels=channels, failures=tuple(failures))
