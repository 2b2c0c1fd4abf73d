"""What asking a service may take, and what is said when it comes to nothing."""

from dataclasses import dataclass

MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""An hour of speech with the times of all its words stays far below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingLimits:
    """How long things may take, in seconds.

    Attributes:
        whole: one transcription from its first byte to its last.
        silence: between two bytes; while the service listens, it sends none.
        connect: until a connection stands.
    """

    whole: float = 300.0
    silence: float = 120.0
    connect: float = 10.0


class Unreached(Exception):
    """There is no whole answer; the text says how far it went and holds nothing of a request or an answer."""
