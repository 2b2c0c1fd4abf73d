"""Keys by their dotted names: what they take, and what a wrong one was probably meant to be."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.settings.environment import VARIABLES
from fermix.infrastructure.settings.key_names import UnknownKey, ValueKind, find_key, nearest_keys, read_key
from fermix.infrastructure.settings.problems import dotted
from fermix.infrastructure.settings.value_text import key_text


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("fermix_web.port", ValueKind.WHOLE),
        ("fermix_core.agent.turn_timeout_seconds", ValueKind.NUMBER),
        ("fermix_core.agent.name", ValueKind.TEXT),
        ("fermix_core.secret_store", ValueKind.TEXT),
        ("fermix_core.providers.openai.api_key", ValueKind.SECRET),
        ('fermix_core.providers."my own".base_url', ValueKind.TEXT),
        ("fermix_core.providers.openai.vision", ValueKind.SWITCH),
        ("fermix_channels.telegram.owner_user_id", ValueKind.TEXT),
        ("fermix_channels.telegram.streaming", ValueKind.TEXT),
        ("sandbox.allowed_roots", ValueKind.LIST),
        ("sandbox.commands.git.args", ValueKind.LIST),
        ("mcp.servers.files.env", ValueKind.SECRETS),
        ("mcp.servers.files.env.TOKEN", ValueKind.SECRET),
        ("fermix_core.agent", ValueKind.SECTION),
        ("fermix_core.providers", ValueKind.SECTION),
        ("fermix_core.providers.openai", ValueKind.SECTION),
    ],
)
def test_a_key_says_what_its_value_is(key: str, kind: ValueKind) -> None:
    known = find_key(read_key(key))
    assert (known.kind, dotted(known.path)) == (kind, key)


def test_an_allowlist_is_found_under_its_other_name() -> None:
    assert find_key(read_key("fermix_channels.signal.allow_from")).path[-1] == "allowed_sender_ids"


@pytest.mark.parametrize("key", ["owner_user_id", "allowed_user_ids", "allow_from", "command_allowlist"])
def test_who_may_write_is_a_policy(key: str) -> None:
    assert find_key(("fermix_channels", "telegram", key)).is_policy


@pytest.mark.parametrize("key", ["mode", "allowed_roots", "blocked_roots", "env.allow", "commands.profile"])
def test_the_sandbox_is_a_policy(key: str) -> None:
    assert find_key(read_key(f"sandbox.{key}")).is_policy


@pytest.mark.parametrize("key", ["fermix_channels.telegram.enabled", "fermix_web.port", "mcp.servers.x.cwd"])
def test_everything_else_needs_a_restart(key: str) -> None:
    assert not find_key(read_key(key)).is_policy


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("fermix_web.prot", "fermix_web.port"),
        ("port", "fermix_web.port"),
        ("fermix_core.agent.max_iteration", "fermix_core.agent.max_iterations"),
        ("fermix_channels.telegam.owner_user_id", "fermix_channels.telegram.owner_user_id"),
        ("fermix_core.providers.openai.key", "fermix_core.providers.openai.api_key"),
        ("mcp.servers.files.comand", "mcp.servers.files.command"),
    ],
)
def test_a_wrong_key_gets_the_nearest_right_ones(wrong: str, nearest: str) -> None:
    with pytest.raises(UnknownKey) as caught:
        find_key(read_key(wrong))
    assert caught.value.nearest[0] == nearest
    assert nearest in str(caught.value)
    assert len(caught.value.nearest) <= 3


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("fermix_core.browser.headless", "belongs to a feature that this version does not have"),
        ("fermix_channels.slack.groups", "is not yet supported"),
        ("fermix_channels.defaults", "is not yet supported"),
        ("fermix_web.port.number", "is a value and has no keys"),
        ("fermix_core.override.provider", "is not a known key"),
        ("home", "is not a known key"),
    ],
)
def test_what_is_no_key_of_this_version_is_said_to_be_so(key: str, why: str) -> None:
    with pytest.raises(UnknownKey, match=why):
        find_key(read_key(key))


@pytest.mark.parametrize(
    "text", ["", " ", "a b", "a.", ".a", "a = 1 #", "a\nb", '"a', "[a]", "a..b", "a=1", '"\udcff"']
)
def test_what_toml_would_not_take_as_a_key_is_refused_by_name(text: str) -> None:
    with pytest.raises(UnknownKey, match=f"^'{re.escape(text)}' is not a key;"):
        read_key(text)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_a_written_key_reads_back(names: list[str]) -> None:
    assert read_key(key_text(tuple(names))) == tuple(names)


@given(st.lists(st.text(max_size=12), min_size=1, max_size=5))
def test_any_path_is_found_or_refused(names: list[str]) -> None:
    try:
        find_key(tuple(names))
    except UnknownKey:
        assert all(find_key(read_key(name)) for name in nearest_keys(tuple(names)) if "<name>" not in name)


KEYS = [each.path for each in VARIABLES if not {"override", "oauth_token"} & set(each.path)]


@pytest.mark.parametrize("path", KEYS)
def test_what_a_variable_sets_is_a_key(path: tuple[str, ...]) -> None:
    assert find_key(path).path == path
