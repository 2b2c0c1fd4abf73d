"""Who may talk to the agent, with which trust, and which commands they may run. Pure, and fails closed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from fermix.domain.ids import ChannelName, UserId, trimmed
from fermix.domain.sandbox import Sandbox
from fermix.domain.trust import Trust as Trust  # noqa: PLC0414 - who asks about senders asks about trust too

LOCAL_CHANNELS = frozenset({ChannelName("cli"), ChannelName("daemon")})
"""Loopback channels: the owner of this machine is the sender. Reserved for the control socket."""


class Role(StrEnum):
    """What a sender is on a channel; decides which commands they may run."""

    OPERATOR = "operator"
    GUEST = "guest"


class DenialKind(StrEnum):
    """The two ways a sender is turned away."""

    UNKNOWN_CHANNEL = "unknown_channel"
    UNAUTHORIZED = "unauthorized"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelAccess:
    """Who a channel's owner let in. A channel nobody filled in admits nobody.

    Attributes:
        owner: `owner_user_id`; never inferred from the allowlist for trust.
        allowed: the ingress allowlist.
        command_allowlist: guests who may also run owner-or-allowlist commands.
    """

    owner: UserId | None = None
    allowed: frozenset[UserId] = frozenset()
    command_allowlist: frozenset[UserId] = frozenset()

    @property
    def command_owner(self) -> UserId | None:
        """The owner for commands: the explicit one, else the only allowed user, else nobody."""
        if self.owner is not None:
            return self.owner
        if len(self.allowed) == 1:
            (only,) = self.allowed
            return only
        return None

    @property
    def admits_somebody(self) -> bool:
        """Whether any sender at all would be let in."""
        return self.owner is not None or bool(self.allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorization:
    """A sender who may talk.

    Attributes:
        role: for command gates.
        trust: for the capability filter.
        reason: which rule let them in.
        source: where that rule's fact stands, in the owner's words (a config key, or the local socket).
    """

    role: Role
    trust: Trust
    reason: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """A sender who may not talk; they get no reply, the operator gets a warning."""

    kind: DenialKind
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """The owner's decisions as one value, replaced whole when the owner edits them.

    Attributes:
        channels: who may talk; a channel that is not there is unknown.
        sandbox: what the agent may reach; `None` where nothing can be reached anyway.
    """

    channels: Mapping[ChannelName, ChannelAccess] = field(default_factory=dict[ChannelName, ChannelAccess])
    sandbox: Sandbox | None = None


Decision: TypeAlias = Authorization | Denial


def _identities(sender_ids: Iterable[UserId]) -> frozenset[UserId]:
    """Who the sender is; what is nothing but blanks is nobody."""
    return frozenset(UserId(trimmed(each)) for each in sender_ids if not each.isspace()) - {UserId("")}


def authorise(channel: ChannelName, sender_ids: Iterable[UserId], policies: Policies) -> Decision:
    """Apply the six rules in their order: local, known, identified, owner, allowed, else denied.

    Args:
        channel: as stamped by the gateway, never as claimed by a payload.
        sender_ids: the sender's id and its aliases (a platform may know one person by several); empty when
            the platform named nobody. Compared as trimmed strings, character by character: other digits, signs
            and zeros in front make another id.
        policies: what is in force now.
    """
    if channel in LOCAL_CHANNELS:
        return Authorization(
            role=Role.OPERATOR, trust=Trust.OPERATOR, reason="local channel", source=f"local:{channel}"
        )
    access = policies.channels.get(channel)
    if access is None:
        return Denial(kind=DenialKind.UNKNOWN_CHANNEL, reason="no such channel is configured")
    ids = _identities(sender_ids)
    section = f"fermix_channels.{channel}"
    if not ids:
        return Denial(kind=DenialKind.UNAUTHORIZED, reason="the message names no sender")
    if access.owner is not None and access.owner in ids:
        return Authorization(
            role=Role.OPERATOR, trust=Trust.OPERATOR, reason="owner", source=f"{section}.owner_user_id"
        )
    if ids & access.allowed:
        return Authorization(
            role=Role.GUEST, trust=Trust.GUEST, reason="on the allowlist", source=f"{section} allowlist"
        )
    return Denial(kind=DenialKind.UNAUTHORIZED, reason="neither owner nor on the allowlist")


def lower_trust(first: Trust, second: Trust) -> Trust:
    """The weaker of two trusts: what was granted at admission can only shrink until the turn runs."""
    return Trust.OPERATOR if first is second is Trust.OPERATOR else Trust.GUEST


class Gate(StrEnum):
    """Who may run a command."""

    ANY_AUTHORIZED = "any_authorized"
    OWNER_OR_ALLOWLIST = "owner_or_allowlist"
    STRICT_OPERATOR = "strict_operator"


def passes(
    gate: Gate,
    *,
    authorization: Authorization,
    sender_ids: Iterable[UserId],
    access: ChannelAccess | None,
) -> bool:
    """Whether an authorised sender may run a command behind `gate`.

    `command_allowlist` and the lone allowed user of an ownerless channel open owner-or-allowlist commands and
    never the strict ones. `access` is `None` for local channels.
    """
    if gate is Gate.ANY_AUTHORIZED or authorization.role is Role.OPERATOR:
        return True
    if gate is Gate.STRICT_OPERATOR or access is None:
        return False
    ids = _identities(sender_ids)
    return bool(ids & access.command_allowlist) or access.command_owner in ids
