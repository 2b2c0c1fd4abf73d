"""Why a request gave no answer, before it is made safe to show."""

from dataclasses import dataclass, replace
from datetime import timedelta

from fermix.domain.failure import FailureKind

_REFUSED_AS_SUCH = frozenset({400, 415, 422})
_TOO_LARGE = 413


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A failed request as this package passes it around.

    Attributes:
        kind: what the asker can do about it.
        detail: in the provider's or our words; may still hold secrets, line breaks and any length.
        retry_after: the wait the provider asked for.
        status: the HTTP status of a refusal that came before any answer.
        names_vision: whether the words say that the model sees no pictures; of a request without any that means
            nothing.
    """

    kind: FailureKind
    detail: str = ""
    retry_after: timedelta | None = None
    status: int | None = None
    names_vision: bool = False

    def of_pictures(self) -> "Refusal":
        """This refusal of a request that showed pictures.

        Providers word in many ways that they cannot take one, and what is no such refusal does no harm as one:
        what was refused as it stood, for no reason that is known here, would be refused again with its pictures.
        """
        if self.names_vision:
            return replace(self, kind=FailureKind.IMAGE_UNSUPPORTED)
        unexplained = self.kind is FailureKind.PROVIDER_FAILED and self.status in _REFUSED_AS_SUCH
        if unexplained or self.status == _TOO_LARGE:
            return replace(self, kind=FailureKind.IMAGE_REFUSED)
        return self


class AnswerRefusedError(Exception):
    """The stream itself says that no whole answer will come."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.kind.value)
        self.refusal = refusal


def broken(detail: str) -> AnswerRefusedError:
    """The error for a stream that is not what its wire promises."""
    return AnswerRefusedError(Refusal(kind=FailureKind.PROVIDER_FAILED, detail=detail))
