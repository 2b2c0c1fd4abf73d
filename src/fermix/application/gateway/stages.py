"""The way of a message into the gateway: named stages with one signature, in a pinned order.

Each stage looks at what the ones before it found and decides without waiting; the first that ends the way ends
it. The commit itself, for a whole list at once, is the gateway's.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias

from fermix.application.commands.outside import OutsideWork
from fermix.application.commands.registry import Caller, find_command, plan_command
from fermix.application.gateway.dedupe import Delivery, WebhookMemory, delivery_key
from fermix.application.ports.admissions import Admission, Album, Command, Context, Input, MediaToPrepare
from fermix.application.ports.channel import ChannelFeatures, Offered
from fermix.domain import wording
from fermix.domain.authorization import Authorization, Denial, DenialKind, Policies, Role, authorise
from fermix.domain.capability import Scope
from fermix.domain.chat_admission import ContextOnly, NotForUs, admit_chat
from fermix.domain.commands import ForAnotherBot, ParsedCommand, parse_command
from fermix.domain.ids import ThreadId
from fermix.domain.incoming_media import positions_to_prepare
from fermix.domain.message import InboundMessage
from fermix.domain.normalise import InvalidMessage, Registration, normalise
from fermix.domain.route import origin_of, route_of, target_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What is known of the way a message came in by.

    Attributes:
        bot_name: our name there, for commands that name a bot.
        album_debounce: how long parts of an album are waited for; `None` when albums are not gathered.
        reads_media: what hangs on messages is fetched and made readable.
    """

    registration: Registration
    features: ChannelFeatures
    bot_name: str | None = None
    album_debounce: timedelta | None = None
    reads_media: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCall:
    """A slash command of ours; `refused` when its sender may not run it."""

    name: str
    refused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A message on its way in, with what the stages have found so far.

    Attributes:
        busy: no more commands with work outside the ledger are taken.
        outside: that work, of a command that has some.
    """

    door: Door
    offered: Offered
    policies: Policies
    memory: WebhookMemory
    message: InboundMessage | None = None
    noted: bool = False
    authorization: Authorization | None = None
    thread: ThreadId | None = None
    context_only: bool = False
    busy: bool = False
    admission: Admission | None = None
    outside: OutsideWork | None = None
    command: CommandCall | None = None

    @property
    def known(self) -> InboundMessage:
        """The normalised message, for every stage after the first."""
        if self.message is None:
            raise RuntimeError("the message is not normalised yet")
        return self.message

    @property
    def granted(self) -> Authorization:
        """The authorization, for every stage after the third."""
        if self.authorization is None:
            raise RuntimeError("the sender is not authorised yet")
        return self.authorization


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalid:
    """Not a message: a required field is missing."""

    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """The same webhook delivery is already here; it is answered like the first."""

    delivery: Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """The sender may not talk; nothing is stored and nothing is said."""

    denial: Denial


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """Not for us; nothing is stored and nothing is said."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Answered at once without being stored."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """An edit of an earlier message; it never starts a turn."""


Ending: TypeAlias = Invalid | Twin | Denied | Passed | Answered | Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The way ends here, with the candidate as it was."""

    candidate: Candidate
    ending: Ending


Step: TypeAlias = Candidate | Ended
Stage: TypeAlias = Callable[[Candidate], Step]


def normalise_message(candidate: Candidate) -> Step:
    """Put it into one shape; the channel's name is stamped from the registration."""
    match normalise(candidate.offered.message, candidate.door.registration):
        case InvalidMessage(field=field):
            return Ended(candidate=candidate, ending=Invalid(field=field))
        case message:
            return replace(candidate, message=message)


def drop_twins(candidate: Candidate) -> Step:
    """Find webhook deliveries that arrived twice; other transports have only the ledger's key."""
    if not candidate.door.features.webhook:
        return candidate
    seen = candidate.memory.check(origin_of(candidate.known), delivery_key(candidate.known))
    if seen.first:
        return replace(candidate, noted=True)
    return Ended(candidate=candidate, ending=Twin(delivery=seen.delivery))


def authorise_sender(candidate: Candidate) -> Step:
    """Decide whether the sender may talk, and with which trust."""
    message = candidate.known
    match authorise(message.channel, message.sender.ids(), candidate.policies):
        case Denial() as denial:
            return Ended(candidate=candidate, ending=Denied(denial=denial))
        case authorization:
            return replace(candidate, authorization=authorization)


