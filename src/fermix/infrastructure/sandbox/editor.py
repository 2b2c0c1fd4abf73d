"""Changing the sandbox in the configuration file: looked at first, then written, and only what was looked at."""

import os
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from pydantic import ValidationError

from fermix.application.ports.sandbox import ChangeRefused
from fermix.domain.sandbox import Sandbox
from fermix.domain.sandbox_changes import (
    ChangeProblem,
    GrantPath,
    RevokePath,
    SandboxChange,
    SandboxProposal,
    additions,
    changed,
    problem_with,
)
from fermix.infrastructure.sandbox.canonical import real_path, real_sandbox
from fermix.infrastructure.sandbox.closed import closed_by
from fermix.infrastructure.sandbox.key_edits import diff_of, edited, key_edits
from fermix.infrastructure.sandbox.stated import sandbox_of
from fermix.infrastructure.settings.config_file import ConfigFile, read_config_file
from fermix.infrastructure.settings.document_edit import EditRefused
from fermix.infrastructure.settings.editing import FileBusy, edit_config
from fermix.infrastructure.settings.home import CONFIG_FILE, absolute_path
from fermix.infrastructure.settings.problems import ConfigError
from fermix.infrastructure.settings.sandbox import SandboxSettings


class SandboxEditor:
    """Proposes and makes changes. Every method blocks; none looks at a running gateway.

    Args in common:
        home: absolute.
        user_home: what `~` stands for.
        launch_folder: where the gateway was started, if this process is one.
        environ: the environment; only where the person's home is counts.
    """

    def __init__(
        self,
        *,
        home: Path,
        user_home: Path,
        launch_folder: PurePath | None,
        environ: Mapping[str, str],
    ) -> None:
        self._home = home
        self._user_home = user_home
        self._launch_folder = launch_folder
        self._environ = environ

    def propose(
        self, change: SandboxChange, *, base: PurePath | None = None, reason: str | None = None
    ) -> SandboxProposal:
        """Check a change against the file as it stands.

        Raises:
            ChangeRefused: it cannot be made.
        """
        try:
            file = read_config_file(self._home / CONFIG_FILE)
        except ConfigError as exc:
            raise ChangeRefused(ChangeProblem.UNWRITABLE, detail=str(exc)) from exc
        match change:
            case GrantPath():
                change = replace(change, path=self._folder(change.path, base))
            case RevokePath():
                change = replace(change, path=self._maybe_gone(change.path, base))
        return replace(self._checked(change, file), reason=reason)

    def apply(self, proposal: SandboxProposal) -> SandboxProposal:
        """Write a proposed change into the file.

        Returns:
            The proposal with the diff that it took in the file as it was by now.

        Raises:
            ChangeRefused: it was not made; `OUTDATED` where it would open more by now, or another folder.
        """
        change = proposal.change
        done = proposal
        if isinstance(change, GrantPath) and self._folder(change.path, None) != change.path:
            raise ChangeRefused(ChangeProblem.OUTDATED, str(change.path))

        def edit(text: str, file: ConfigFile) -> str:
            nonlocal done
            again = self._checked(change, file)
            if not proposal.additions.covers(again.additions):
                raise ChangeRefused(ChangeProblem.OUTDATED)
            done = replace(again, reason=proposal.reason)
            return edited(text, key_edits(change, file.table, is_at=self._is_at))

        try:
            edit_config(self._home, edit, environ=self._environ)
        except (ConfigError, EditRefused, FileBusy) as exc:
            raise ChangeRefused(ChangeProblem.UNWRITABLE, detail=str(exc)) from exc
        except OSError as exc:
            detail = f"{self._home / CONFIG_FILE}: {(exc.strerror or 'unknown error').lower()}"
            raise ChangeRefused(ChangeProblem.UNWRITABLE, detail=detail) from exc
        return done

    def _checked(self, change: SandboxChange, file: ConfigFile) -> SandboxProposal:
        stated = self._stated(file)
        before = real_sandbox(stated)
        problem = problem_with(before, change) or self._problem_on_disk(change, before)
        if problem is not None:
            raise ChangeRefused(problem, _subject(change))
        after = Sandbox(policy=changed(before.policy, change), ground=before.ground)
        return SandboxProposal(
            change=change,
            additions=additions(before, after),
            diff=diff_of(key_edits(change, file.table, is_at=self._is_at)),
        )

    def _stated(self, file: ConfigFile) -> Sandbox:
        table: Any = file.table.get("sandbox", {})
        try:
            settings = SandboxSettings.model_validate(table)
        except ValidationError:
            settings = None
        if settings is None:  # raised here, so that no traceback reaches the values
            detail = f"{file.path}: [sandbox] is not valid; `fermix config validate` says why"
            raise ChangeRefused(ChangeProblem.UNWRITABLE, detail=detail)
        return sandbox_of(
            settings, home=self._home, user_home=self._user_home, launch_folder=self._launch_folder
        )

    def _problem_on_disk(self, change: SandboxChange, sandbox: Sandbox) -> ChangeProblem | None:
        """Look at what the folders are, for one that is mounted or linked in a second place."""
        if not isinstance(change, GrantPath):
            return None
        problem = closed_by(sandbox).around(change.path)
        return None if problem is None else ChangeProblem(problem.value)

    def _folder(self, path: PurePath, base: PurePath | None) -> PurePath:
        """The canonical path of a folder that is there."""
        asked = self._absolute(path, base)
        try:
            real = real_path(asked, must_exist=True)
            is_folder = stat.S_ISDIR(os.stat(real).st_mode)  # noqa: PTH116 - a pure path
        except FileNotFoundError as exc:
            raise ChangeRefused(ChangeProblem.MISSING, str(path)) from exc
        except NotADirectoryError as exc:
            raise ChangeRefused(ChangeProblem.NOT_A_FOLDER, str(path)) from exc
        except (OSError, ValueError) as exc:
            raise ChangeRefused(ChangeProblem.BAD_PATH, str(path)) from exc
        if not is_folder:
            raise ChangeRefused(ChangeProblem.NOT_A_FOLDER, str(path))
        if not fits_on_a_line(real):
            raise ChangeRefused(ChangeProblem.BAD_PATH, str(path))
        return real

    def _maybe_gone(self, path: PurePath, base: PurePath | None) -> PurePath:
        """The canonical path of a folder that need not be there any more."""
        asked = self._absolute(path, base)
        try:
            return real_path(asked)
        except ValueError as exc:
            raise ChangeRefused(ChangeProblem.BAD_PATH, str(path)) from exc

    def _absolute(self, path: PurePath, base: PurePath | None) -> PurePath:
        if not str(path).strip() or "\0" in str(path):
            raise ChangeRefused(ChangeProblem.BAD_PATH, str(path))
        if path.parts[:1] == ("~",):
            return self._user_home.joinpath(*path.parts[1:])
        if not path.is_absolute() and base is None:
            raise ChangeRefused(ChangeProblem.BAD_PATH, str(path))
        return path if base is None else base / path

    def _is_at(self, entry: str, path: PurePath) -> bool:
        written = absolute_path(Path(entry.strip()), base=self._home, user_home=self._user_home)
        return real_path(written) == path


def fits_on_a_line(path: PurePath) -> bool:
    """Whether a path stays what it is in the configuration and in one line of a message."""
    text = str(path)
    return text == text.strip() and text.isprintable()


def _subject(change: SandboxChange) -> str:
    match change:
        case GrantPath() | RevokePath():
            return str(change.path)
        case _:
            return str(getattr(change, "name", ""))
