import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from fermix.infrastructure.settings.keys import entries_of, keys_of, section_of
from fermix.infrastructure.settings.loading import load_settings
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.nearest import nearest_name
from fermix.infrastructure.settings.problems import ConfigError, Problem, dotted
from tests.unit.infrastructure.settings.conftest import Load, Problems

EVERYTHING = """
[fermix_core]
profile = "work"
secret_store = "file"
[fermix_core.agent]
name = "Fer"
turn_timeout_seconds = 60.5
provider = "openai"
[fermix_core.personalization]
user_name = "Ada"
timezone = "Europe/Zurich"
communication_style = '''
Short.
Dry.'''
[fermix_core.providers.openai]
primary = true
default_model = "gpt-x"
auth_mode = "api_key"
api_key = "sk-1"
base_url = "https://h.example/v1/"
reasoning_effort = "xhigh"
wire = "chat_completions"
context_window = 1000
vision = false
timeout_seconds = 5
[fermix_core.providers.openai_codex]
fast = true
auth_mode = "oauth"
[fermix_core.providers."my.server"]
base_url = "http://127.0.0.1:8080/v1"
[fermix_core.providers.local]
model_path = "~/m.gguf"
[fermix_core.routing]
subagent_model = "m"
cron_provider = "my.server"
[fermix_core.compaction]
threshold = 1
[fermix_core.transcription]
backend = "deepgram"
deepgram_api_key = "k"
[fermix_core.memory]
review_interval_hours = 0
[fermix_core.jobs]
default_delivery_mode = "channel"
default_delivery_target = { platform = "telegram", chat_id = 42 }
[fermix_core.queue]
max_waiting = 5
drain_seconds = 0
[fermix_core.budget]
daily_tokens = 10
[fermix_core.tools.web_search]
backend = "brave"
brave_api_key = "b"
[fermix_core.tools.generate_image]
size = "1024x1024"
[fermix_core.telemetry.opik]
enabled = true
[fermix_core.computer_use]
courtesy = "off"
[fermix_web]
bind = "::1"
[sandbox]
mode = "open"
allowed_roots = ["~/code", "/srv"]
[sandbox.env]
mode = "selected"
allow = ["A"]
[sandbox.env.TOKEN]
source = "command"
command = "pass"
args = ["show", "token"]
[sandbox.commands]
presets = ["dev_tools"]
[sandbox.commands.deploy]
command = "/usr/bin/deploy"
pass_env = ["TOKEN"]
[mcp.servers.files]
command = "mcp-files"
env = { KEY = "hush" }
[fermix_channels.telegram]
enabled = false
bot_token = "1:a"
[fermix_channels.slack]
enabled = true
mode = "webhook"
streaming = "block"
"""


def test_a_file_that_uses_every_section_is_read(load: Load) -> None:
    loaded = load(EVERYTHING)
    found = loaded.settings
    assert loaded.warnings == ()
    assert found.core.agent.turn_timeout_seconds == 60.5
    assert found.core.personalization.communication_style == "Short.\nDry."
    assert found.core.providers["openai"].base_url == "https://h.example/v1"
    assert found.core.providers["my.server"].base_url == "http://127.0.0.1:8080/v1"
    assert found.core.jobs.default_delivery_target is not None
    assert found.core.jobs.default_delivery_target.chat_id == "42"
    assert found.sandbox.env.mode == "allowlist"
    assert found.sandbox.env.variables["TOKEN"].args == ("show", "token")
    assert found.sandbox.commands.commands["deploy"].timeout_ms == 30_000
    assert found.mcp.servers["files"].env["KEY"].get_secret_value() == "hush"
    assert [str(found.absolute(path)) for path in found.sandbox.allowed_roots] == ["/people/ada/code", "/srv"]
    assert found.workspace == found.home / "workspace"


def test_defaults_are_those_of_the_design(load: Load) -> None:
    found = load().settings
    assert (found.core.agent.turn_timeout_seconds, found.core.agent.max_concurrent_turns) == (900, 16)
    assert found.core.agent.max_iterations == 100
    queue = found.core.queue
    assert (queue.max_waiting_per_conversation, queue.max_waiting, queue.drain_seconds) == (200, 2000, 20)
    assert (queue.keep_sent_days, queue.keep_keys_days) == (7, 30)
    assert (found.web.port, found.web.bind) == (4030, "127.0.0.1")
    assert (found.core.compaction.enabled, found.core.compaction.threshold) == (True, 0.85)
    assert found.core.transcription.max_file_mb == 20
    enabled = {name: channel.enabled for name, channel in found.channels.by_name().items()}
    assert enabled == {"telegram": True, "whatsapp": False, "slack": False, "discord": False, "signal": False}


