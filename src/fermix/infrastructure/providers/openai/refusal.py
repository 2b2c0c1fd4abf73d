"""Why a request gave no answer, before it is made safe to show."""

from dataclasses import dataclass
from datetime import timedelta

from fermix.domain.failure import FailureKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A failed request as this package passes it around.

    Attributes:
        kind: what the asker can do about it.
        detail: in the provider's or our words; may still hold secrets, line breaks and any length.
        retry_after: the wait the provider asked for.
        status: the HTTP status of a refusal that came before any answer.
    """

    kind: FailureKind
    detail: str = ""
    retry_after: timedelta | None = None
    status: int | None = None


class AnswerRefusedError(Exception):
    """The stream itself says that no whole answer will come."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.kind.value)
        self.refusal = refusal


def broken(detail: str) -> AnswerRefusedError:
    """The error for a stream that is not what its wire promises."""
    return AnswerRefusedError(Refusal(kind=FailureKind.PROVIDER_FAILED, detail=detail))
