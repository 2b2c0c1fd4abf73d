"""From a home and an environment to settings, or to every reason why not."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fermix.infrastructure.settings.config_file import ConfigFile, read_config_file
from fermix.infrastructure.settings.environment import EnvironmentLayer, read_environment
from fermix.infrastructure.settings.explain import findings_of
from fermix.infrastructure.settings.foreign_sections import (
    INSTALLED,
    AnyPlugin,
    ChannelPlugins,
    find_foreign,
    read_foreign,
    troubles_of,
)
from fermix.infrastructure.settings.home import CONFIG_FILE, resolve_user_home
from fermix.infrastructure.settings.keys import CheckedTable, KeyFinding, check_keys
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import ENVIRONMENT, ConfigError, KeyPath, Problem, dotted
from fermix.infrastructure.settings.rules import check_rules
from fermix.infrastructure.settings.stored import (
    AskNobody,
    StoredSecret,
    StoredValues,
    look_up,
    put_in,
    without_sentinels,
)

_NOBODY = AskNobody()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """Settings and what there is to say about where they came from.

    Attributes:
        settings: the checked settings.
        warnings: one line each, for stderr and doctor; never an error, never a secret.
        path: the configuration file, whether it exists or not.
        exists: whether it does.
        absent_sections: keys of features that this version does not have.
        stored: keys whose secret is kept in a secret store, with what was found there.
        plugins: the channels of other packages that are enabled, by their section's name.
    """

    settings: Settings
    warnings: tuple[str, ...]
    path: Path
    exists: bool
    absent_sections: tuple[str, ...] = ()
    stored: tuple[StoredSecret, ...] = ()
    plugins: Mapping[str, AnyPlugin] = field(default_factory=dict)

    @property
    def unread(self) -> Mapping[str, StoredSecret]:
        """Those of `stored` that could not be read and that nothing else gives a value, by their dotted key."""
        return {dotted(each.key): each for each in self.stored if each.is_unset}


def load_settings(
    home: Path,
    environ: Mapping[str, str],
    *,
    plugins: ChannelPlugins = INSTALLED,
    stores: StoredValues = _NOBODY,
) -> LoadedSettings:
    """Read `config.toml` of the home and lay the environment over it. A missing file means defaults.

    Args:
        home: an absolute folder, as `resolve_home` gives it; it need not exist.
        environ: the environment.
        plugins: the channels of other packages. One that cannot be used is named in a warning and stops nothing.
        stores: asked once for secrets that the file says are kept elsewhere and the environment does not give.
            One that cannot be read counts as unset, is named in a warning and stops nothing.

    Raises:
        ConfigError: with every problem that was found.
    """
    file = read_config_file(home / CONFIG_FILE)
    environment = read_environment(environ)
    foreign = find_foreign(file.table, plugins)
    checked = check_keys(
        file.table, Settings, channels=foreign.classes, unread=foreign.unread.keys(), installed=plugins.names
    )
    table, sentinels = without_sentinels(checked.table)
    stored = _looked_up(sentinels, table, environment, _NOBODY if checked.findings else stores)
    put_in(table, stored)
    sections = read_foreign(table, foreign)
    findings = [*checked.findings, *check_rules(table, environment.table), *sections.findings]
    if foreign.plugins or foreign.unread:
        ours = {name: own for name, own in table["fermix_channels"].items() if name not in foreign.plugins}
        table["fermix_channels"] = {**ours, **sections.settings}
    code = {"home": home, "user_home": resolve_user_home(environ)}
    settings: Settings | None = None
    try:
        settings = Settings.from_layers(code, environment.table, table)
    except ValidationError as exc:
        findings += findings_of(exc, tables=(environment.table, table))
    locate = _locator(file, environment, checked.written)
    problems = [*environment.problems, *map(locate, findings)]
    # Raised here and not in the handler, so that no traceback can reach pydantic's error, which holds the values.
    if problems or settings is None:
        raise ConfigError(problems)
    return LoadedSettings(
        settings=settings,
        warnings=(
            *_file_warnings(file, checked, stored),
            *_unusable_packages(file, settings),
            *environment.warnings,
        ),
        path=file.path,
        exists=file.exists,
        absent_sections=tuple(dotted(path) for path in checked.absent),
        stored=stored,
        plugins=foreign.plugins,
    )


def _looked_up(
    sentinels: Mapping[KeyPath, str],
    table: Mapping[str, Any],
    environment: EnvironmentLayer,
    stores: StoredValues,
) -> tuple[StoredSecret, ...]:
    core = table.get("fermix_core")
    profile = core.get("profile") if isinstance(core, Mapping) else None
    return look_up(sentinels, stores, profile=profile, variables=environment.origins)


def _locator(
    file: ConfigFile, environment: EnvironmentLayer, written: Mapping[KeyPath, KeyPath]
) -> Callable[[KeyFinding], Problem]:
    def locate(finding: KeyFinding) -> Problem:
        for path in _upwards(finding.path):
            if path in environment.origins:
                return Problem(
                    source=ENVIRONMENT,
                    key=environment.origins[path],
                    text=finding.text,
                    suggestion=finding.suggestion,
                )
        shown = finding.path
        for path in _upwards(finding.path):
            if path in written:
                shown = (*written[path], *finding.path[len(path) :])
                break
        return Problem(
            source=str(file.path),
            line=_line_of(file, shown),
            key=dotted(shown),
            text=finding.text,
            suggestion=finding.suggestion,
        )

    return locate


def _line_of(file: ConfigFile, path: KeyPath) -> int | None:
    return next((file.lines[above] for above in _upwards(path) if above in file.lines), None)


def _upwards(path: KeyPath) -> Iterable[KeyPath]:
    return (path[:end] for end in range(len(path), 0, -1))


def _is_webhook(table: Mapping[str, Any]) -> bool:
    match table:
        case {"fermix_channels": {"telegram": {"mode": str(mode)}}}:
            return mode.strip() == "webhook"
    return False


def _file_warnings(file: ConfigFile, checked: CheckedTable, stored: Iterable[StoredSecret]) -> list[str]:
    warnings = []
    if checked.absent:
        names = ", ".join(f"{dotted(path)} (line {file.lines[path]})" for path in checked.absent)
        warnings.append(
            f"{file.path}: belongs to features this version does not have, without effect: {names}"
        )
    telegram = ("fermix_channels", "telegram", "mode")
    if _is_webhook(checked.table):
        place = f"{file.path}:{file.lines[telegram]}: {dotted(telegram)}"
        warnings.append(f"{place}: webhooks are not supported for Telegram; polling is used")
    warnings.extend(f"{file.path}: {each.state}" for each in stored if each.is_unset)
    return warnings


def _unusable_packages(file: ConfigFile, settings: Settings) -> list[str]:
    return [
        str(
            Problem(
                source=str(file.path),
                line=_line_of(file, ("fermix_channels", name)),
                key=dotted(("fermix_channels", name)),
                text=f"is not served: {trouble}",
            )
        )
        for name, trouble in troubles_of(settings.channels)
    ]
