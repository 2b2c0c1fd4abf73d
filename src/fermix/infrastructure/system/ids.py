"""Fresh identifiers from the machine's source of randomness."""

import uuid


class Uuids:
    """The ids port: random UUIDs."""

    def new(self) -> str:
        """A random UUID as text."""
        return str(uuid.uuid4())
