"""One way to load a text as the configuration of a fresh home."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from fermix.infrastructure.settings.channels import ChannelSettings
from fermix.infrastructure.settings.loading import LoadedSettings, load_settings
from fermix.infrastructure.settings.problems import ConfigError

Load: TypeAlias = Callable[..., LoadedSettings]
Problems: TypeAlias = Callable[..., list[str]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load_text(
        text: str | bytes = "",
        environ: Mapping[str, str] | None = None,
        *,
        channels: Mapping[str, type[ChannelSettings]] | None = None,
    ) -> LoadedSettings:
        content = text.encode() if isinstance(text, str) else text
        (tmp_path / "config.toml").write_bytes(content)
        return load_settings(tmp_path, {"HOME": "/people/ada", **(environ or {})}, channels=channels)

    return load_text


@pytest.fixture
def problems(load: Load, tmp_path: Path) -> Problems:
    """Load what must fail and give its lines, with the file's folder left out."""

    def problems_of(
        text: str | bytes = "", environ: Mapping[str, str] | None = None, **more: object
    ) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            load(text, environ, **more)
        assert len(caught.value.problems) == len(str(caught.value).splitlines())
        return [line.replace(f"{tmp_path}/", "") for line in str(caught.value).splitlines()]

    return problems_of
