"""Checks of secrecy: neither the credential nor what people say shows in a log or an error."""

import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeAlias

from typing_extensions import override

from fermix.application.ports.channel import ChannelError
from fermix.testing.channel_checks.check import (
    ChannelCheck,
    DirectedInbox,
    error_of,
    listen_until,
    proves,
    troubles,
)
from fermix.testing.channel_harness import PRIVATE, ChannelHarness, OpenChannel
from fermix.testing.checks import CannotArrange
from fermix.testing.error_texts import texts_of
from fermix.testing.expectations import PromiseBroken

_Errors: TypeAlias = list[ChannelError | None]


class _Keeping(logging.Handler):
    """Keeps every record that reaches the root."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.records: list[logging.LogRecord] = []

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def texts(self) -> Iterator[str]:
        """All that a log could make of them."""
        for record in self.records:
            yield record.getMessage()
            yield repr(vars(record))
            if record.exc_info and record.exc_info[1] is not None:
                yield from texts_of(record.exc_info[1])


@contextmanager
def _all_logs() -> Generator[_Keeping]:
    root, keeping = logging.getLogger(), _Keeping()
    level = root.level
    root.setLevel(logging.NOTSET)
    root.addHandler(keeping)
    try:
        yield keeping
    finally:
        root.removeHandler(keeping)
        root.setLevel(level)


def _must_not_show(secret: str, texts: Iterator[str], where: str) -> None:
    for text in texts:
        if secret in text:
            raise PromiseBroken(f"{where} shows what it must not: {text.replace(secret, '[…]')[:300]}")


def _texts(errors: _Errors) -> Iterator[str]:
    for error in errors:
        if error is not None:
            yield from texts_of(error)


async def _send_in_trouble(opened: OpenChannel) -> _Errors:
    """Send with every trouble that can be had, and once without."""
    errors: _Errors = [await error_of(opened, PRIVATE)]
    with suppress(CannotArrange):
        for _ in troubles(opened.far_side):
            errors.append(await error_of(opened, PRIVATE))
            errors.append(await error_of(opened, PRIVATE))
    return errors


async def _listen_in_trouble(harness: ChannelHarness, opened: OpenChannel) -> _Errors:
    """Listen to messages and garbage, then to nobody, then to somebody who refuses us."""
    errors, far_side = list[ChannelError | None](), opened.far_side
    with suppress(CannotArrange):
        far_side.user_writes(PRIVATE)
        with suppress(CannotArrange):
            far_side.hands_over_garbage()
        far_side.user_writes("after")
        errors.append(await _listen(harness, opened))
    with suppress(CannotArrange):
        far_side.goes_away()
        errors.append(await _listen(harness, opened))
        far_side.comes_back()
    with suppress(CannotArrange):
        far_side.refuses_us()
        errors.append(await _listen(harness, opened))
    return errors


async def _listen(harness: ChannelHarness, opened: OpenChannel) -> ChannelError | None:
    inbox = DirectedInbox()
    return await listen_until(harness, opened.channel, inbox, partial(inbox.was_offered_text, "after"))


@proves()
async def no_message_shows_in_an_error(harness: ChannelHarness) -> None:
    """Neither an error nor what it stands on holds the text of the part."""
    async with harness.open() as opened:
        for trouble in troubles(opened.far_side):
            _must_not_show(PRIVATE, _texts([await error_of(opened, PRIVATE)]), f"an error ({trouble})")


@proves()
async def no_message_shows_in_a_log(harness: ChannelHarness) -> None:
    """No log, however fine, holds the text of a message or a part."""
    async with harness.open() as opened:
        with _all_logs() as logs:
            await _send_in_trouble(opened)
            await _listen_in_trouble(harness, opened)
    _must_not_show(PRIVATE, logs.texts(), "a log")


@proves()
async def no_credential_shows_in_an_error(harness: ChannelHarness) -> None:
    """Neither an error nor what it stands on holds the credential."""
    async with harness.open() as opened:
        errors = [*await _send_in_trouble(opened), *await _listen_in_trouble(harness, opened)]
    _must_not_show(_credential(opened), _texts(errors), "an error")


@proves()
async def no_credential_shows_in_a_log(harness: ChannelHarness) -> None:
    """No log, however fine, holds the credential."""
    async with harness.open() as opened:
        with _all_logs() as logs:
            await _send_in_trouble(opened)
            await _listen_in_trouble(harness, opened)
    _must_not_show(_credential(opened), logs.texts(), "a log")


def _credential(opened: OpenChannel) -> str:
    if not opened.credential:
        raise CannotArrange("this channel has no credential")
    return opened.credential


CHECKS: tuple[ChannelCheck, ...] = (
    no_message_shows_in_an_error,
    no_message_shows_in_a_log,
    no_credential_shows_in_an_error,
    no_credential_shows_in_a_log,
)
