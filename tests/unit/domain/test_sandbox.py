"""Which paths a turn may reach, as rules over paths."""

from dataclasses import replace
from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.sandbox import (
    EffectiveRoot,
    Reachable,
    RootProblem,
    RootSource,
    Sandbox,
    SandboxGround,
    SandboxMode,
    SandboxPolicy,
    SandboxRule,
    Unreachable,
    is_within,
    protected_paths,
)
from fermix.domain.trust import Trust

USER = PurePath("/h/u")
HOME = USER / ".fermix"
WORKSPACE = HOME / "workspace"
PROJECT = USER / "a"


def sandbox(
    *,
    mode: SandboxMode = SandboxMode.STANDARD,
    allowed: tuple[PurePath, ...] = (),
    blocked: tuple[PurePath, ...] = (),
    launch: PurePath | None = None,
    workspace: PurePath = WORKSPACE,
) -> Sandbox:
    return Sandbox(
        policy=SandboxPolicy(mode=mode, workspace=workspace, allowed=allowed, blocked=blocked),
        ground=SandboxGround(
            user_home=USER,
            home=HOME,
            protected=protected_paths(user_home=USER, home=HOME),
            launch_folder=launch,
        ),
    )


NAMES = st.sampled_from(["h", "u", "a", "b", ".ssh", ".fermix", "workspace", "etc", ".config", "gh"])
BELOW = st.lists(NAMES, max_size=3)
PATHS = st.one_of(
    BELOW.map(lambda names: PurePath("/", *names)),
    BELOW.map(lambda names: USER.joinpath(*names)),
    BELOW.map(lambda names: WORKSPACE.joinpath(*names)),
)
FOLDERS = st.lists(PATHS, max_size=3).map(tuple)
TRUSTS = st.sampled_from([Trust.OPERATOR, Trust.GUEST, None])
SANDBOXES = st.builds(
    sandbox,
    mode=st.sampled_from(SandboxMode),
    allowed=FOLDERS,
    blocked=FOLDERS,
    launch=st.none() | PATHS,
    workspace=st.just(WORKSPACE) | PATHS,
)


def reaches(found: Sandbox, path: PurePath, trust: Trust | None, cwd: PurePath | None) -> bool:
    return isinstance(found.judge(path, trust=trust, request_cwd=cwd), Reachable)


@given(found=SANDBOXES, path=PATHS, trust=TRUSTS, cwd=st.none() | PATHS)
def test_what_is_blocked_or_protected_is_never_reached(
    found: Sandbox, path: PurePath, trust: Trust | None, cwd: PurePath | None
) -> None:
    if found.blocking(path) is not None or found.protecting(path) is not None:
        assert not reaches(found, path, trust, cwd)
    for root in found.roots(trust=trust, request_cwd=cwd):
        assert found.blocking(root.path) is None
        assert found.protecting(root.path) is None


@given(found=SANDBOXES, path=PATHS, trust=TRUSTS, cwd=st.none() | PATHS)
def test_each_mode_reaches_what_the_mode_before_it_reaches(
    found: Sandbox, path: PurePath, trust: Trust | None, cwd: PurePath | None
) -> None:
    strict, standard, wide = (
        reaches(replace(found, policy=replace(found.policy, mode=mode)), path, trust, cwd)
        for mode in (SandboxMode.STRICT, SandboxMode.STANDARD, SandboxMode.OPEN)
    )
    assert strict <= standard <= wide


@pytest.mark.requirement("jail.guest_roots")
@given(found=SANDBOXES, path=PATHS, trust=st.sampled_from([Trust.GUEST, None]), cwd=PATHS)
def test_a_guest_reaches_what_mode_and_grants_open_and_no_more(
    found: Sandbox, path: PurePath, trust: Trust | None, cwd: PurePath
) -> None:
    roots = found.roots(trust=trust, request_cwd=cwd)

    assert roots == found.roots(trust=Trust.OPERATOR, request_cwd=None)
    assert RootSource.REQUEST_CWD not in {root.source for root in roots}
    assert reaches(found, path, trust, cwd) <= reaches(found, path, Trust.OPERATOR, cwd)
    grants = {root.path for root in roots if root.source is RootSource.GRANT}
    assert grants <= set(found.policy.allowed)


@given(found=SANDBOXES, path=PATHS, trust=TRUSTS, cwd=st.none() | PATHS)
def test_blocking_more_never_admits_more(
    found: Sandbox, path: PurePath, trust: Trust | None, cwd: PurePath | None
) -> None:
    fewer = replace(found, policy=replace(found.policy, blocked=(*found.policy.blocked, USER / "b")))
    assert reaches(fewer, path, trust, cwd) <= reaches(found, path, trust, cwd)


@given(found=SANDBOXES, cwd=st.none() | PATHS, trust=TRUSTS)
def test_neither_the_file_system_nor_a_home_is_a_root_but_in_the_open_mode(
    found: Sandbox, cwd: PurePath | None, trust: Trust | None
) -> None:
    for root in found.roots(trust=trust, request_cwd=cwd):
        assert root.path != PurePath("/")
        assert not is_within(HOME, root.path) or root.source is RootSource.USER_HOME
        assert not is_within(USER, root.path) or (
            root.source is RootSource.USER_HOME and found.policy.mode is SandboxMode.OPEN
        )


