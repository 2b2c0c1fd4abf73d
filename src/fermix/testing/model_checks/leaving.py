"""Checks of leaving: an asker who goes takes the line along and leaves the model usable."""

from contextlib import suppress

import anyio

from fermix.testing.checks import CannotArrange
from fermix.testing.expectations import PromiseBroken, must_equal
from fermix.testing.model_checks.check import ModelCheck, ask, failure_of, noticed, proves
from fermix.testing.model_harness import ModelHarness, Trouble

_SILENT = (Trouble.SILENT, Trouble.SILENT_BEFORE_WORDS, Trouble.SILENT_AMONG_WORDS)


@proves()
async def who_leaves_a_silent_provider_is_seen_leaving(harness: ModelHarness) -> None:
    """Cancelling a question closes its line at once, wherever its answer stands; the next one is answered."""
    for trouble in _SILENT:
        async with harness.open() as opened:
            opened.provider.will(trouble)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(failure_of, opened.model)
                async with noticed(harness, f"a request ({trouble})"):
                    await opened.provider.asked(1)
                tasks.cancel_scope.cancel()
            async with noticed(harness, f"the asker leaving ({trouble})"):
                await opened.provider.left()
            await ask(opened.model)


@proves()
async def who_leaves_among_words_is_shown_no_more(harness: ModelHarness) -> None:
    """A question cancelled between two words is cancelled, shows nothing more, and the next one is answered."""
    shown: list[str] = []
    async with harness.open() as opened:
        with suppress(CannotArrange):  # else a quick provider may have said all before anybody can leave
            opened.provider.will(Trouble.SILENT_AMONG_WORDS)
        with anyio.CancelScope() as scope:

            def show(piece: str) -> None:
                shown.append(piece)
                scope.cancel()

            await ask(opened.model, on_text=show)
        if not scope.cancelled_caught:
            raise PromiseBroken("cancelling between two words: expected to be cancelled, found an answer")
        seen = len(shown)
        await ask(opened.model)
        must_equal(len(shown), seen, "pieces shown to somebody who left")


CHECKS: tuple[ModelCheck, ...] = (
    who_leaves_a_silent_provider_is_seen_leaving,
    who_leaves_among_words_is_shown_no_more,
)
