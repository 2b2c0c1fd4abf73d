"""The sandbox in sentences, for its owner."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import assert_never

from fermix.domain.sandbox import (
    EffectiveRoot,
    IgnoredRoot,
    Reachable,
    RootProblem,
    RootSource,
    Sandbox,
    SandboxMode,
    SandboxRule,
    Unreachable,
    Verdict,
)
from fermix.domain.sandbox_changes import (
    AllowVariable,
    ChangeProblem,
    DenyVariable,
    DisablePreset,
    EnablePreset,
    GrantPath,
    RevokePath,
    SandboxChange,
    SandboxProposal,
    SetMode,
    SetProfile,
    SetVariable,
    UnsetVariable,
)
from fermix.domain.trust import Trust

_MODES = {
    SandboxMode.STRICT: "the workspace and what was granted",
    SandboxMode.STANDARD: "the workspace, what was granted, and the folder it is asked from",
    SandboxMode.OPEN: "the home folder but what is protected, and what was granted",
}

_SOURCES = {
    RootSource.WORKSPACE: "the workspace",
    RootSource.REQUEST_CWD: "the folder of the request",
    RootSource.LAUNCH_FOLDER: "the folder Fermix was started in",
    RootSource.GRANT: "granted",
    RootSource.USER_HOME: "the home folder, by the open mode",
}

_PROBLEMS = {
    ChangeProblem.BAD_PATH: "is no path that can be granted; write a whole one, on one line",
    ChangeProblem.MISSING: "does not exist",
    ChangeProblem.NOT_A_FOLDER: "is not a folder",
    ChangeProblem.FILESYSTEM_ROOT: "is the whole file system",
    ChangeProblem.USER_HOME: "is the whole home folder; grant a folder in it",
    ChangeProblem.HOLDS_USER_HOME: "holds the home folder",
    ChangeProblem.OWN_HOME: "lies in Fermix's own home, which stays closed",
    ChangeProblem.HOLDS_OWN_HOME: "holds Fermix's own home",
    ChangeProblem.PROTECTED: "is protected: it holds credentials or belongs to the system",
    ChangeProblem.BLOCKED: "is closed by blocked_roots, which wins over every grant",
    ChangeProblem.NOT_GRANTED: "is not granted",
    ChangeProblem.BAD_VARIABLE: "is no name of a variable",
    ChangeProblem.BAD_PROGRAM: "cannot be set from that program; write it on one line",
    ChangeProblem.OUTDATED: "The sandbox or the folder has changed since; ask once more",
    ChangeProblem.UNWRITABLE: "The configuration cannot be changed",
}

_ROOT_PROBLEMS = {
    RootProblem.OUTSIDE_USER_HOME: "lies outside the home folder",
    **{
        problem: _PROBLEMS[ChangeProblem(problem.value)]
        for problem in RootProblem
        if problem != "outside_user_home"
    },
}

_NAMES_SHOWN = 20


def mode_text(mode: SandboxMode) -> str:
    """What a mode opens, in one line."""
    return f"{mode.value}: {_MODES[mode]}"


def status_text(sandbox: Sandbox) -> str:
    """How the sandbox stands, in a few lines."""
    policy = sandbox.policy
    rows = [
        f"Sandbox mode {mode_text(policy.mode)}.",
        f"Workspace: {policy.workspace}",
        f"Granted: {_listed(map(str, policy.allowed))}",
    ]
    if policy.blocked:
        rows.append(f"Blocked: {_listed(map(str, policy.blocked))}")
    rows += [f"Not used: {ignored_text(each)}" for each in sandbox.ignored()]
    rows.append(f"Environment names: {_listed(policy.environment.allow)}")
    rows.append(f"Programs by name: {_listed(policy.commands.offered())}")
    return "\n".join(rows)


def roots_text(sandbox: Sandbox, *, trust: Trust | None, request_cwd: PurePath | None) -> str:
    """Every folder that a turn may reach, and why."""
    roots = sandbox.roots(trust=trust, request_cwd=request_cwd)
    lines = [f"- {root.path} ({_SOURCES[root.source]})" for root in roots] or ["- nothing"]
    return "\n".join([f"Sandbox mode {mode_text(sandbox.policy.mode)}.", "The agent may reach:", *lines])


def root_text(root: EffectiveRoot) -> str:
    """A root and why it is one."""
    return f"{root.path} ({_SOURCES[root.source]})"


def ignored_text(ignored: IgnoredRoot) -> str:
    """A folder that cannot be a root, and why."""
    return f"{ignored.root.path} {_ROOT_PROBLEMS[ignored.problem]}"


def verdict_text(path: PurePath, verdict: Verdict) -> str:
    """Which rule decided on a path."""
    match verdict:
        case Reachable():
            return f"{path} may be reached: it is in {root_text(verdict.root)}."
        case Unreachable(rule=SandboxRule.OUTSIDE):
            return f"{path} may not be reached: it is in no folder that the sandbox opens."
        case Unreachable(rule=SandboxRule.PROTECTED):
            return f"{path} may not be reached: {verdict.by} is protected in every mode."
        case Unreachable():
            return f"{path} may not be reached: {verdict.by} is closed by blocked_roots."
        case _:
            assert_never(verdict)


def change_text(change: SandboxChange) -> str:
    """What a change does, as one sentence."""
    match change:
        case GrantPath():
            text = f"Let the agent reach {change.path} and everything in it."
        case RevokePath():
            text = f"Take back the grant of {change.path}."
        case SetMode():
            text = f"Set the sandbox to {mode_text(change.mode)}."
        case SetProfile():
            text = f"Set the profile of commands to {change.profile.value}."
        case EnablePreset():
            text = f"Offer the programs of {change.preset.value}."
        case DisablePreset():
            text = f"Offer the programs of {change.preset.value} no longer."
        case AllowVariable() | SetVariable() | DenyVariable() | UnsetVariable():
            text = _variable_text(change)
        case _:
            assert_never(change)
    return text


def _variable_text(change: AllowVariable | SetVariable | DenyVariable | UnsetVariable) -> str:
    match change:
        case AllowVariable():
            return f"Show the variable {change.name} to the agent's commands."
        case SetVariable():
            program = " ".join((change.command, *change.arguments))
            return (
                f"Show the variable {change.name} to the agent's commands, with what this prints: {program}"
            )
        case DenyVariable():
            return f"Never show the variable {change.name} to the agent's commands."
        case UnsetVariable():
            return f"Show the variable {change.name} no longer to the agent's commands."
        case _:
            assert_never(change)


def proposal_text(proposal: SandboxProposal) -> str:
    """A proposal as its owner has to see it before deciding: what, why, and the lines of the configuration."""
    lines = [change_text(proposal.change)]
    if proposal.reason is not None:
        lines.append(f"Reason given: {' '.join(proposal.reason.split())}")
    lines += ["Change of config.toml:", *proposal.diff]
    return "\n".join(lines)


def done_text(proposal: SandboxProposal) -> str:
    """A change that was made."""
    if proposal.changes_nothing:
        return f"Nothing to change: {change_text(proposal.change)} The configuration says so already."
    return "\n".join([f"Done. {change_text(proposal.change)}", *proposal.diff])


def refusal_text(problem: ChangeProblem, *, subject: str = "", detail: str = "") -> str:
    """Why a change was refused."""
    if problem in {ChangeProblem.OUTDATED, ChangeProblem.UNWRITABLE}:
        return f"{_PROBLEMS[problem]}{f': {detail}' if detail else ''}."
    return f"{subject or 'That'} {_PROBLEMS[problem]}."


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - _NAMES_SHOWN} more" if len(found) > _NAMES_SHOWN else ""
    return ", ".join(found[:_NAMES_SHOWN]) + more if found else "none"
