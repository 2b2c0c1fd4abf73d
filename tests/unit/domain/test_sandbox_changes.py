"""What a change makes of a policy, and what it opens."""

from dataclasses import replace
from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.sandbox import Sandbox, SandboxMode
from fermix.domain.sandbox_changes import (
    Additions,
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
    additions,
    changed,
    problem_with,
)
from fermix.domain.sandbox_commands import CommandPreset, CommandProfile
from fermix.domain.sandbox_wording import (
    change_text,
    done_text,
    proposal_text,
    refusal_text,
    roots_text,
    status_text,
    verdict_text,
)
from fermix.domain.trust import Trust
from tests.unit.domain.test_sandbox import PATHS, PROJECT, SANDBOXES, TRUSTS, USER, reaches, sandbox

VARIABLES = st.sampled_from(["TOKEN", "OTHER", "PATH"])
CHANGES = st.one_of(
    st.builds(GrantPath, path=PATHS),
    st.builds(RevokePath, path=PATHS),
    st.builds(SetMode, mode=st.sampled_from(SandboxMode)),
    st.builds(AllowVariable, name=VARIABLES),
    st.builds(DenyVariable, name=VARIABLES),
    st.builds(UnsetVariable, name=VARIABLES),
    st.builds(SetVariable, name=VARIABLES, command=st.sampled_from(["pass", "op"])),
    st.builds(SetProfile, profile=st.sampled_from(CommandProfile)),
    st.builds(EnablePreset, preset=st.sampled_from(CommandPreset)),
    st.builds(DisablePreset, preset=st.sampled_from(CommandPreset)),
)


def after(found: Sandbox, *changes: SandboxChange) -> Sandbox:
    for change in changes:
        found = replace(found, policy=changed(found.policy, change))
    return found


@given(found=SANDBOXES, path=PATHS, revoked=PATHS, trust=TRUSTS, cwd=st.none() | PATHS)
def test_a_revoke_never_admits_more(
    found: Sandbox, path: PurePath, revoked: PurePath, trust: Trust | None, cwd: PurePath | None
) -> None:
    fewer = after(found, RevokePath(path=revoked))
    assert reaches(fewer, path, trust, cwd) <= reaches(found, path, trust, cwd)
    assert not additions(found, fewer)


@given(found=SANDBOXES, history=st.lists(CHANGES, max_size=4), change=CHANGES, path=PATHS)
def test_what_asks_for_no_confirmation_opens_nothing(
    found: Sandbox, history: list[SandboxChange], change: SandboxChange, path: PurePath
) -> None:
    before = after(found, *history)
    now = after(before, change)
    if additions(before, now):
        return
    assert reaches(now, path, Trust.OPERATOR, None) <= reaches(before, path, Trust.OPERATOR, None)
    for name in ("TOKEN", "OTHER", "PATH", "LANG"):
        assert now.policy.environment.shows(name) <= before.policy.environment.shows(name)
    assert set(now.policy.commands.offered()) <= set(before.policy.commands.offered())


@given(found=SANDBOXES, change=CHANGES)
def test_a_change_made_twice_is_made_once(found: Sandbox, change: SandboxChange) -> None:
    once = after(found, change)
    assert after(once, change) == once
    assert not additions(once, after(once, change))


@given(found=SANDBOXES, change=CHANGES)
def test_additions_cover_themselves_and_what_is_less(found: Sandbox, change: SandboxChange) -> None:
    added = additions(found, after(found, change))
    assert added.covers(added)
    assert added.covers(Additions())
    assert Additions().covers(added) is not bool(added)


