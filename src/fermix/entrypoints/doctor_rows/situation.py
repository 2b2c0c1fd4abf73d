"""What several rows need to know, gathered once: the settings, the owner of the home, and the database."""

import fcntl
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fermix.application.operations.doctor.daemon import (
    AnsweringOwner,
    HiddenOwner,
    NoOwner,
    Owner,
    SilentOwner,
)
from fermix.application.operations.doctor.database import DatabaseFacts
from fermix.application.ports.control import ChannelHealth, OwnerKind, RefusedSender
from fermix.entrypoints.doctor_rows.database_files import look_at_database
from fermix.entrypoints.stored_secrets import StoresOf, secrets_folder
from fermix.infrastructure.local_socket import queries
from fermix.infrastructure.local_socket.client import ClientError, ControlClient, NoDaemon, connect
from fermix.infrastructure.local_socket.fields import Malformed
from fermix.infrastructure.local_socket.protocol import Verb
from fermix.infrastructure.local_socket.wire import decode_status
from fermix.infrastructure.secrets.private_file import SECRETS_FILE
from fermix.infrastructure.settings.loading import LoadedSettings, load_settings
from fermix.infrastructure.settings.problems import ConfigError, Problem
from fermix.infrastructure.system.home import Home

ANSWER_SECONDS = 5.0
"""How long the owner of the home may take to tell how it stands."""

_MAX_LOCK_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The subject of every row. Whatever could not be read is a value too.

    Attributes:
        home: its paths; nothing there needs to exist.
        environ: the environment.
        loaded: the settings; `None` when they are broken.
        problems: why they are.
        secrets_file: the private file of secrets.
        secrets_mode: its mode, from before anything read it; `None` where there is none.
        owner: whoever has the home.
        database: its files, and its content where nobody has it open.
        paused: ids of requests that wait for their owner; `None` when the database was not read.
    """

    home: Home
    environ: Mapping[str, str] = field(repr=False)
    loaded: LoadedSettings | None = field(repr=False)
    problems: tuple[Problem, ...]
    secrets_file: Path
    secrets_mode: int | None
    owner: Owner
    database: DatabaseFacts
    paused: tuple[int, ...] | None

    def health_of(self, channel: str) -> ChannelHealth | None:
        """How the running daemon says a channel stands; `None` where none runs or it does not tell."""
        owner = self.owner
        if not isinstance(owner, AnsweringOwner) or owner.status.identity.kind is not OwnerKind.DAEMON:
            return None
        return next((one for one in owner.status.health.channels if one.name == channel), None)


def gather(path: Path, environ: Mapping[str, str]) -> Situation:
    """Look; nothing is created, and no secret is kept outside `loaded` and `environ`.

    Nothing is changed either, but that reading the private file of secrets closes it to other users.
    """
    home = Home(path=path)
    secrets_file = secrets_folder(path) / SECRETS_FILE
    secrets_mode = _mode(secrets_file)
    loaded: LoadedSettings | None = None
    problems: tuple[Problem, ...] = ()
    try:
        loaded = load_settings(path, environ, stores=StoresOf(path, environ))
    except ConfigError as exc:
        problems = exc.problems
    owner = find_owner(home)
    database, paused = look_at_database(home.ledger, in_use=not isinstance(owner, NoOwner))
    if database.trouble is not None and isinstance(owner, NoOwner):
        # A process that took the home meanwhile may have changed the file while it was read.
        owner = find_owner(home)
        if not isinstance(owner, NoOwner):
            database, paused = look_at_database(home.ledger, in_use=True)
    return Situation(
        home=home,
        environ=environ,
        loaded=loaded,
        problems=problems,
        secrets_file=secrets_file,
        secrets_mode=secrets_mode,
        owner=owner,
        database=database,
        paused=paused,
    )


def find_owner(home: Home) -> Owner:
    """Ask whoever listens how they stand; where nobody does, see whether the home's lock is held."""
    if not os.access(home.path, os.X_OK) and _may_be_there(home.path):
        return HiddenOwner(why="this user may not enter the home")
    try:
        with connect(home.path) as client:
            status = decode_status(client.call(Verb.STATUS, seconds=ANSWER_SECONDS))
            return AnsweringOwner(status=status, refused=_refused(client))
    except NoDaemon:
        return _by_lock(home.lock)
    except ClientError as exc:
        return SilentOwner(pid=_holder(home.lock), why=str(exc).rstrip("."))
    except Malformed as exc:
        return SilentOwner(pid=_holder(home.lock), why=f"its answer is not understood, {exc}".rstrip("."))


def _refused(client: ControlClient) -> tuple[RefusedSender, ...] | None:
    """Who was refused lately; an older owner does not tell."""
    try:
        return queries.refused(client, seconds=ANSWER_SECONDS)
    except ClientError:
        return None


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None


def _may_be_there(path: Path) -> bool:
    try:
        return path.exists()
    except PermissionError:
        return True


def _by_lock(lock: Path) -> Owner:
    """Shared and only for an instant, so that a start at the same time gets the lock at its next try."""
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return NoOwner()  # none yet, or nothing here may be read, which the home's row says
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return SilentOwner(pid=_holder(lock), why="nobody listens on its control socket")
    except OSError:
        return NoOwner()  # a file system without locks, on which no start succeeds
    finally:
        os.close(handle)
    return NoOwner()


def _holder(lock: Path) -> int | None:
    try:
        with lock.open("rb") as file:
            return int(json.loads(file.read(_MAX_LOCK_BYTES))["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
