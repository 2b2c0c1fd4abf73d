"""What stands there before a setup, read from the home and the environment."""

from collections.abc import Mapping
from pathlib import Path

from fermix.entrypoints.cli.setup.present import Present
from fermix.entrypoints.stored_secrets import StoresOf
from fermix.infrastructure.settings.config_file import read_config_file
from fermix.infrastructure.settings.environment import read_environment
from fermix.infrastructure.settings.home import CONFIG_FILE
from fermix.infrastructure.settings.loading import LoadedSettings, load_settings
from fermix.infrastructure.settings.stored import AskNobody


def read_present(
    home: Path, environ: Mapping[str, str], *, with_secrets: bool
) -> tuple[Present, LoadedSettings]:
    """The file as it stands, and the settings it makes with the environment.

    Args:
        home: absolute.
        environ: the environment.
        with_secrets: ask the stores for secrets too, which may take some seconds.

    Raises:
        ConfigError: it is broken; every problem with its line.
    """
    stores = StoresOf(home, environ) if with_secrets else AskNobody()
    loaded = load_settings(home, environ, stores=stores)
    file = read_config_file(home / CONFIG_FILE)
    return Present(table=file.table, variables=read_environment(environ).origins), loaded
