"""How the Bot API says no: `{"ok": false, "error_code": …, "description": …}` with the same status."""

from typing import Any


class Refused(Exception):
    """The call is answered with an error."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters

    def body(self) -> dict[str, Any]:
        """The answer."""
        answer: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        if self.parameters:
            answer["parameters"] = self.parameters
        return answer


class BadRequest(Refused):
    """A 400, which most refusals are."""

    def __init__(self, reason: str, **parameters: int) -> None:
        super().__init__(400, f"Bad Request: {reason}", **parameters)


class Conflict(Refused):
    """A 409: the updates go elsewhere."""

    def __init__(self, reason: str) -> None:
        super().__init__(409, f"Conflict: {reason}")


ANOTHER_POLLER = "terminated by other getUpdates request; make sure that only one bot instance is running"
WEBHOOK_SET = (
    "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)


def too_many_requests(seconds: int) -> Refused:
    """A 429 with the wait in words and as a parameter."""
    return Refused(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


def fault_text(status: int) -> str:
    """What a refusal says whose fault did not name its text."""
    known = {
        401: "Unauthorized",
        403: "Forbidden: bot was blocked by the user",
        404: "Not Found",
        409: f"Conflict: {ANOTHER_POLLER}",
        500: "Internal Server Error",
        502: "Bad Gateway",
        504: "Gateway Timeout",
    }
    return known.get(status, "Bad Request: refused by the test")
