"""Everything that the owner may change while the gateway runs, as one value."""

from dataclasses import replace

from fermix.domain.authorization import Policies
from fermix.infrastructure.sandbox.live import LiveSandbox
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.policies import SettingsPolicies


class LivePolicies:
    """The `PolicySource` port: who may talk, and the sandbox."""

    def __init__(self, *, access: SettingsPolicies, sandbox: LiveSandbox) -> None:
        self._access = access
        self._sandbox = sandbox

    def current(self) -> Policies:
        """The policies in force."""
        return replace(self._access.current(), sandbox=self._sandbox.current())

    def replace(self, settings: Settings) -> bool:
        """Put other settings in force; returns whether anything changed. Looks at the disk for a moment."""
        changes = (self._access.replace(settings), self._sandbox.replace(settings))
        return any(changes)
