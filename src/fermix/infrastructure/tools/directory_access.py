"""The capability to ask the owner for a folder that the sandbox keeps closed."""

from collections.abc import Mapping

from fermix.application.ports.access import AccessAnswer, AlreadyOpen, CannotBeOpened, OwnerAsked
from fermix.application.ports.tools import ToolContext, ToolResult
from fermix.domain.capability import APPROVAL_CATEGORY, Capability, RiskClass
from fermix.infrastructure.tools.answers import quoted
from fermix.infrastructure.tools.arguments import Arguments, BadArgument

_NOBODY = "There is nobody who could be asked. The owner can run `fermix grant path` at a terminal."


class RequestDirectoryAccess:
    """Asks, and ends at once: the answer comes to the gateway and not to the turn."""

    capability = Capability(
        name="request_directory_access",
        description=(
            "Ask the owner to let you reach a folder that lies outside the folders you may use. Use it only when "
            "the request needs that folder, with the smallest folder that serves. The owner is shown the folder "
            "and your reason. After asking, end your turn with one sentence; do not wait and do not ask twice."
        ),
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The folder, best as an absolute path."},
                "reason": {
                    "type": "string",
                    "description": "Why it is needed, in one sentence for the owner.",
                },
            },
            "required": ["path", "reason"],
            "additionalProperties": False,
        },
        risk=RiskClass.READ_WRITE,
        owner_data=True,
        # Asked twice, there is one prompt; it leaves an effect row of its own, in one commit with what is sent.
        repeatable=True,
        category=APPROVAL_CATEGORY,
    )

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Ask once."""
        given = Arguments(given=arguments)
        try:
            given.only("path", "reason")
            path, reason = given.text("path"), given.text("reason")
        except BadArgument as exc:
            return ToolResult(text=str(exc), failed=True)
        if context.access is None:
            return ToolResult(text=_NOBODY, failed=True)
        return _told(await context.access.request(path, reason))


def _told(answer: AccessAnswer) -> ToolResult:
    match answer:
        case AlreadyOpen(path=path):
            return ToolResult(text=f"{quoted(str(path))} can be reached already. Try again what failed.")
        case CannotBeOpened(text=text):
            return ToolResult(text=f"Nobody was asked: {text}", failed=True)
        case OwnerAsked(path=path, fresh=fresh, resumes=resumes):
            asked = "was asked now" if fresh else "was asked already and has not answered yet"
            then = (
                "this request is taken up again by itself when they agree"
                if resumes
                else "they have to send the request once more when they have agreed"
            )
            return ToolResult(
                text=f"The owner {asked} for access to {quoted(str(path))}; {then}. End your turn now with one "
                "sentence that says what you wait for."
            )