def test_settings_never_change(load: Load) -> None:
    with pytest.raises(ValueError, match="frozen"):
        load().settings.core.agent.name = "other"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[fermix_cor]", '1: fermix_cor: is not a known key; did you mean "fermix_core"?'),
        ("[telegram]\n", '1: telegram: is not a known key; did you mean "fermix_channels.telegram"?'),
        ("[fermix_core]\nhome = 1", "2: fermix_core.home: is not a known key"),
        ("home = '/x'\nuser_home = '/y'", "1: home: is not a known key"),
        ("layers = []", "1: layers: is not a known key"),
        ("core = 1", '1: core: is not a known key; did you mean "fermix_core"?'),
        (
            "[fermix_core.providers.openai]\nmodel = 'x'",
            '2: fermix_core.providers.openai.model: is not a known key; did you mean "default_model"?',
        ),
        (
            "[fermix_core.providers.anthropic]\noauth_token = 'x'",
            "2: fermix_core.providers.anthropic.oauth_token: is not a known key",
        ),
        (
            "[fermix_channels.telegram]\nenabled = true\nallowed_sender_ids = []",
            '3: fermix_channels.telegram.allowed_sender_ids: is not a known key; did you mean "allowed_user_ids"?',
        ),
        (
            "fermix_channels = { telegram = { tokn = 1 } }",
            '1: fermix_channels.telegram.tokn: is not a known key; did you mean "bot_token"?',
        ),
        (
            "\n[fermix_channels]\ntelegram . 'bot tokn' = 1",
            '3: fermix_channels.telegram."bot tokn": is not a known key; did you mean "bot_token"?',
        ),
        ("[fermix_channels.matrix]\n", "1: fermix_channels.matrix: is not a known channel"),
        (
            "[fermix_channels.telegrm]\n",
            '1: fermix_channels.telegrm: is not a known channel; did you mean "telegram"?',
        ),
        ("[sandbox.env]\nalow = []", '2: sandbox.env.alow: is not a known key; did you mean "allow"?'),
        ("[[sandbox.commands.x]]\ncommand = 'a'", "1: sandbox.commands.x: is not a known key"),
        ("[fermix_core]\ntimezone = 'x'", 'did you mean "fermix_core.personalization.timezone"?'),
    ],
)
def test_an_unknown_key_is_named_with_its_line_and_the_nearest_right_one(
    problems: Problems, text: str, line: str
) -> None:
    found = problems(text)
    assert any(line in problem for problem in found), found


