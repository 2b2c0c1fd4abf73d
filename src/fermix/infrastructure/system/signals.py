"""The signals that ask the process to end."""

import signal

import anyio
from anyio.abc import TaskStatus

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def wait_for_stop_signal(
    *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> signal.Signals:
    """The first of SIGTERM and SIGINT that arrives; main thread only.

    Reports started once the signals are caught, so that none can slip through before. When it returns the signals
    have their former meaning again: a second Ctrl-C ends a drain that somebody does not want to wait for, which
    loses nothing that the ledger holds.
    """
    with anyio.open_signal_receiver(*STOP_SIGNALS) as received:
        task_status.started()
        async for number in received:
            return number
    raise RuntimeError("the signal receiver ended without a signal")
