"""Saying what must hold, so that a broken promise is told in words; needs no test framework."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class PromiseBroken(AssertionError):
    """An adapter does not keep what its port promises."""


def must_equal(found: object, expected: object, about: str) -> None:
    """Compare what was found with what was promised.

    Raises:
        PromiseBroken: they differ.
    """
    if found != expected:
        raise PromiseBroken(f"{about}: expected {expected!r}, found {found!r}")


def must_be(found: object, kind: type[T], about: str) -> T:
    """What was found, as the kind that was promised.

    Raises:
        PromiseBroken: it is of another kind.
    """
    if not isinstance(found, kind):
        raise PromiseBroken(f"{about}: expected {kind.__name__}, found {found!r}")
    return found


@contextmanager
def must_refuse(error: type[Exception], about: str) -> Generator[None]:
    """What is done inside is refused with `error`.

    Raises:
        PromiseBroken: it was not.
    """
    try:
        yield
    except error:
        return
    raise PromiseBroken(f"{about}: expected {error.__name__}")
