"""The sandbox in force, replaced whole when its owner changes the settings."""

from pathlib import PurePath

from fermix.domain.sandbox import Sandbox
from fermix.infrastructure.sandbox.canonical import real_sandbox
from fermix.infrastructure.sandbox.stated import sandbox_of
from fermix.infrastructure.settings.model import Settings


class LiveSandbox:
    """The `SandboxSource` port. Making and replacing it looks at the disk for a moment.

    Args in common:
        launch_folder: where the gateway was started; `None` when that folder is gone.
    """

    def __init__(self, *, settings: Settings, launch_folder: PurePath | None) -> None:
        self._launch_folder = launch_folder
        self._stated, self._current = self._read(settings)

    def current(self) -> Sandbox:
        """The sandbox in force, as the port says."""
        return self._current

    def stated(self) -> Sandbox:
        """The sandbox in force with its paths as they are written, for whoever looks at the disk each time."""
        return self._stated

    @property
    def launch_folder(self) -> PurePath | None:
        """Where the gateway was started."""
        return self._launch_folder

    def replace(self, settings: Settings) -> bool:
        """Put other settings in force; returns whether anything changed."""
        stated, current = self._read(settings)
        is_another = stated != self._stated
        self._stated, self._current = stated, current
        return is_another

    def _read(self, settings: Settings) -> tuple[Sandbox, Sandbox]:
        stated = sandbox_of(
            settings.sandbox,
            home=settings.home,
            user_home=settings.user_home,
            launch_folder=self._launch_folder,
        )
        return stated, real_sandbox(stated)
