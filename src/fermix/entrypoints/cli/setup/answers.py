"""What `fermix setup` was told, by its questions or by flags: only what is to be another one from now on."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAnswer:
    """One model service; `None` leaves what stands there.

    Attributes:
        name: its section's name.
        chosen: whether its owner said that this one is to answer; otherwise it does only where it is the first.
    """

    name: str
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    default_model: str | None = None
    reasoning_effort: str | None = None
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelAnswer:
    """One messenger, and the keys of its section that were told."""

    name: str
    values: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptionAnswer:
    """Who turns speech into text.

    Attributes:
        backend: `None`: nobody is named any more.
        api_key: of that backend, `None` leaves what stands there.
    """

    backend: str | None
    model: str | None = None
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Everything that was told in one run."""

    providers: tuple[ProviderAnswer, ...] = ()
    channels: tuple[ChannelAnswer, ...] = ()
    transcription: TranscriptionAnswer | None = None
