"""What the transcription server knows: its key, its models, what came in, and what it will say."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from fermix.testing.servers.loopback import Platform
from fermix.testing.transcriber_harness import HearingDeed


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """An answer to the letter, whatever the service would say."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


Deed: TypeAlias = HearingDeed | Raw


@dataclass(slots=True, kw_only=True)
class World(Platform):
    """One account.

    Attributes:
        key: what every request must bring.
        models: by service, those it has.
        script: what happens to the next recordings.
        recordings: the content of every one that arrived whole and rightly asked.
        refusals: why requests were not what their service documents, in words.
        left: how many askers went before their answer.
    """

    key: str
    models: dict[str, str] = field(
        default_factory=lambda: {"openai": "gpt-4o-mini-transcribe", "deepgram": "nova-3"}
    )
    script: deque[Deed] = field(default_factory=deque[Deed])
    recordings: list[bytes] = field(default_factory=list[bytes])
    refusals: list[str] = field(default_factory=list[str])
    left: int = 0