@pytest.mark.parametrize(
    ("section", "pair", "text"),
    [
        ("fermix_core", "profile = 'a/b'", "does not have the right form"),
        ("fermix_core", "agent = 5", "must be a table"),
        ("fermix_core", "providers = 5", "must be a table"),
        ("fermix_core.providers", "openai = 'sk-1'", "must be a table"),
        ("fermix_core.agent", "max_iterations = '5'", "must be a whole number"),
        ("fermix_core.agent", "max_iterations = true", "must be a whole number"),
        ("fermix_core.agent", "max_iterations = 1.0", "must be a whole number"),
        ("fermix_core.agent", "max_iterations = 0", "must be at least 1"),
        ("fermix_core.agent", "turn_timeout_seconds = 0", "must be greater than 0"),
        ("fermix_core.agent", "turn_timeout_seconds = inf", "must be an ordinary number"),
        ("fermix_core.agent", "turn_timeout_seconds = nan", "must be an ordinary number"),
        ("fermix_core.agent", "name = 5", "must be a text in quotes"),
        ("fermix_core.agent", r"name = 'a\nb'".replace("'", '"'), "does not have the right form"),
        ("fermix_core.personalization", "timezone = 'Mars/Base'", "must be the name of a time zone such as"),
        ("fermix_core.personalization", "timezone = 'Europe'", "must be the name of a time zone such as"),
        (
            "fermix_core.personalization",
            "timezone = '../../etc/passwd'",
            "must be the name of a time zone such as",
        ),
        ("fermix_core.providers.openai", "wire = 'grpc'", 'must be one of "responses", "chat_completions"'),
        (
            "fermix_core.providers.openai",
            "base_url = 'h:80'",
            "must be a whole address that begins with http://",
        ),
        (
            "fermix_core.providers.openai",
            "base_url = 'http://'",
            "must be a whole address that begins with http://",
        ),
        (
            "fermix_core.providers.openai",
            "base_url = 'http://h:x'",
            "must be a whole address that begins with",
        ),
        (
            "fermix_core.providers.openai",
            "base_url = 'http://h:70000'",
            "must be a whole address that begins with",
        ),
        (
            "fermix_core.providers.openai",
            "base_url = 'http://u:p@h'",
            "must not contain a user name or password",
        ),
        (
            "fermix_core.providers.openai",
            "base_url = 'http://h/?a=1'",
            "must not contain a query or a fragment",
        ),
        (
            "fermix_core.providers.openai",
            "base_url = 'http://h/ä'",
            "has a space or a character outside ASCII",
        ),
        ("fermix_core.providers.openai", "base_url = 1", "must be an address in quotes"),
        ("fermix_core.providers.openai", "api_key = 1", "must be a text in quotes"),
        (
            "fermix_core.providers.openai",
            "api_key = 'sk “1”'",
            "has a space or a character outside ASCII inside",
        ),
        ("fermix_core.providers.openai", "context_window = 1", "must be at least 256"),
        ("fermix_core.providers.openai", "model_path = 'x'", "is only for the provider named local"),
        ("fermix_core.providers.local", "api_key = 'x'", "has no meaning for the provider named local"),
        ("fermix_core.providers.local", "model_path = 1", "must be a path in quotes"),
        (
            "fermix_core.providers.local",
            r"model_path = 'a\u0000'".replace("'", '"'),
            "must not contain a NUL",
        ),
        ("fermix_core.providers.mistral", "reasoning_effort = 'low'", "is not supported by mistral"),
        ("fermix_core.routing", "cron_provider = 'x'", "names a provider that is not there"),
        ("fermix_core.compaction", "threshold = 0", "must be greater than 0"),
        ("fermix_core.compaction", "threshold = 1.5", "must be at most 1"),
        ("fermix_core.memory", "loop_detection_kill = 2", "loop_detection_kill must not be less than"),
        ("fermix_core.queue", "max_waiting = 0", "must be at least 1"),
        ("fermix_core.queue", "drain_seconds = -1", "must be at least 0"),
        ("fermix_core.tools.generate_image", "size = 'big'", "does not have the right form"),
        ("fermix_core.tools.web_search", "backend = 'brav'", 'did you mean "brave"?'),
        ("fermix_web", "port = -1", "must be at least 0"),
        ("fermix_web", "port = 65536", "must be at most 65535"),
        ("fermix_web", "bind = 'example.com'", "must be an address of this machine"),
        ("sandbox", "allowed_roots = '/srv'", "must be a list, in square brackets"),
        ("sandbox", "mode = 'strikt'", 'did you mean "strict"?'),
        ("sandbox.commands", "presets = ['all']", "may name ai_tools and dev_tools only"),
        ("sandbox.env.A", "source = 'command'", 'source = "command" needs a command'),
        ("sandbox.commands.a", "args = []", "is required"),
        ("mcp.servers.a", "args = []", "is required"),
        ("mcp.servers.a", "command = 'x'\nenv = { A = 1 }", "must be a text in quotes"),
        ("fermix_channels", "telegram = 5", "must be a table"),
        ("fermix_channels.telegram", "mode = 'poling'", 'must be "polling"; did you mean "polling"?'),
        ("fermix_channels.telegram", "streaming = true", 'must be one of "off", "draft", "block"'),
        ("fermix_channels.telegram", "streaming = 'drafts'", 'did you mean "draft"?'),
        ("fermix_channels.telegram", "owner_user_id = 1.5", "must be an id: a number or a text in quotes"),
        ("fermix_channels.telegram", "owner_user_id = true", "must be an id: a number or a text in quotes"),
        ("fermix_channels.telegram", "allowed_user_ids = '1'", "must be a list, in square brackets"),
        ("fermix_channels.telegram", "album_debounce_ms = 60001", "must be at most 60000"),
        (
            "fermix_channels.discord",
            "gateway_url = 'http://h'",
            "must be a whole address that begins with ws://",
        ),
        ("fermix_channels.whatsapp", "graph_version = '19'", "does not have the right form"),
        ("fermix_channels.signal", "transport = 'dbus'", 'must be one of "jsonrpc", "receive"'),
    ],
)
def test_a_wrong_value_is_named_with_its_line(problems: Problems, section: str, pair: str, text: str) -> None:
    (line,) = problems(f"# first line\n[{section}]\n{pair}\n")
    number = re.match(r"config\.toml:(\d): " + re.escape(section.split(".", 1)[0]), line)
    assert number, line
    assert 2 <= int(number[1]) <= 4
    assert text in line


