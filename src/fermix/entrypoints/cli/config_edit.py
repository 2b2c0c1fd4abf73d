"""`fermix config set`: one key changed, and what its owner should know about it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fermix.application.ports.control import OwnerKind
from fermix.entrypoints.cli.config_secret import change_stored, forget_stored, sentinel_of
from fermix.infrastructure.local_socket import queries
from fermix.infrastructure.local_socket.client import ClientError, connect
from fermix.infrastructure.settings.advice import nobody_may_write, odd_ids, provider_trouble
from fermix.infrastructure.settings.channels import ALLOWLIST_ALIAS, Channels
from fermix.infrastructure.settings.config_file import ConfigFile
from fermix.infrastructure.settings.document_edit import with_value, without_key
from fermix.infrastructure.settings.editing import Saved, edit_config
from fermix.infrastructure.settings.environment import read_environment
from fermix.infrastructure.settings.home import CONFIG_FILE
from fermix.infrastructure.settings.key_names import (
    KnownKey,
    NamePath,
    UnknownKey,
    ValueKind,
    find_key,
    read_key,
)
from fermix.infrastructure.settings.loading import LoadedSettings
from fermix.infrastructure.settings.problems import ConfigError, Problem, dotted
from fermix.infrastructure.settings.stored import sentinel_in
from fermix.infrastructure.settings.value_text import UnreadableValue, read_value
from fermix.infrastructure.system.home import open_home


class SetRequest(NamedTuple):
    """What is to be changed.

    Attributes:
        key: as it was typed.
        text: the value as it was typed; `None`: take the key out.
        on_command_line: whether the value stood there, where other users can see it.
    """

    key: str
    text: str | None
    on_command_line: bool


class SetDone(NamedTuple):
    """What was changed.

    Attributes:
        applies: when a running daemon takes it: `within_seconds`, `after_restart`; `None`: none runs.
        notes: one line each, about what is valid and probably not meant.
        kept_in: the store that was changed instead of the file, in words.
    """

    key: str
    path: Path
    changed: bool
    applies: str | None
    notes: tuple[str, ...]
    was_unset: bool
    kept_in: str | None = None

    @property
    def sentence(self) -> str:
        """For a person."""
        if not self.changed:
            state = "is not set there" if self.was_unset else "has that value already"
            return f"{self.path}: {self.key} {state}"
        what = "was removed" if self.was_unset else "is set"
        if self.kept_in is not None:
            what = f"is set, in {self.kept_in}"
        when = {
            "within_seconds": "; the daemon takes it within seconds",
            "after_restart": "; restart the daemon to apply it",
            None: "",
        }[self.applies]
        return f"{self.path}: {self.key} {what}{when}"

    def document(self) -> Mapping[str, Any]:
        """For a program."""
        return {
            "path": str(self.path),
            "key": self.key,
            "changed": self.changed,
            "applies": self.applies,
            "notes": list(self.notes),
            **({} if self.kept_in is None else {"kept_in": self.kept_in}),
        }


def run_set(request: SetRequest, *, home: Path, environ: Mapping[str, str]) -> SetDone:
    """Change the file.

    Raises:
        ConfigError: the value is of the wrong kind, or the file is broken or would be.
        SecretStoreError: the secret is kept in a store, which did not take the new one.
        UnknownKey, EditRefused, FileBusy, HomeUnusable, OSError: see there.
    """
    path = read_key(request.key)
    known = _known(path, removing=request.text is None)
    value = None if request.text is None or known is None else _value(known, request.text)
    sentinel = sentinel_of(known, home)
    if sentinel is not None and known is not None and value is not None and sentinel_in(value) is None:
        return _set_in_store(request, known, sentinel, home=home, environ=environ)

    def edit(text: str, file: ConfigFile) -> str:
        place = path if known is None else _written_path(known, file)
        if request.text is not None:
            return with_value(text, place, value)
        if known is None and not _is_there(file.table, path):
            find_key(path)  # raises: it is neither known nor there
        return without_key(text, place)

    open_home(home)
    saved = edit_config(home, edit, environ=environ)
    notes = [*_notes(request, known, saved, environ)]
    if sentinel is not None and known is not None and request.text is None:
        profile = saved.settings.settings.core.profile
        left = forget_stored(known, profile=profile, home=home, environ=environ)
        notes.extend([] if left is None else [left])
    return SetDone(
        key=dotted(path if known is None else known.path),
        path=saved.path,
        changed=saved.changed,
        applies=_applies(home, known) if saved.changed else None,
        notes=tuple(notes),
        was_unset=request.text is None,
    )


def _set_in_store(
    request: SetRequest, known: KnownKey, sentinel: str, *, home: Path, environ: Mapping[str, str]
) -> SetDone:
    """The file keeps pointing at the store, and the store has the new secret."""
    open_home(home)
    place = change_stored(known, request.text or "", sentinel=sentinel, home=home, environ=environ)
    return SetDone(
        key=dotted(known.path),
        path=home / CONFIG_FILE,
        changed=True,
        applies=_applies(home, known),
        notes=tuple(_notes_on_secret(request, known, environ)),
        was_unset=False,
        kept_in=place,
    )


def _known(path: NamePath, *, removing: bool) -> KnownKey | None:
    try:
        return find_key(path)
    except UnknownKey:
        if removing:
            return None  # what should not be in the file may be taken out of it
        raise


def _value(known: KnownKey, text: str) -> Any:
    problem: Problem
    try:
        return read_value(known.kind, text)
    except UnreadableValue as error:
        problem = Problem(source="command line", key=dotted(known.path), text=str(error))
    raise ConfigError([problem])


def _written_path(known: KnownKey, file: ConfigFile) -> NamePath:
    """The key as the file has it, where an allowlist may stand under its other name."""
    match known.path:
        case ("fermix_channels", channel, _) if known.kind is ValueKind.LIST:
            other = ("fermix_channels", channel, ALLOWLIST_ALIAS)
            is_allowlist = known.path == find_key(other).path
            if is_allowlist and _is_there(file.table, other):
                return other
    return known.path


def _is_there(table: Mapping[str, Any], path: NamePath) -> bool:
    inner: Any = table
    for name in path:
        if not isinstance(inner, Mapping) or name not in inner:
            return False
        inner = inner[name]
    return True


def _applies(home: Path, known: KnownKey | None) -> str | None:
    try:
        with connect(home) as client:
            kind = queries.identify(client).kind
    except ClientError:
        return None
    if kind is not OwnerKind.DAEMON:
        return None
    return "within_seconds" if known is not None and known.is_policy else "after_restart"


def _notes(
    request: SetRequest, known: KnownKey | None, saved: Saved, environ: Mapping[str, str]
) -> Iterator[str]:
    if known is None:
        return
    yield from _notes_on_secret(request, known, environ)
    yield from _second_thoughts(known.path, saved.settings)


def _notes_on_secret(request: SetRequest, known: KnownKey, environ: Mapping[str, str]) -> Iterator[str]:
    is_secret = known.kind in {ValueKind.SECRET, ValueKind.SECRETS}
    if is_secret and request.text is not None and request.on_command_line:
        yield (
            "other users could see that secret among the running commands; with - in its place it is read "
            "from standard input"
        )
    variable = read_environment(environ).origins.get(known.path)
    if variable is not None:
        yield f"{variable} is set in this environment and wins over the file"


def _second_thoughts(path: NamePath, loaded: LoadedSettings) -> Iterator[str]:
    settings = loaded.settings
    match path:
        case ("fermix_channels", name, *_):
            channels: Channels = settings.channels
            channel = channels.by_name()[name]
            yield from odd_ids(name, channel)
            yield from nobody_may_write(name, channel)
        case ("fermix_core", "providers", *_) if not any(each.key[:2] == path[:2] for each in loaded.stored):
            # Secrets are not read for an edit, so that with one of them nobody knows here who could answer.
            yield from provider_trouble(settings)