def check_tapper(candidate: Candidate) -> Step:
    """Turn away a tap of anybody but the operator before anything it stands for is looked at."""
    if candidate.known.tap and candidate.granted.role is not Role.OPERATOR:
        denial = Denial(kind=DenialKind.UNAUTHORIZED, reason="only the owner may answer a prompt")
        return Ended(candidate=candidate, ending=Denied(denial=denial))
    return candidate


def admit_to_chat(candidate: Candidate) -> Step:
    """Decide whom a message in a shared chat is for; edits go their own way from here."""
    match admit_chat(candidate.known):
        case NotForUs(reason=reason):
            return Ended(candidate=candidate, ending=Passed(reason=reason))
        case ContextOnly():
            return replace(candidate, context_only=True)
        case for_us:
            candidate = replace(candidate, thread=for_us.thread)
    if candidate.known.edited_at is not None:
        return Ended(candidate=candidate, ending=Edit())
    return candidate


def reject_empty(candidate: Candidate) -> Step:
    """Answer what holds nothing readable, before anything is stored."""
    message = candidate.known
    readable = message.is_actionable if candidate.door.reads_media else message.is_readable
    if readable or candidate.context_only:
        return candidate
    text = wording.CANNOT_READ_MEDIA if message.is_actionable else wording.LOOKS_EMPTY
    return Ended(candidate=candidate, ending=Answered(text=text))


def plan_admission(candidate: Candidate) -> Step:
    """Choose what the ledger takes: input, a command ahead of the queue, or context."""
    message, authorization = candidate.known, candidate.granted
    route = route_of(message, thread=candidate.thread)
    if candidate.context_only:
        return replace(candidate, admission=Context(message=message, route=route, trust=authorization.trust))
    target = target_of(message, thread=candidate.thread)
    parsed = parse_command(message.text, bot_name=candidate.door.bot_name)
    if isinstance(parsed, ForAnotherBot) or message.is_for_another_bot:
        return Ended(candidate=candidate, ending=Passed(reason="a command for another bot"))
    spec = find_command(parsed.name) if isinstance(parsed, ParsedCommand) else None
    if spec is not None and isinstance(parsed, ParsedCommand):
        access = candidate.policies.channels.get(message.channel)
        caller = Caller(
            message=message,
            authorization=authorization,
            access=access,
            sandbox=candidate.policies.sandbox,
            busy=candidate.busy,
        )
        plan = plan_command(spec, parsed, caller)
        return replace(
            candidate,
            command=CommandCall(name=spec.name, refused=not caller.may(spec)),
            admission=Command(
                message=message,
                route=route,
                target=target,
                trust=authorization.trust,
                work=plan.work,
                reply=plan.reply,
            ),
            outside=plan.outside,
        )
    debounce = candidate.door.album_debounce
    album = message.album if debounce is not None else None
    return replace(
        candidate,
        admission=Input(
            message=message,
            route=route,
            target=target,
            trust=authorization.trust,
            scope=Scope(trust=authorization.trust),
            awaited=candidate.offered.awaited,
            media=tuple(_media(message)) if candidate.door.reads_media else (),
            album=Album(key=album, debounce=debounce) if album and debounce is not None else None,
        ),
    )


def _media(message: InboundMessage) -> Iterator[MediaToPrepare]:
    for position in positions_to_prepare(message):
        yield MediaToPrepare(position=position, reference=message.attachments[position].reference)


STAGES: tuple[Stage, ...] = (
    normalise_message,
    drop_twins,
    authorise_sender,
    check_tapper,
    admit_to_chat,
    reject_empty,
    plan_admission,
)
"""The order is the behaviour: a test pins it."""


STAGES_OF_SPEECH: tuple[Stage, ...] = (authorise_sender, admit_to_chat, plan_admission)
"""What a message goes through once more when its recording was transcribed: the same rules for what was said."""


def walk(candidate: Candidate, *, stages: Sequence[Stage] = STAGES) -> Step:
    """Take a candidate through the stages, or to the one that ends its way."""
    step: Step = candidate
    for stage in stages:
        if isinstance(step, Ended):
            break
        step = stage(step)
    return step
