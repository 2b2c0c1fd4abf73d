"""Checks of leaving: an asker who goes takes the work along and leaves the transcriber usable."""

import anyio

from fermix.testing.transcriber_checks.check import TranscriberCheck, ask, failure_of, noticed, proves
from fermix.testing.transcriber_harness import HearingTrouble, TranscriberHarness


@proves()
async def who_leaves_is_seen_leaving(harness: TranscriberHarness) -> None:
    """Cancelling ends the work on a recording at once; the next one is transcribed."""
    async with harness.open() as opened:
        opened.listener.will(HearingTrouble.SILENT)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(failure_of, opened, harness.recording)
            async with noticed(harness, "a recording"):
                await opened.listener.asked(1)
            tasks.cancel_scope.cancel()
        async with noticed(harness, "the asker leaving"):
            await opened.listener.left()
        await ask(opened, harness.recording)


CHECKS: tuple[TranscriberCheck, ...] = (who_leaves_is_seen_leaving,)
