"""What of the process around it a channel may need: home, store of files, a folder for locks, the way out."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from fermix.application.ports.blobs import Blobs
from fermix.infrastructure.blobs.store import FolderBlobs
from fermix.infrastructure.settings.environment import VARIABLES
from fermix.infrastructure.system.clock import SystemClock
from fermix.infrastructure.system.home import Home
from fermix.infrastructure.system.ids import Uuids

_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Handed to the builders of channels.

    Attributes:
        home: the absolute home.
        runtime_folder: a folder of this user's, the same for every home on this machine; perhaps not made yet.
        proxies: what the environment says of proxies, names in lower case.
        blobs: the one store of files of the home.
        child_environment: for programs that a channel starts: the daemon's own, without any secret.
        launch_folder: where the process was started; `None` when that folder is gone.
    """

    home: Path
    runtime_folder: Path
    proxies: Mapping[str, str]
    blobs: Blobs
    child_environment: Mapping[str, str] = field(repr=False)
    launch_folder: Path | None = None

    def proxy_for(self, address: str) -> str | None:
        """The proxy that leads to an address, as the environment names it; this machine is reached without."""
        parts = urlsplit(address)
        host = parts.hostname or ""
        if host in _THIS_MACHINE or self._is_reached_without(host):
            return None
        return self.proxies.get(f"{parts.scheme}_proxy") or self.proxies.get("all_proxy") or None

    def _is_reached_without(self, host: str) -> bool:
        names = [name.strip().lstrip(".").lower() for name in self.proxies.get("no_proxy", "").split(",")]
        return any(name == "*" or (name and (host == name or host.endswith(f".{name}"))) for name in names)


def surroundings_of(home: Path, environ: Mapping[str, str], *, blobs: Blobs | None = None) -> Surroundings:
    """Read them from the environment; without a store of files, one over the home's folder comes with them."""
    runtime = Path(environ.get("XDG_RUNTIME_DIR", "").strip() or "/nonexistent")
    shared = Path(f"/tmp/fermix-{os.getuid()}")  # noqa: S108 - made private and checked before it is used
    return Surroundings(
        home=home,
        runtime_folder=runtime / "fermix" if runtime.is_dir() else shared,
        proxies={
            name.lower(): value.strip() for name, value in environ.items() if name.lower().endswith("_proxy")
        },
        blobs=blobs or FolderBlobs(Home(path=home).blobs, clock=SystemClock(), ids=Uuids()),
        child_environment=without_secrets(environ),
        launch_folder=_current_folder(),
    )


_OURS = frozenset(variable.name for variable in VARIABLES) - {"PORT"}
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE|API_?KEY|_KEY$|^FERMIX_", re.IGNORECASE)


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment without what we are configured by, and without what is named like a secret of anybody's."""
    return {name: value for name, value in environ.items() if name not in _OURS and not _SECRET.search(name)}


def _current_folder() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None