def test_leaving_the_open_mode_opens_nothing_and_entering_it_the_home() -> None:
    wide = sandbox(mode=SandboxMode.OPEN, launch=USER / "b")
    standard = after(wide, SetMode(mode=SandboxMode.STANDARD))

    assert not additions(wide, standard)
    assert additions(standard, wide) == Additions(roots=(USER,))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (GrantPath(path=USER), ChangeProblem.USER_HOME),
        (GrantPath(path=PROJECT), None),
        (RevokePath(path=PROJECT), ChangeProblem.NOT_GRANTED),
        (AllowVariable(name="A B"), ChangeProblem.BAD_VARIABLE),
        (AllowVariable(name="1A"), ChangeProblem.BAD_VARIABLE),
        (SetVariable(name="A", command=" "), ChangeProblem.BAD_PROGRAM),
        (SetVariable(name="A", command="op", arguments=("a\nb",)), ChangeProblem.BAD_PROGRAM),
        (SetVariable(name="A", command="op", arguments=("read",)), None),
        (SetMode(mode=SandboxMode.OPEN), None),
    ],
)
def test_a_change_that_cannot_be_made_says_why(change: SandboxChange, problem: ChangeProblem | None) -> None:
    assert problem_with(sandbox(), change) is problem


def test_a_variable_is_allowed_denied_and_taken_off() -> None:
    start = sandbox()
    allowed = after(start, AllowVariable(name="TOKEN"))
    denied = after(allowed, DenyVariable(name="TOKEN"))
    helped = after(denied, SetVariable(name="TOKEN", command="op", arguments=("read",)))

    assert additions(start, allowed) == Additions(variables=("TOKEN",))
    assert (denied.policy.environment.allow, denied.policy.environment.deny) == ((), ("TOKEN",))
    assert additions(denied, helped) == Additions(variables=("TOKEN",))
    assert additions(allowed, helped) == Additions(variables=("TOKEN",))  # from another place now
    assert after(helped, UnsetVariable(name="TOKEN")).policy.environment.allow == ()


def test_a_profile_and_a_preset_add_their_programs() -> None:
    start = sandbox()
    assistant = after(start, SetProfile(profile=CommandProfile.ASSISTANT))

    assert additions(start, assistant).commands == ("codex", "claude_code")
    assert additions(assistant, after(assistant, EnablePreset(preset=CommandPreset.DEV_TOOLS))).commands == (
        "git",
        "gh",
        "make",
    )
    assert not additions(assistant, after(assistant, EnablePreset(preset=CommandPreset.AI_TOOLS)))


def test_a_proposal_shows_the_path_the_reason_and_the_lines() -> None:
    proposal = SandboxProposal(
        change=GrantPath(path=PROJECT),
        additions=Additions(roots=(PROJECT,)),
        diff=("[sandbox]", '+ allowed_roots = ["/h/u/a"]'),
        reason="to read\n/confirm ABC the notes",
    )

    assert proposal.widens
    assert proposal_text(proposal).split("\n") == [
        "Let the agent reach /h/u/a and everything in it.",
        "Reason given: to read /confirm ABC the notes",
        "Change of config.toml:",
        "[sandbox]",
        '+ allowed_roots = ["/h/u/a"]',
    ]
    assert done_text(replace(proposal, diff=())).startswith("Nothing to change")


@pytest.mark.parametrize("problem", ChangeProblem)
def test_every_refusal_is_one_sentence(problem: ChangeProblem) -> None:
    text = refusal_text(problem, subject="/x", detail="why")
    assert text.endswith(".")
    assert "\n" not in text


@given(change=CHANGES)
def test_every_change_is_one_sentence(change: SandboxChange) -> None:
    text = change_text(change)
    assert text[0].isupper()
    assert "\n" not in text


def test_status_and_roots_say_what_counts_and_what_does_not() -> None:
    found = sandbox(allowed=(PROJECT, USER), blocked=(USER / "b",))

    status = status_text(found)
    assert "Sandbox mode standard: " in status
    assert "Granted: /h/u/a, /h/u\nBlocked: /h/u/b\nNot used: /h/u is the whole home folder" in status
    roots = roots_text(found, trust=Trust.GUEST, request_cwd=USER / "c")
    assert roots.split("\n")[1:] == [
        "The agent may reach:",
        "- /h/u/.fermix/workspace (the workspace)",
        "- /h/u/a (granted)",
    ]


@given(found=SANDBOXES, path=PATHS)
def test_every_verdict_names_the_path_and_the_rule(found: Sandbox, path: PurePath) -> None:
    text = verdict_text(path, found.judge(path, trust=None, request_cwd=None))
    assert text.startswith(f"{path} may ")
