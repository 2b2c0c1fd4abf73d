"""The capability to put a reaction on the message that is answered."""

from collections.abc import Mapping
from typing import assert_never

from fermix.application.ports.reply import REACT, NotShown, Shown, UnderWay
from fermix.application.ports.tools import ToolContext, ToolResult
from fermix.domain.capability import Capability, RiskClass
from fermix.domain.reactions import AnyEmoji, NoReactions, Reactions, SomeReactions, allows
from fermix.infrastructure.tools.answers import quoted
from fermix.infrastructure.tools.arguments import Arguments, BadArgument


def _parameters(emoji: Mapping[str, object]) -> Mapping[str, object]:
    return {
        "type": "object",
        "properties": {"emoji": {"type": "string", **emoji}},
        "required": ["emoji"],
        "additionalProperties": False,
    }


_ANY = _parameters({"description": "Exactly one emoji."})


class React:
    """Reacts; where that is the whole answer the turn ends with it."""

    capability = Capability(
        name=REACT,
        description=(
            'Answer a message that needs nothing but an acknowledgement (a thank-you, an "ok", a thumbs-up) by '
            "putting an emoji on it, alone and without text. Never in place of a real answer. It takes the place "
            "of an earlier reaction of yours on the same message."
        ),
        parameters=_ANY,
        # It changes nothing but the conversation; of a repeat nobody sees anything.
        risk=RiskClass.READ_ONLY,
        owner_data=False,
        category="channel",
        terminal=True,
    )

    def offered(self, context: ToolContext) -> Mapping[str, object] | None:
        """See `OfferedByTurn.offered`: only where there are reactions, and with their list where it is short."""
        reactions: Reactions = NoReactions() if context.reply is None else context.reply.reactions
        match reactions:
            case NoReactions():
                return None
            case AnyEmoji():
                return _ANY
            case SomeReactions(names=names):
                return _parameters({"enum": list(names)})
            case _:
                assert_never(reactions)

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        """React once; what cannot be put on the message is a failed result."""
        if context.reply is None:
            return ToolResult(text="There is no message here to react to.", failed=True)
        given = Arguments(given=arguments)
        try:
            emoji = given.text("emoji").strip()
            given.only("emoji")
        except BadArgument as exc:
            return ToolResult(text=str(exc), failed=True)
        if not allows(context.reply.reactions, emoji):
            return ToolResult(text=_not_allowed(context.reply.reactions, emoji), failed=True)
        answer = await context.reply.react(emoji)
        match answer:
            case Shown() | UnderWay():
                return ToolResult(
                    text=f"You reacted with {emoji}. If that is all, end your turn without text."
                )
            case NotShown(cause=cause):
                return ToolResult(
                    text=f"The platform did not take the reaction ({cause}). Answer with one short line instead.",
                    failed=True,
                )
            case _:
                assert_never(answer)


def _not_allowed(reactions: Reactions, emoji: str) -> str:
    match reactions:
        case NoReactions():
            return "This conversation has no reactions. Answer with one short line instead."
        case AnyEmoji():
            return f"{quoted(emoji)} is not exactly one emoji."
        case SomeReactions(names=names):
            return f"{quoted(emoji)} cannot be used here. These can: {' '.join(names)}"
        case _:
            assert_never(reactions)
