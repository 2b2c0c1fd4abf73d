"""Reading the arguments of a call: a model writes them, so each is checked and a wrong one is named."""

from collections.abc import Mapping
from dataclasses import dataclass


class BadArgument(Exception):
    """An argument is missing or wrong; the text is a sentence for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of one call, read by name and type. JSON null counts as absent."""

    given: Mapping[str, object]

    def only(self, *names: str) -> None:
        """Refuse arguments that the capability does not have.

        Raises:
            BadArgument: there is one.
        """
        for name in self.given:
            if name not in names:
                raise BadArgument(f"There is no argument {name!r:.80}; there are: {', '.join(names)}.")

    def text(self, name: str) -> str:
        """A text that must be there and not be blank.

        Raises:
            BadArgument: it is not so.
        """
        value = self.optional_text(name)
        if value is None:
            raise BadArgument(f"The argument `{name}` is missing.")
        return value

    def optional_text(self, name: str) -> str | None:
        """A text that is not blank, if it is there.

        Raises:
            BadArgument: it is something else.
        """
        value = self.given.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise BadArgument(f"The argument `{name}` must be a text, not {_kind(value)}.")
        if not value.strip():
            raise BadArgument(f"The argument `{name}` is blank.")
        return value

    def optional_number(self, name: str, *, least: int) -> int | None:
        """A whole number of at least `least`, if it is there; `3.0` is one, as JSON does not tell them apart.

        Raises:
            BadArgument: it is something else.
        """
        value = self.given.get(name)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadArgument(f"The argument `{name}` must be a whole number, not {_kind(value)}.")
        if value < least:
            raise BadArgument(f"The argument `{name}` must be at least {least}.")
        return value

    def flag(self, name: str) -> bool:
        """True or false; false if it is not there.

        Raises:
            BadArgument: it is something else.
        """
        value = self.given.get(name)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise BadArgument(f"The argument `{name}` must be true or false, not {_kind(value)}.")
        return value


def _kind(value: object) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list() | tuple():
            return "a list"
        case Mapping():
            return "an object"
        case _:
            return "something else"