def sources(
    found: Sandbox, *, trust: Trust | None = Trust.OPERATOR, cwd: PurePath | None = None
) -> list[str]:
    return [f"{root.path} {root.source}" for root in found.roots(trust=trust, request_cwd=cwd)]


def test_the_strict_mode_opens_workspace_and_grants() -> None:
    found = sandbox(mode=SandboxMode.STRICT, allowed=(PurePath("/srv/x"),), launch=USER / "b")
    assert sources(found, cwd=PROJECT) == [f"{WORKSPACE} workspace", "/srv/x grant"]


@pytest.mark.requirement("jail.request_cwd", "jail.guest_roots")
def test_the_standard_mode_opens_the_folder_of_the_request_and_of_the_start_too() -> None:
    found = sandbox(launch=USER / "b")
    assert sources(found, cwd=PROJECT) == [
        f"{WORKSPACE} workspace",
        f"{PROJECT} request_cwd",
        "/h/u/b launch_folder",
    ]
    assert sources(found, cwd=PROJECT, trust=Trust.GUEST) == [
        f"{WORKSPACE} workspace",
        "/h/u/b launch_folder",
    ]


@pytest.mark.parametrize(
    "cwd",
    [USER, USER.parent, PurePath("/"), PurePath("/srv"), HOME, HOME / "logs", WORKSPACE / "x", USER / ".ssh"],
)
def test_the_folder_of_a_request_lies_strictly_inside_the_home_and_holds_nothing_of_ours(
    cwd: PurePath,
) -> None:
    assert sources(sandbox(launch=cwd), cwd=cwd) == [f"{WORKSPACE} workspace"]


def test_the_open_mode_opens_the_home_but_what_is_protected() -> None:
    found = sandbox(mode=SandboxMode.OPEN, blocked=(USER / "b",))

    def judged(path: PurePath) -> object:
        return found.judge(path, trust=Trust.GUEST, request_cwd=None)

    home = EffectiveRoot(path=USER, source=RootSource.USER_HOME)
    assert judged(USER / "a" / "x") == Reachable(root=home)
    assert judged(WORKSPACE / "x") == Reachable(
        root=EffectiveRoot(path=WORKSPACE, source=RootSource.WORKSPACE)
    )
    assert judged(USER / ".ssh" / "id") == Unreachable(rule=SandboxRule.PROTECTED, by=USER / ".ssh")
    assert judged(HOME / "config.toml") == Unreachable(rule=SandboxRule.PROTECTED, by=HOME)
    assert judged(USER / "b" / "x") == Unreachable(rule=SandboxRule.BLOCKED, by=USER / "b")
    assert judged(PurePath("/srv")) == Unreachable(rule=SandboxRule.OUTSIDE)
    assert judged(PurePath("/etc/passwd")) == Unreachable(rule=SandboxRule.PROTECTED, by=PurePath("/etc"))


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (PurePath("/"), RootProblem.FILESYSTEM_ROOT),
        (USER, RootProblem.USER_HOME),
        (PurePath("/h"), RootProblem.HOLDS_USER_HOME),
        (HOME, RootProblem.OWN_HOME),
        (HOME / "logs", RootProblem.OWN_HOME),
        (USER / ".ssh", RootProblem.PROTECTED),
        (USER / ".ssh" / "deep", RootProblem.PROTECTED),
        (PurePath("/usr/share"), RootProblem.PROTECTED),
        (USER / "b" / "x", RootProblem.BLOCKED),
        (USER / "a", None),
        (USER / ".sshx", None),
        (WORKSPACE / "x", None),
        (PurePath("/srv"), None),
    ],
)
def test_what_can_be_granted(path: PurePath, problem: RootProblem | None) -> None:
    assert sandbox(blocked=(USER / "b",)).root_problem(path) is problem


def test_a_grant_that_the_file_should_not_have_is_not_used_and_named() -> None:
    found = sandbox(allowed=(USER, USER / "a", USER / ".aws"))

    assert sources(found) == [f"{WORKSPACE} workspace", "/h/u/a grant"]
    assert [(each.root.path, each.problem) for each in found.ignored()] == [
        (USER, RootProblem.USER_HOME),
        (USER / ".aws", RootProblem.PROTECTED),
    ]


def test_a_home_of_ours_in_a_protected_place_keeps_its_workspace() -> None:
    home = PurePath("/etc/fermix")
    found = Sandbox(
        policy=SandboxPolicy(mode=SandboxMode.STRICT, workspace=home / "workspace"),
        ground=SandboxGround(user_home=USER, home=home, protected=protected_paths(user_home=USER, home=home)),
    )
    assert reaches(found, home / "workspace" / "x", None, None)
    assert not reaches(found, home / "config.toml", None, None)
