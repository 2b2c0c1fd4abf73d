"""How much of an answer is taken before the provider is held to be broken."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits of one answer; beyond any of them it fails as the provider's fault.

    Attributes:
        text_chars: visible text, and separately all reasoning.
        calls: tool calls.
        argument_chars: arguments of one call.
        event_bytes: one event of the stream; the last event of the Responses wire repeats the whole answer.
        error_bytes: body of an error reply; what is beyond is not read.
    """

    text_chars: int = 4 * MIB
    calls: int = 128
    argument_chars: int = MIB
    event_bytes: int = 32 * MIB
    error_bytes: int = MIB // 4


BOUNDS = Bounds()
