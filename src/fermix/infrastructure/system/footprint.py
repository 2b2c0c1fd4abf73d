"""What a long-lived process takes of its machine: memory that nothing uses, pauses that nobody needs."""

import gc
import sys
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from typing import cast

_NEVER_USED = (
    "httpx._main",  # its command line, and with it rich and pygments: 3 MiB and 25 ms
    "httpx2._main",
    "openai._vendor.httpx_aiohttp",  # another HTTP client than ours, and with it aiohttp: 8 MiB
    "trio",  # the loop is asyncio's; httpcore looks for both: 3.5 MiB
    "yaml",  # dependency-injector's other way of configuring: 0.7 MiB
)
"""What libraries load wherever it is installed, can do without, and nobody here asks for."""

_YOUNG, _MIDDLE, _OLD = 10_000, 20, 50


def leave_out_unused() -> None:
    """Keep libraries from loading parts of theirs that this process never uses; before they are imported."""
    loaded = cast("MutableMapping[str, object]", sys.modules)
    for name in _NEVER_USED:
        loaded.setdefault(name, None)


@contextmanager
def without(*names: str) -> Generator[None]:
    """Keep what is imported inside the block from finding libraries that it can do without.

    Only those that nobody has loaded yet; after the block everybody else can load them.
    """
    loaded = cast("MutableMapping[str, object]", sys.modules)
    hidden = [name for name in names if name not in loaded]
    loaded.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for name in hidden:
            del loaded[name]


def settle_garbage() -> None:
    """Exempt what has been loaded by now from garbage collection, and look less often from now on.

    The objects of libraries live as long as the process. Walking over them takes some 50 ms, in which nobody is
    answered; with the defaults that happens every few thousand messages.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
