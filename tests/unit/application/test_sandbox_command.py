"""`/sandbox`, `/grant`, `/revoke`: what was typed, and what a chat is told."""

from dataclasses import replace
from pathlib import PurePath

import pytest

from fermix.application.commands.sandbox import (
    GRANT,
    REVOKE,
    SANDBOX,
    SANDBOX_USAGE,
    SandboxRequest,
    ShowRoots,
    ShowStatus,
    Wanted,
    WrongUsage,
    read_sandbox_command,
)
from fermix.domain import approval_wording, wording
from fermix.domain.authorization import Gate, Policies
from fermix.domain.commands import CommandSpec, ParsedCommand, parse_command
from fermix.domain.ids import UserId
from fermix.domain.sandbox import SandboxMode
from fermix.domain.sandbox_changes import (
    AllowVariable,
    DenyVariable,
    DisablePreset,
    EnablePreset,
    GrantPath,
    RevokePath,
    SetMode,
    SetProfile,
    SetVariable,
    UnsetVariable,
)
from fermix.domain.sandbox_commands import CommandPreset, CommandProfile
from tests.unit.application.house import TEST, allow, build, running
from tests.unit.application.scripted import ScriptedModel
from tests.unit.domain.test_sandbox import PROJECT, sandbox


def read(spec: CommandSpec, text: str) -> SandboxRequest:
    parsed = parse_command(text)
    assert isinstance(parsed, ParsedCommand)
    return read_sandbox_command(spec, parsed.arguments)


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("/sandbox", ShowStatus()),
        ("/sandbox status", ShowStatus()),
        ("/sandbox explain", ShowRoots()),
        ("/sandbox mode open", Wanted(change=SetMode(mode=SandboxMode.OPEN))),
        ("/sandbox env allow TOKEN", Wanted(change=AllowVariable(name="TOKEN"))),
        ("/sandbox env deny TOKEN", Wanted(change=DenyVariable(name="TOKEN"))),
        ("/sandbox env unset TOKEN", Wanted(change=UnsetVariable(name="TOKEN"))),
        (
            "/sandbox env set TOKEN -- op read x",
            Wanted(change=SetVariable(name="TOKEN", command="op", arguments=("read", "x"))),
        ),
        ("/sandbox env set TOKEN — op", Wanted(change=SetVariable(name="TOKEN", command="op"))),
        (
            "/sandbox commands profile extended",
            Wanted(change=SetProfile(profile=CommandProfile.EXTENDED)),
        ),
        ("/sandbox commands enable dev_tools", Wanted(change=EnablePreset(preset=CommandPreset.DEV_TOOLS))),
        ("/sandbox commands disable ai_tools", Wanted(change=DisablePreset(preset=CommandPreset.AI_TOOLS))),
    ],
)
def test_every_form_of_the_command_is_read(text: str, request_: SandboxRequest) -> None:
    assert read(SANDBOX, text) == request_


@pytest.mark.parametrize(
    "text",
    [
        "/sandbox open",
        "/sandbox mode",
        "/sandbox mode wide",
        "/sandbox mode open now",
        "/sandbox env",
        "/sandbox env allow",
        "/sandbox env set TOKEN op",
        "/sandbox env set TOKEN --",
        "/sandbox commands profile all",
        "/sandbox commands enable git",
        "/sandbox status now",
    ],
)
def test_anything_else_is_answered_with_the_usage(text: str) -> None:
    assert read(SANDBOX, text) == WrongUsage(text=SANDBOX_USAGE)


def test_a_path_may_have_spaces() -> None:
    path = PurePath("~/my notes")
    assert read(GRANT, "/grant path ~/my notes") == Wanted(change=GrantPath(path=path))
    assert read(REVOKE, "/revoke path ~/my notes") == Wanted(change=RevokePath(path=path))
    assert read(GRANT, "/grant ~/x") == WrongUsage(text="Use /grant path PATH")
    assert read(REVOKE, "/revoke path") == WrongUsage(text="Use /revoke path PATH")


def test_grant_and_revoke_are_for_the_operator_alone() -> None:
    assert (GRANT.gate, REVOKE.gate, SANDBOX.gate) == (
        Gate.STRICT_OPERATOR,
        Gate.STRICT_OPERATOR,
        Gate.OWNER_OR_ALLOWLIST,
    )


def with_sandbox(policies: Policies, *, trusted: tuple[str, ...] = ()) -> Policies:
    access = policies.channels[TEST]
    channels = {TEST: replace(access, command_allowlist=frozenset(map(UserId, trusted)))}
    return Policies(channels=channels, sandbox=sandbox(allowed=(PROJECT,)))


@pytest.mark.anyio
async def test_the_owner_is_told_how_the_sandbox_stands_and_no_model_is_asked() -> None:
    house = build(ScriptedModel([]))
    house.policies.policies = with_sandbox(allow())
    async with running(house):
        await house.write("/sandbox")
        await house.write("/sandbox explain", id="2")
        await house.write("/sandbox what", id="3")
        await house.write("/sandbox mode open", id="4")
        status, roots, usage, change = await house.channel.has_sent(4)

    assert status.startswith("Sandbox mode standard: ")
    assert f"Granted: {PROJECT}" in status
    assert f"- {PROJECT} (granted)" in roots
    assert usage == SANDBOX_USAGE
    assert change == approval_wording.NOT_HERE


@pytest.mark.anyio
async def test_a_guest_is_told_only_when_the_owner_put_them_on_the_list_for_commands() -> None:
    house = build(ScriptedModel([]))
    house.policies.policies = with_sandbox(allow(), trusted=("3003",))
    async with running(house):
        await house.write("/sandbox", sender_id="2002")
        refused = await house.channel.has_sent(1)
        await house.write("/sandbox", sender_id="3003", id="2")
        told = await house.channel.has_sent(2)

    assert refused == [wording.NEEDS_OWNER]
    assert told[1].startswith("Sandbox mode ")


@pytest.mark.anyio
async def test_where_nothing_can_be_reached_that_is_said() -> None:
    house = build(ScriptedModel([]))
    async with running(house):
        await house.write("/sandbox")
        assert await house.channel.has_sent(1) == [wording.NO_SANDBOX]
