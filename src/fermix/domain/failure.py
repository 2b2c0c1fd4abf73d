"""Why a turn gave no answer: one closed list, from which user texts and exit codes are derived."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class FailureKind(StrEnum):
    """What went wrong, sorted by what the person who asked can do next."""

    NO_MODEL = "no_model"
    CREDENTIAL_MISSING = "credential_missing"
    CREDENTIAL_REFUSED = "credential_refused"
    UNKNOWN_MODEL = "unknown_model"
    RATE_LIMITED = "rate_limited"
    CONTEXT_TOO_LONG = "context_too_long"
    IMAGE_UNSUPPORTED = "image_unsupported"
    IMAGE_REFUSED = "image_refused"
    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"
    PROVIDER_FAILED = "provider_failed"
    EMPTY_ANSWER = "empty_answer"
    STEP_LIMIT = "step_limit"
    LOOPING = "looping"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed turn in terms the application can act on; the operator's cause goes to the log, never here.

    Attributes:
        kind: what happened.
        provider: the provider's configured name, when one was asked.
        model: the model id that was asked for, when one was.
        retry_after: the wait the provider asked for; `None` when it named none.
        detail: one short sentence safe to show (no secret, no body of a response).
    """

    kind: FailureKind
    provider: str | None = None
    model: str | None = None
    retry_after: timedelta | None = None
    detail: str | None = None
