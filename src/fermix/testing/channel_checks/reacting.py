"""Checks of reactions: what is declared is put on the message, and nothing else is."""

from collections.abc import Sequence
from typing import assert_never

from fermix.application.ports.channel import ChannelRejected
from fermix.domain.delivery import ReactionPart
from fermix.domain.ids import PlatformMessageId
from fermix.domain.reactions import AnyEmoji, NoReactions, Reactions, SomeReactions
from fermix.testing.channel_checks.check import ChannelCheck, DirectedInbox, in_time, listening, proves
from fermix.testing.channel_checks.files import send_body
from fermix.testing.channel_harness import ChannelHarness, OpenChannel
from fermix.testing.checks import CannotArrange
from fermix.testing.expectations import PromiseBroken, must_equal


def _declared(opened: OpenChannel) -> tuple[str, str]:
    """Two reactions that the channel takes."""
    match opened.channel.features.reactions:
        case NoReactions():
            raise CannotArrange("no reactions are declared")
        case AnyEmoji():
            return "👍", "🎉"
        case SomeReactions(names=names):
            return names[0], names[-1]


def _others(reactions: Reactions) -> Sequence[str]:
    """What a channel with these reactions does not take."""
    match reactions:
        case NoReactions():
            return ("👍", "thumbsup")
        case AnyEmoji():
            return ("", "a", "ok", "👍👍", "👍 ")
        case SomeReactions(names=names):
            return ("", "ok?", "🫥", names[0] * 2, f":{names[0]}:", f"{names[0]} ")
        case _:
            assert_never(reactions)


async def _written(harness: ChannelHarness, opened: OpenChannel) -> PlatformMessageId:
    """The id of a message that somebody wrote."""
    inbox = DirectedInbox()
    opened.far_side.user_writes("what do you think?")
    with in_time(harness, "a message to react to"):
        async with listening(opened.channel, inbox):
            await inbox.was_offered(1)
    return PlatformMessageId(str(inbox.offered[0]["id"]))


@proves()
async def a_reaction_is_put_on_its_message(harness: ChannelHarness) -> None:
    """A reaction stands on the message; put there again it changes nothing, another one takes its place."""
    async with harness.open() as opened:
        first, second = _declared(opened)
        message = await _written(harness, opened)
        for emoji in (first, first, second):
            with in_time(harness, f"the reaction {emoji}"):
                delivered = await opened.channel.send(
                    opened.part_of(ReactionPart(message=message, emoji=emoji))
                )
                must_equal(list(await opened.far_side.reactions(1)), [emoji], "the reactions")
            must_equal(delivered.platform_id, None, "the id of a reaction")


@proves()
async def a_reaction_that_is_not_declared_is_refused(harness: ChannelHarness) -> None:
    """What the features do not name as a reaction is refused for good: a word, two emoji, one of another set."""
    async with harness.open() as opened:
        reactions = opened.channel.features.reactions
        none = isinstance(reactions, NoReactions)
        message = PlatformMessageId("1") if none else await _written(harness, opened)
        for emoji in _others(reactions):
            with in_time(harness, f"the reaction {emoji!r}"):
                error = await send_body(opened, ReactionPart(message=message, emoji=emoji))
            if not isinstance(error, ChannelRejected):
                raise PromiseBroken(f"the reaction {emoji!r}: expected ChannelRejected, found {error!r}")


@proves()
async def a_reaction_to_no_message_is_refused(harness: ChannelHarness) -> None:
    """A reaction to a message that is none of the platform's is refused for good, and holds up nothing."""
    async with harness.open() as opened:
        emoji, _ = _declared(opened)
        with in_time(harness, "the reaction"):
            error = await send_body(
                opened, ReactionPart(message=PlatformMessageId("no such message"), emoji=emoji)
            )
        if not isinstance(error, ChannelRejected):
            raise PromiseBroken(f"a reaction to no message: expected ChannelRejected, found {error!r}")


CHECKS: tuple[ChannelCheck, ...] = (
    a_reaction_is_put_on_its_message,
    a_reaction_that_is_not_declared_is_refused,
    a_reaction_to_no_message_is_refused,
)
