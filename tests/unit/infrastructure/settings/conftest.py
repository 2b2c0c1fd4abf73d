"""One way to load a text as the configuration of a fresh home."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from fermix.application.ports.channel import Channel
from fermix.infrastructure.settings.channel_plugin import ChannelPlugin
from fermix.infrastructure.settings.channels import ChannelSettings
from fermix.infrastructure.settings.foreign_sections import INSTALLED, ChannelPlugins
from fermix.infrastructure.settings.loading import LoadedSettings, load_settings
from fermix.infrastructure.settings.problems import ConfigError

Load: TypeAlias = Callable[..., LoadedSettings]
Problems: TypeAlias = Callable[..., list[str]]


def never_built(*_args: object) -> Channel:
    raise AssertionError("settings are read without a channel")


class Brought:
    """Channels of other packages, by their settings classes, without any package."""

    def __init__(self, classes: Mapping[str, type[ChannelSettings]]) -> None:
        self._classes = classes
        self.loaded: list[str] = []

    def names(self) -> frozenset[str]:
        return frozenset(self._classes)

    def load(self, name: str) -> ChannelPlugin[Any]:
        self.loaded.append(name)
        return ChannelPlugin(settings=self._classes[name], build=never_built)


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load_text(
        text: str | bytes = "",
        environ: Mapping[str, str] | None = None,
        *,
        plugins: ChannelPlugins = INSTALLED,
    ) -> LoadedSettings:
        content = text.encode() if isinstance(text, str) else text
        (tmp_path / "config.toml").write_bytes(content)
        return load_settings(tmp_path, {"HOME": "/people/ada", **(environ or {})}, plugins=plugins)

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
