"""No secret comes out of the settings by any way but `get_secret_value`."""

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from fermix.infrastructure.settings.choice import ProviderChoiceError, choose_provider
from fermix.infrastructure.settings.config_file import read_config_file
from fermix.infrastructure.settings.environment import VARIABLES, Kind, read_environment
from fermix.infrastructure.settings.keys import keys_of, section_of
from fermix.infrastructure.settings.loading import LoadedSettings, load_settings
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import ConfigError


def _secret_keys(model: type[BaseModel], path: str) -> Iterator[str]:
    for key, info in keys_of(model).items():
        if section := section_of(info):
            yield from _secret_keys(section, f"{path}{key}.")
        elif "SecretStr" in str(info.annotation):
            yield f"{path}{key}"


SECRET_KEYS = [
    *(key for key in _secret_keys(Settings, "") if not key.startswith("mcp")),
    *(f"fermix_core.providers.{name}.api_key" for name in ("openai", "anthropic", "box", "local")),
    "mcp.servers.files.env.TOKEN",
]
SECRET_VARIABLES = [variable.name for variable in VARIABLES if variable.kind is Kind.SECRET]

SECRETS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["sk-", "xoxb-", "Zq", "123456:"]),
    st.text(alphabet="QZXqzx0189-_", min_size=12, max_size=30),
    st.sampled_from(["", "\n", " spaced", "\nline", "\x07", "é"]),
)


def test_there_are_secrets_to_look_for() -> None:
    assert "fermix_channels.telegram.bot_token" in SECRET_KEYS
    assert "fermix_core.tools.web_search.brave_api_key" in SECRET_KEYS
    assert len(SECRET_VARIABLES) == 13


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(st.data())
def test_no_secret_appears_in_any_error_repr_or_warning(tmp_path: Path, data: st.DataObject) -> None:
    secret = data.draw(SECRETS)
    quoted = '"' + secret.replace("\n", "\\n").replace("\x07", "\\u0007") + '"'
    wrong = data.draw(st.sampled_from(["", "ful", "x"]))
    keys = data.draw(st.lists(st.sampled_from(SECRET_KEYS), max_size=4, unique=True))
    shape = data.draw(st.sampled_from(["{}", "[{}]", "{{ a = {} }}", "{}{}", "{} ]"]))
    noise = data.draw(st.sampled_from(["", 'fermix_web.port = "x"\n', "fermix_core.realtime.key = 1\n"]))
    elsewhere = data.draw(st.sampled_from(["", f"fermix_core.agent.name = {quoted}1\n", f"{quoted}\n"]))
    value = shape.format(quoted, quoted)
    (tmp_path / "config.toml").write_text(
        noise + elsewhere + "".join(f"{key}{wrong} = {value}\n" for key in keys), encoding="utf-8"
    )
    variables = data.draw(
        st.lists(st.sampled_from([*SECRET_VARIABLES, "FERMIX_SECRET", "TELEGRAM_BOT_TOKEN", "PORT"]))
    )
    environ = {"HOME": "/people/ada"} | dict.fromkeys(variables, secret)
    told = "\n".join(_everything_told(tmp_path, environ))
    core = secret.strip().split("\n")[0].split(" ")[0].rstrip("\x07é")
    assert core not in told


def _everything_told(home: Path, environ: dict[str, str]) -> Iterator[str]:
    yield repr(read_environment(environ))
    failure: ConfigError | None = None
    loaded: LoadedSettings | None = None
    try:
        yield repr(read_config_file(home / "config.toml"))
        loaded = load_settings(home, environ)
    except ConfigError as error:
        failure = error
    if failure is not None or loaded is None:
        assert failure is not None
        assert failure.__cause__ is failure.__context__ is None
        yield from (str(failure), repr(failure), repr(failure.problems))
        yield from traceback.format_exception(failure)
        return
    yield from (repr(loaded), str(loaded.settings), *loaded.warnings, loaded.settings.model_dump_json())
    for local in (True, False):
        try:
            yield repr(choose_provider(loaded.settings, local_available=local))
        except ProviderChoiceError as error:
            yield str(error)


@pytest.mark.parametrize("key", SECRET_KEYS)
def test_every_secret_of_the_file_is_kept_wrapped_and_trimmed(tmp_path: Path, key: str) -> None:
    box = 'fermix_core.providers.box.base_url = "http://h"\n' if ".box." in key else ""
    command = 'mcp.servers.files.command = "x"\n' if key.startswith("mcp") else ""
    (tmp_path / "config.toml").write_text(f'{box}{command}{key} = " hush-hush\\n"\n')
    if ".local." in key:
        with pytest.raises(ConfigError, match="has no meaning"):
            load_settings(tmp_path, {"HOME": "/"})
        return
    value: Any = load_settings(tmp_path, {"HOME": "/"}).settings.model_dump(by_alias=True)
    for part in key.split("."):
        value = value[part]
    assert isinstance(value, SecretStr)
    assert value.get_secret_value() == "hush-hush"
