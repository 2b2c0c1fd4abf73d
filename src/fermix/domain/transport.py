"""How a channel hears from its platform, and what that means while nobody is allowed to write."""

from enum import StrEnum


class Transport(StrEnum):
    """Who opens the way in: the first three go and listen, a webhook is called."""

    POLLING = "polling"
    GATEWAY = "gateway"
    SUBPROCESS = "subprocess"
    WEBHOOK = "webhook"


def transport_named(mode: object) -> Transport:
    """The transport that a channel's `mode` names; one we do not know is taken for one that connects."""
    return next((each for each in Transport if each == mode), Transport.POLLING)


def is_started(transport: Transport, *, somebody_may_write: bool) -> bool:
    """Whether an enabled channel is started.

    One that would connect to hear nobody is not. A webhook's endpoint stays up, since its platform calls it in
    any case and gives it up after failures; every sender is refused there.
    """
    return somebody_may_write or transport is Transport.WEBHOOK
