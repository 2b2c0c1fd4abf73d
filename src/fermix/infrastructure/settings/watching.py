"""Edits of the configuration file that take effect while the daemon runs: who may talk, and the sandbox."""

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

from anyio import to_thread

from fermix.application.ports.clock import Clock
from fermix.infrastructure.settings.loading import LoadedSettings, load_settings
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import ConfigError
from fermix.infrastructure.settings.stored import AsBefore

_log = logging.getLogger("fermix.settings")

LOOK_EVERY = timedelta(seconds=2)


async def watch_policies(
    loaded: LoadedSettings,
    *,
    environ: Mapping[str, str],
    replace: Callable[[Settings], bool],
    clock: Clock,
) -> None:
    """Look at the file every two seconds until cancelled, and put changed policies in force.

    A broken file keeps what was in force and says so once per edit; any other change than of policies needs a
    restart and says that. Secrets that are kept elsewhere are not read again.

    Args:
        loaded: what the process started with.
        replace: puts the policies of other settings in force; returns whether they changed. Runs in a thread.
    """
    seen = await to_thread.run_sync(_stamp, loaded.path)
    settings = loaded.settings
    sentinels = _sentinels(loaded)
    load = partial(load_settings, loaded.settings.home, environ, stores=AsBefore(loaded.stored))
    while True:
        await clock.sleep_until(clock.now() + LOOK_EVERY)
        stamp = await to_thread.run_sync(_stamp, loaded.path)
        if stamp == seen:
            continue
        seen = stamp
        try:
            edited = await to_thread.run_sync(load)
        except ConfigError as exc:
            _log.error("settings.broken", extra={"kept": "the settings before the edit", "cause": str(exc)})
            continue
        if await to_thread.run_sync(replace, edited.settings):
            _log.info("settings.policies_replaced", extra={"path": str(loaded.path)})
        changed = _apart_from_policies(edited.settings) != _apart_from_policies(settings)
        if changed or _sentinels(edited) != sentinels:
            _log.warning("settings.restart_to_apply", extra={"path": str(loaded.path)})
        settings = edited.settings
        sentinels = _sentinels(edited)


def _sentinels(loaded: LoadedSettings) -> frozenset[tuple[object, str]]:
    return frozenset((each.key, each.sentinel) for each in loaded.stored)


_POLICY_KEYS = {"owner_user_id", "allowlist", "command_allowlist"}


def _apart_from_policies(settings: Settings) -> tuple[object, ...]:
    channels = {
        name: channel.model_dump(exclude=_POLICY_KEYS)
        for name, channel in settings.channels.by_name().items()
    }
    return (settings.core, settings.web, settings.mcp, channels)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What tells one state of the file from another; `None` while it is not there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)
