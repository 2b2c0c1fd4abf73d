"""Reading a JSON object strictly: every field has its type, or the object is refused with the field's name.

Fields nobody asks for are left alone, so that a newer side may add some.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

_Choice = TypeVar("_Choice", bound=StrEnum)


class Malformed(Exception):
    """A field is missing or of another type; the message is one sentence and holds no value."""


class Fields:
    """The fields of one object; `subject` names it in errors. `null` and absent are the same."""

    def __init__(self, content: Mapping[str, Any], subject: str) -> None:
        self._content = content
        self._subject = subject

    def __contains__(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._content.get(name) is not None

    def text(self, name: str, *, max_characters: int | None = None) -> str:
        """A string."""
        value = self._content.get(name)
        if not isinstance(value, str):
            raise self._malformed(name, "a string")
        if max_characters is not None and len(value) > max_characters:
            raise self._malformed(name, f"at most {max_characters} characters long")
        return value

    def optional_text(self, name: str) -> str | None:
        """A string or nothing."""
        return self.text(name) if name in self else None

    def whole(self, name: str) -> int:
        """A whole number."""
        value = self._content.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._malformed(name, "a whole number")
        return value

    def optional_whole(self, name: str) -> int | None:
        """A whole number or nothing."""
        return self.whole(name) if name in self else None

    def optional_number(self, name: str) -> float | None:
        """A number or nothing."""
        value = self._content.get(name)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self._malformed(name, "a number")
        return float(value)

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._content.get(name)
        if not isinstance(value, bool):
            raise self._malformed(name, "true or false")
        return value

    def choice(self, name: str, kind: type[_Choice]) -> _Choice:
        """One of a closed list of words."""
        try:
            return kind(self.text(name))
        except ValueError:
            raise self._malformed(name, f"one of {', '.join(kind)}") from None

    def optional_choice(self, name: str, kind: type[_Choice]) -> _Choice | None:
        """One of a closed list of words, or nothing."""
        return self.choice(name, kind) if name in self else None

    def mapping(self, name: str) -> Mapping[str, Any]:
        """An object."""
        value = self._content.get(name)
        if not isinstance(value, dict):
            raise self._malformed(name, "an object")
        return value

    def mappings(self, name: str) -> list[Mapping[str, Any]]:
        """A list of objects."""
        value = self._content.get(name)
        if not isinstance(value, list) or not all(isinstance(member, dict) for member in value):
            raise self._malformed(name, "a list of objects")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        value = self._content.get(name)
        if not isinstance(value, list) or not all(isinstance(member, str) for member in value):
            raise self._malformed(name, "a list of strings")
        return tuple(value)

    def _malformed(self, name: str, wanted: str) -> Malformed:
        return Malformed(f"The {self._subject}'s `{name}` must be {wanted}.")
