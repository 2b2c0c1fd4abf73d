"""What the exit status of every command means, in one place."""

from enum import IntEnum
from types import MappingProxyType


class ExitCode(IntEnum):
    """The status a command ends with. 141 and 130 are what a shell reports for SIGPIPE and SIGINT."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    NOT_RUNNING = 3
    CREDENTIALS = 4
    DENIED = 5
    NO_MODEL = 6
    CONFIG_INVALID = 7
    TIMED_OUT = 8
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141


BY_FAILURE = MappingProxyType(
    {
        "no_model": ExitCode.NO_MODEL,
        "credential_missing": ExitCode.CREDENTIALS,
        "credential_refused": ExitCode.CREDENTIALS,
        "unknown_model": ExitCode.NO_MODEL,
        "rate_limited": ExitCode.NO_MODEL,
        "context_too_long": ExitCode.FAILURE,
        "image_unsupported": ExitCode.FAILURE,
        "image_refused": ExitCode.FAILURE,
        "timed_out": ExitCode.TIMED_OUT,
        "unreachable": ExitCode.NO_MODEL,
        "provider_failed": ExitCode.NO_MODEL,
        "empty_answer": ExitCode.FAILURE,
        "step_limit": ExitCode.FAILURE,
        "looping": ExitCode.FAILURE,
        "internal": ExitCode.FAILURE,
    }
)
"""By the words of the domain's `FailureKind`; loading the class itself would slow every `ask` down.

Codes 4, 6 and 8 say that another provider, credential or try would help; 1 that another request would.
"""


def exit_code_of_failure(kind: str | None) -> ExitCode:
    """The status for a turn that gave no answer; a kind this client does not know yet is a plain failure."""
    return BY_FAILURE.get(kind or "", ExitCode.FAILURE)