def test_a_table_from_the_environment_does_not_hide_that_the_file_has_none(problems: Problems) -> None:
    assert problems("fermix_core = 5", {"OPENAI_API_KEY": "sk-1"}) == [
        "config.toml:1: fermix_core: must be a table"
    ]


def test_every_problem_is_listed_in_the_order_of_the_file(problems: Problems) -> None:
    text = """
[fermix_core.providers.openai]
primary = true
wirre = "responses"
wire = "respones"
[fermix_core.providers.xai]
primary = true
[fermix_core.providers.opnai]
default_model = "m"
[fermix_channels.telegram]
allow_from = [1, true]
groups = {}
"""
    providers = "fermix_core.providers"
    wires = 'must be one of "responses", "chat_completions"'
    assert problems(text, {"PORT": "x", "FERMIX_TRACE_CONTENT": "?"}) == [
        'config.toml:4: fermix_core.providers.openai.wirre: is not a known key; did you mean "wire"?',
        f'config.toml:5: {providers}.openai.wire: {wires}; did you mean "responses"?',
        f"config.toml:7: {providers}.xai.primary: only one provider may be primary, and openai already is",
        f'config.toml:8: {providers}.opnai: is not a known provider and has no base_url; did you mean "openai"?',
        "config.toml:11: fermix_channels.telegram.allow_from[1]: must be an id: a number or a text in quotes",
        "config.toml:12: fermix_channels.telegram.groups: is not yet supported",
        "environment: PORT: must be a whole number",
        "environment: FERMIX_TRACE_CONTENT: must be 1 or 0 (also true and false, yes and no, on and off)",
    ]


def test_sections_of_absent_features_are_one_warning_and_change_nothing(load: Load) -> None:
    text = """
[fermix_core.realtime]
anything = 1
[fermix_core.oauth.google]
client_id = "x"
[fermix_core]
browser = { allowed_hosts = [] }
[fermix_core.plugin_secrets]
a = "hush"
[fermix_core.plugins]
[fermix_channels.imessage]
enabled = true
[fermix_core.routing]
meeting_model = "m"
"""
    loaded = load(text)
    (warning,) = loaded.warnings
    names = ("realtime", "oauth", "browser", "plugin_secrets", "plugins", "routing.meeting_model")
    for name, line in zip(names, (2, 4, 7, 8, 10, 14), strict=True):
        assert f"fermix_core.{name} (line {line})" in warning
    assert "fermix_channels.imessage (line 11)" in warning
    assert "hush" not in warning
    assert loaded.absent_sections[0] == "fermix_core.realtime"
    assert loaded.settings == load("").settings


def test_a_secret_that_is_kept_elsewhere_is_unset_and_said_once(load: Load) -> None:
    text = (
        '[fermix_core.providers.openai]\napi_key = "@keyring"\n'
        '[fermix_channels.slack]\nbot_token = " @file "\nsigning_secret = "@keyring"\n'
    )
    loaded = load(text, {"SLACK_SIGNING_SECRET": "from-env"})
    assert loaded.settings.core.providers["openai"].api_key is None
    assert loaded.settings.channels.slack.bot_token is None
    assert loaded.settings.channels.slack.signing_secret is not None
    assert [line.partition(": ")[2] for line in loaded.warnings] == [
        "fermix_core.providers.openai.api_key is kept in the system's keychain: it was not read",
        "fermix_channels.slack.bot_token is kept in the private file of secrets: it was not read",
    ]
    assert list(loaded.unread) == ["fermix_core.providers.openai.api_key", "fermix_channels.slack.bot_token"]


