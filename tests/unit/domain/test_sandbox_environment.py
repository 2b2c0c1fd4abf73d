"""What commands see of the environment, and which programs have a name."""

from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.sandbox_commands import CommandPreset, CommandProfile, CommandRules, OfferedCommand
from fermix.domain.sandbox_environment import (
    EnvironmentMode,
    EnvironmentRules,
    FromDaemon,
    FromProgram,
)

DAEMON = {"PATH": "/bin", "LC_ALL": "C", "OPENAI_API_KEY": "sk-planted", "TOKEN": "t", "bad name": "x"}
NAMES = st.sampled_from([*DAEMON, "ABSENT"])
RULES = st.builds(
    EnvironmentRules,
    mode=st.sampled_from(EnvironmentMode),
    allow=st.lists(NAMES, max_size=3).map(tuple),
    deny=st.lists(NAMES, max_size=3).map(tuple),
    sources=st.dictionaries(
        NAMES,
        st.one_of(st.builds(FromDaemon, name=NAMES), st.just(FromProgram(command="op"))),
        max_size=3,
    ),
)


def test_a_command_sees_the_ordinary_variables_and_nothing_else() -> None:
    plan = EnvironmentRules().plan(DAEMON)
    assert plan.values == {"PATH": "/bin", "LC_ALL": "C"}
    assert "planted" not in repr(plan)


def test_allowed_names_come_from_where_the_owner_said() -> None:
    rules = EnvironmentRules(
        allow=("TOKEN", "KEY", "SECRET", "ABSENT"),
        sources={"KEY": FromDaemon(name="OPENAI_API_KEY"), "SECRET": FromProgram(command="op")},
    )

    plan = rules.plan(DAEMON)

    assert plan.values == {"PATH": "/bin", "LC_ALL": "C", "TOKEN": "t", "KEY": "sk-planted"}
    assert plan.programs == {"SECRET": FromProgram(command="op")}
    assert plan.missing == ("ABSENT",)


@given(rules=RULES)
def test_a_denied_name_is_never_seen(rules: EnvironmentRules) -> None:
    plan = rules.plan(DAEMON)
    seen = {*plan.values, *plan.programs}

    assert seen.isdisjoint(rules.deny)
    assert "bad name" not in seen
    assert all(rules.shows(name) for name in seen)
    if rules.mode is EnvironmentMode.ALLOWLIST:
        assert seen <= {"PATH", "LC_ALL", *rules.allow}


def test_all_but_what_is_denied_is_seen_in_the_other_mode() -> None:
    rules = EnvironmentRules(mode=EnvironmentMode.ALL, deny=("OPENAI_API_KEY",))
    assert rules.plan(DAEMON).values == {"PATH": "/bin", "LC_ALL": "C", "TOKEN": "t"}


def test_own_programs_replace_those_of_a_preset_and_may_be_switched_off() -> None:
    own = {"git": OfferedCommand(command="/opt/git"), "make": OfferedCommand(command="make", enabled=False)}
    rules = CommandRules(profile=CommandProfile.BARE, presets=(CommandPreset.DEV_TOOLS,), own=own)

    assert {name: each.command for name, each in rules.offered().items()} == {"git": "/opt/git", "gh": "gh"}
    assert CommandRules().offered() == {}
    assert set(CommandRules(profile=CommandProfile.EXTENDED).offered()) == {
        "codex",
        "claude_code",
        "git",
        "gh",
        "make",
    }
