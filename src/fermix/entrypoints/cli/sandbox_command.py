"""`fermix sandbox`, `fermix grant` and `fermix revoke`: what the agent may reach, and changing it."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

import click

from fermix.application.ports.sandbox import ChangeRefused
from fermix.domain.sandbox import IgnoredRoot, Reachable, Sandbox, SandboxMode, SandboxRule, Unreachable
from fermix.domain.sandbox_changes import (
    ChangeProblem,
    GrantPath,
    RevokePath,
    SandboxChange,
    SandboxProposal,
    SetMode,
)
from fermix.domain.sandbox_wording import (
    done_text,
    mode_text,
    refusal_text,
    status_text,
    verdict_text,
)
from fermix.domain.trust import Trust
from fermix.entrypoints.cli.command_failed import CommandFailed, write_document
from fermix.entrypoints.cli.config_failures import explained
from fermix.entrypoints.cli.home import home_folder
from fermix.entrypoints.cli.terminal import Terminal, this_terminal
from fermix.entrypoints.cli.terminal_text import visible
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket import queries
from fermix.infrastructure.local_socket.client import ClientError, connect
from fermix.infrastructure.sandbox.canonical import real_path, real_sandbox
from fermix.infrastructure.sandbox.editor import SandboxEditor
from fermix.infrastructure.sandbox.stated import sandbox_of
from fermix.infrastructure.settings.home import CONFIG_FILE, absolute_path, resolve_user_home
from fermix.infrastructure.settings.loading import load_settings
from fermix.infrastructure.system.home import open_home

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_UNDENIED = frozenset(
    {
        ChangeProblem.BAD_PATH,
        ChangeProblem.MISSING,
        ChangeProblem.NOT_A_FOLDER,
        ChangeProblem.NOT_GRANTED,
        ChangeProblem.OUTDATED,
        ChangeProblem.UNWRITABLE,
    }
)
"""Why a change can fail although no rule forbids it."""

_LAUNCH_FOLDER = (
    "a running daemon opens the folder it was started in too, if that is inside your home folder and the mode "
    "is not strict"
)


@click.group()
def sandbox() -> None:
    """Show or change what the agent may reach."""


@sandbox.command("status")
@_JSON
def status_command(*, as_json: bool) -> int:
    """Show the mode, the folders that are open, and what is offered to commands."""
    terminal = this_terminal()
    found = _sandbox(terminal)
    if as_json:
        write_document(terminal.out, {"ok": True, **_document(found)})
    else:
        terminal.out.write(visible(f"{status_text(found)}\n"))
    return ExitCode.OK


@sandbox.command("explain")
@click.argument("path")
@_JSON
def explain_command(*, path: str, as_json: bool) -> int:
    """Say whether the agent may reach PATH when you ask from the current folder, and which rule decides."""
    terminal = this_terminal()
    found = _sandbox(terminal)
    cwd = _here()
    asked = _absolute(path, cwd, terminal)
    verdict = found.judge(asked, trust=Trust.OPERATOR, request_cwd=None if cwd is None else real_path(cwd))
    if as_json:
        write_document(terminal.out, {"ok": True, "path": str(asked), **_verdict(verdict)})
        return ExitCode.OK
    terminal.out.write(visible(f"{verdict_text(asked, verdict)}\n"))
    if _may_be_launch_folder(verdict) and found.policy.mode is not SandboxMode.STRICT:
        terminal.err.write(f"fermix: {_LAUNCH_FOLDER}\n")
    return ExitCode.OK


@sandbox.command("mode")
@click.argument("mode", required=False, type=click.Choice([mode.value for mode in SandboxMode]))
@_JSON
def mode_command(*, mode: str | None, as_json: bool) -> int:
    """Show the mode, or set it to MODE."""
    terminal = this_terminal()
    if mode is not None:
        return _change(SetMode(mode=SandboxMode(mode)), terminal, as_json=as_json)
    found = _sandbox(terminal).policy.mode
    if as_json:
        write_document(terminal.out, {"ok": True, "mode": found.value})
    else:
        terminal.out.write(f"{mode_text(found)}\n")
    return ExitCode.OK


@click.group()
def grant() -> None:
    """Let the agent reach a folder."""


@grant.command("path")
@click.argument("path")
@_JSON
def grant_path_command(*, path: str, as_json: bool) -> int:
    """Let the agent reach the folder PATH and everything in it."""
    return _change(GrantPath(path=PurePath(path)), this_terminal(), as_json=as_json)


@click.group()
def revoke() -> None:
    """Take back a folder that the agent may reach."""


@revoke.command("path")
@click.argument("path")
@_JSON
def revoke_path_command(*, path: str, as_json: bool) -> int:
    """Take back the grant of the folder PATH, which need not exist any more."""
    return _change(RevokePath(path=PurePath(path)), this_terminal(), as_json=as_json)


def _may_be_launch_folder(verdict: Reachable | Unreachable) -> bool:
    return isinstance(verdict, Unreachable) and verdict.rule is SandboxRule.OUTSIDE


def _change(change: SandboxChange, terminal: Terminal, *, as_json: bool) -> int:
    home = home_folder(terminal.environ)
    with explained(home / CONFIG_FILE), _refusals():
        load_settings(home, terminal.environ)  # a broken file is told with its lines
        open_home(home)
        editor = SandboxEditor(
            home=home,
            user_home=resolve_user_home(terminal.environ),
            launch_folder=None,
            environ=terminal.environ,
        )
        done = editor.apply(editor.propose(change, base=_here()))
    within_seconds = not done.changes_nothing and _is_owned(home)
    if as_json:
        write_document(
            terminal.out,
            {
                "ok": True,
                **_change_document(done),
                "path": str(home / CONFIG_FILE),
                "applies": "within_seconds" if within_seconds else None,
            },
        )
        return ExitCode.OK
    terminal.out.write(visible(f"{done_text(done)}\n"))
    if within_seconds:
        terminal.err.write("fermix: what runs now takes it within seconds\n")
    return ExitCode.OK


@contextmanager
def _refusals() -> Generator[None]:
    try:
        yield
    except ChangeRefused as refused:
        is_denied = refused.problem not in _UNDENIED
        raise CommandFailed(
            refusal_text(refused.problem, subject=refused.subject, detail=refused.detail),
            code="denied" if is_denied else refused.problem.value,
            exit_code=ExitCode.DENIED if is_denied else ExitCode.FAILURE,
            facts={"problem": refused.problem.value},
        ) from refused


def _sandbox(terminal: Terminal) -> Sandbox:
    """The sandbox that the settings state, as a gateway of this home would have it."""
    home = home_folder(terminal.environ)
    with explained(home / CONFIG_FILE):
        settings = load_settings(home, terminal.environ).settings
    return real_sandbox(
        sandbox_of(settings.sandbox, home=home, user_home=settings.user_home, launch_folder=None)
    )


def _absolute(path: str, cwd: Path | None, terminal: Terminal) -> PurePath:
    user_home = resolve_user_home(terminal.environ)
    written = Path(path)
    if not path.strip() or "\0" in path or (cwd is None and not written.is_absolute()):
        raise CommandFailed(
            refusal_text(ChangeProblem.BAD_PATH, subject=path),
            code=ChangeProblem.BAD_PATH.value,
            exit_code=ExitCode.FAILURE,
        )
    return real_path(absolute_path(written, base=cwd or Path("/"), user_home=user_home))


def _here() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def _is_owned(home: Path) -> bool:
    """Whether a gateway runs that looks at the file from time to time."""
    try:
        with connect(home) as client:
            queries.identify(client)
    except ClientError:
        return False
    return True


def _document(found: Sandbox) -> dict[str, Any]:
    policy = found.policy
    return {
        "mode": policy.mode.value,
        "workspace": str(policy.workspace),
        "roots": [
            {"path": str(root.path), "source": root.source.value}
            for root in found.roots(trust=Trust.OPERATOR, request_cwd=None)
        ],
        "granted": _texts(policy.allowed),
        "blocked": _texts(policy.blocked),
        "ignored": [_ignored(each) for each in found.ignored()],
        "environment": {
            "mode": policy.environment.mode.value,
            "allow": list(policy.environment.allow),
            "deny": list(policy.environment.deny),
        },
        "commands": sorted(policy.commands.offered()),
    }


def _ignored(each: IgnoredRoot) -> dict[str, str]:
    return {"path": str(each.root.path), "source": each.root.source.value, "problem": each.problem.value}


def _verdict(verdict: Reachable | Unreachable) -> dict[str, Any]:
    if isinstance(verdict, Reachable):
        root = {"path": str(verdict.root.path), "source": verdict.root.source.value}
        return {"reachable": True, "root": root, "rule": None, "by": None}
    by = None if verdict.by is None else str(verdict.by)
    return {"reachable": False, "root": None, "rule": verdict.rule.value, "by": by}


def _change_document(done: SandboxProposal) -> dict[str, Any]:
    subject = done.change
    what = {"folder": str(subject.path)} if isinstance(subject, GrantPath | RevokePath) else {}
    return {"changed": not done.changes_nothing, "diff": list(done.diff), **what}


def _texts(paths: Iterable[PurePath]) -> list[str]:
    return [str(path) for path in paths]