def test_blank_texts_count_as_unset(load: Load) -> None:
    text = (
        '[fermix_core.agent]\nname = "  "\n[fermix_core.providers.openai]\napi_key = ""\nbase_url = "\\n"\n'
        '[fermix_channels.telegram]\nowner_user_id = " "\n'
    )
    found = load(text).settings
    assert found.core.agent.name == "fermix"
    assert found.core.providers["openai"] == type(found.core.providers["openai"])()
    assert found.channels.telegram.owner is None


@given(st.lists(st.one_of(st.text(max_size=5), st.integers(0, 9)), max_size=4))
def test_a_key_path_is_shown_on_one_line(path: list[str | int]) -> None:
    assert dotted(tuple(path)).isprintable() or not path


def test_problems_are_sorted_and_told_once() -> None:
    first = Problem(source="a", line=1, text="x")
    error = ConfigError(
        [Problem(source="b", text="z"), Problem(source="a", line=2, key="k", text="y"), first, first]
    )
    assert str(error) == "a:1: x\na:2: k: y\nb: z"


def test_the_nearest_name_ignores_case_and_dashes_and_is_steady() -> None:
    assert nearest_name("Base-URL", ["base_url", "api_key"]) == "base_url"
    assert nearest_name("ab", ["ay", "ax"]) == nearest_name("ab", ["ax", "ay"])
    assert nearest_name("zzz", ["abc"]) is None
    assert nearest_name("x", []) is None


def _fixed_keys(
    model: type[BaseModel], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str, set[str]]]:
    known = keys_of(model)
    for key, info in known.items():
        if path:
            yield path, key, set(known)
        if section := section_of(info):
            yield from _fixed_keys(section, (*path, key))
        elif entry := entries_of(info):
            yield from _fixed_keys(entry, (*path, key, "ollama"))


KEYS = list(_fixed_keys(Settings, ()))


@st.composite
def misspelt_keys(draw: st.DrawFn) -> tuple[tuple[str, ...], str, str, set[str]]:
    """A place, a right key, a wrong one that differs by one letter, and all right ones there."""
    path, right, known = draw(st.sampled_from(KEYS))
    at = draw(st.integers(0, len(right) - 1))
    letter = draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz_"))
    wrong = draw(
        st.sampled_from(
            [
                right[:at] + right[at + 1 :],
                right[:at] + letter + right[at:],
                right[:at] + letter + right[at + 1 :],
            ]
        )
    )
    return path, right, wrong, known


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(misspelt_keys(), st.integers(0, 5))
def test_a_misspelt_key_gets_its_file_line_key_and_the_right_name(
    problems: Problems, misspelt: tuple[tuple[str, ...], str, str, set[str]], blank_lines: int
) -> None:
    path, right, wrong, known = misspelt
    assume(wrong and len(right) > 3 and wrong not in known)
    text = "\n" * blank_lines + f"[{'.'.join(path)}]\n{wrong} = 1\n"
    shown = f"config.toml:{blank_lines + 2}: {'.'.join((*path, wrong))}: "
    (line,) = (problem for problem in problems(text) if problem.startswith(shown))
    assert 'did you mean "' in line
    suggested = line.rsplit('did you mean "', 1)[1].removesuffix('"?')
    assert suggested in known
    assert suggested == right or nearest_name(wrong, [right, suggested]) == suggested


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([place for place in KEYS if len(place[0]) == 1]),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=30),
)
def test_any_unknown_key_gets_its_file_line_and_key(
    problems: Problems, place: tuple[tuple[str, ...], str, set[str]], key: str
) -> None:
    path, _, known = place
    assume(key not in known)
    quoted = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
    (line,) = problems(f"[{path[0]}]\n\n{quoted} = 1\n")
    assert line.startswith(f"config.toml:3: {dotted((*path, key))}: is not ")


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_no_content_of_the_file_makes_anything_but_settings_or_problems(
    tmp_path: Any, content: bytes
) -> None:
    (tmp_path / "config.toml").write_bytes(content)
    try:
        loaded = load_settings(tmp_path, {"HOME": "/people/ada"})
    except ConfigError as error:
        event(f"{len(error.problems)} problems")
    else:
        event(f"{len(loaded.warnings)} warnings")
