"""The owner's decisions as they stand now."""

from typing import Protocol

from fermix.domain.authorization import Policies


class PolicySource(Protocol):
    """Policies are replaced whole at run time; whoever decides asks for the current value each time."""

    def current(self) -> Policies:
        """The policies in force."""
        ...
