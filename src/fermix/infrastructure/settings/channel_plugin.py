"""What another package says of a channel that it brings: the object that its entry point names."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from fermix.application.ports.blobs import Blobs
from fermix.application.ports.channel import Channel
from fermix.application.ports.clock import Clock
from fermix.infrastructure.settings.channels import ChannelSettings

S = TypeVar("S", bound=ChannelSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSurroundings:
    """What a channel of another package gets beside its own settings, which are all it sees of the configuration.

    Attributes:
        blobs: the store of files: what `send` reads from.
        folder: a folder of this channel's alone below the home, perhaps not made yet; whoever makes it makes it
            with mode 0700.
        proxy_for: the proxy that leads to an address, as the environment names it; `None`: none.
    """

    clock: Clock
    blobs: Blobs
    folder: Path
    proxy_for: Callable[[str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupReport:
    """How a channel is set up, in words: its own row of `fermix doctor`.

    Attributes:
        sentence: one line, without a full stop at its end and without any secret.
        is_well: whether the channel can work like this; the row fails when not.
        remedy: what its owner can do.
    """

    sentence: str
    is_well: bool = True
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPlugin(Generic[S]):
    """A channel of another package, named by an entry point of the group `fermix.channels`.

    The entry point's name is the channel's: its section of the configuration, its place in health and log. The
    module that holds this object is imported whenever the section says `enabled = true`, also by `fermix ask`: let
    it import no client library; `build` does, when the channel is really to be served.

    Attributes:
        settings: the class of the section.
        build: makes the channel, with nothing opened and nobody asked. Called with every key of `requires` set.
            A channel that is an async context manager is entered before it runs and left at the end.
        requires: keys of the section, by field name, without which it cannot be made.
        shows_drafts: whether the channel has the ability `drafts`.
        look: how it is set up, for `fermix doctor`; asks nobody outside. `None`: its row says that it is complete.

    Raises:
        TypeError: the parts do not fit together.
    """

    settings: type[S]
    build: Callable[[S, ChannelSurroundings], Channel]
    requires: tuple[str, ...] = ()
    shows_drafts: bool = False
    look: Callable[[S], SetupReport] | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.settings, type) and issubclass(self.settings, ChannelSettings)):
            raise TypeError("settings is no subclass of ChannelSettings")
        unknown = [key for key in self.requires if key not in self.settings.model_fields]
        if unknown:
            raise TypeError(
                f"requires names what {self.settings.__name__} does not have: {', '.join(unknown)}"
            )
        for name in ("build", "look"):
            value = getattr(self, name)
            if not callable(value) and not (name == "look" and value is None):
                raise TypeError(f"{name} cannot be called")
