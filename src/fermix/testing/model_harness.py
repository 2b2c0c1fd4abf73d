"""What the model's suite needs to know of an adapter: how to open it, and how to direct the provider behind it."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from enum import StrEnum
from typing import Protocol, TypeAlias

from fermix.application.ports.model import Model, ModelAnswer

RATE_LIMIT_WAIT = timedelta(seconds=42)
"""What a provider asks for in `Trouble.RATE_LIMITED`."""


class Trouble(StrEnum):
    """What can go wrong with one request; the next one goes well again."""

    KEY_MISSING = "key_missing"
    """No key is configured, and the provider wants one."""

    KEY_REFUSED = "key_refused"
    UNKNOWN_MODEL = "unknown_model"

    RATE_LIMITED = "rate_limited"
    """Refused, with a wait of `RATE_LIMIT_WAIT`."""

    RATE_LIMITED_FOR_LONG = "rate_limited_for_long"
    """Refused, with no wait named."""

    NO_VISION = "no_vision"
    """Refused because the model sees no pictures; asked for with a request that shows one."""

    PICTURE_REFUSED = "picture_refused"
    """Refused because of a picture in it; asked for with a request that shows one."""

    TOO_LONG = "too_long"
    """The request does not fit the model."""

    UNREACHABLE = "unreachable"
    """Nobody listens where the provider should be."""

    SILENT = "silent"
    """The provider takes the request and says nothing."""

    SILENT_BEFORE_WORDS = "silent_before_words"
    """The answer begins, and no word of it comes."""

    SILENT_AMONG_WORDS = "silent_among_words"
    """Some words, then nothing more."""

    CUT_AMONG_WORDS = "cut_among_words"
    """Some words, then the line ends."""

    CUT_IN_A_CALL = "cut_in_a_call"
    """A tool call that looks whole, then the line ends without the wire's end mark."""

    ERROR_AMONG_WORDS = "error_among_words"
    """Some words, then an error inside the stream that began well."""


Deed: TypeAlias = ModelAnswer | Trouble
"""What a provider does with one request; the `provider_state` of an answer is what it thinks, in its own form."""


class Provider(Protocol):
    """The far side. Left alone it answers every request with some words of its own that fit the request."""

    def will(self, *deeds: Deed) -> None:
        """Do these with the next requests, one each.

        Raises:
            CannotArrange: this provider cannot be brought to one of them.
        """
        ...

    async def asked(self, times: int) -> None:
        """Wait until so many requests have arrived since it was opened.

        Raises:
            CannotArrange: requests cannot be seen there.
        """
        ...

    @property
    def requests(self) -> int:
        """How many have arrived.

        Raises:
            CannotArrange: requests cannot be seen there.
        """
        ...

    async def left(self) -> None:
        """Wait until it has seen an asker leave before the end of an answer."""
        ...

    def shown(self) -> Sequence[bytes]:
        """The pictures of the newest request, in the order in which the model sees them.

        Raises:
            CannotArrange: requests cannot be read there.
        """
        ...

    def was_told(self, words: str) -> bool:
        """Whether any request held these words (letters and digits).

        Raises:
            CannotArrange: requests cannot be read there.
        """
        ...


class OpenModel(Protocol):
    """A model with the provider behind it."""

    @property
    def model(self) -> Model:
        """The adapter under test."""
        ...

    @property
    def elsewhere(self) -> Model:
        """The same kind of adapter with the same far side, configured as another provider.

        Raises:
            CannotArrange: there is no such thing.
        """
        ...

    @property
    def provider(self) -> Provider:
        """Its far side."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must show nowhere; the provider repeats them in its refusals where it can."""
        ...


class ModelHarness(Protocol):
    """One kind of adapter, opened anew for each check."""

    @property
    def patience(self) -> timedelta:
        """How long at most the far side may take to notice something."""
        ...

    def open(self, *, impatient: bool = False) -> AbstractAsyncContextManager[OpenModel]:
        """The adapter over a provider of its own.

        Args:
            impatient: with time limits that a test can wait for; else with none that it could reach.
        """
        ...
