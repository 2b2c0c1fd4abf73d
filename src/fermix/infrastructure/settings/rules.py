"""Rules between keys, which no single value can break; they are checked even where other values are wrong."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fermix.infrastructure.settings.keys import KeyFinding
from fermix.infrastructure.settings.known_providers import EFFORTLESS, KNOWN_NAMES, LOCAL
from fermix.infrastructure.settings.nearest import nearest_name

_PROVIDERS = ("fermix_core", "providers")
_PROVIDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_NOT_LOCAL = ("api_key", "auth_mode", "base_url", "fast", "wire")
_NAMING_KEYS = (
    ("fermix_core", "agent", "provider"),
    ("fermix_core", "routing", "subagent_provider"),
    ("fermix_core", "routing", "cron_provider"),
    ("fermix_core", "override", "provider"),
)


def check_rules(file: Mapping[str, Any], environment: Mapping[str, Any]) -> list[KeyFinding]:
    """All broken rules.

    Args:
        file: the file's table with known keys only; values may have any type.
        environment: the environment's table.
    """
    return [
        *_one_primary(file),
        *_provider_sections(file),
        *_provider_names(file, environment),
        *_loop_bounds(file),
        *_variables_with_a_source(file),
    ]


def _one_primary(file: Mapping[str, Any]) -> Iterator[KeyFinding]:
    primaries = [name for name, section in _tables(file, *_PROVIDERS) if section.get("primary") is True]
    for name in primaries[1:]:
        text = f"only one provider may be primary, and {primaries[0]} already is"
        yield KeyFinding(path=(*_PROVIDERS, name, "primary"), text=text)


def _provider_sections(file: Mapping[str, Any]) -> Iterator[KeyFinding]:
    for name, section in _tables(file, *_PROVIDERS):
        path = (*_PROVIDERS, name)
        if not _PROVIDER_NAME.fullmatch(name):
            yield KeyFinding(path=path, text="must be named with letters, digits, '_', '-' and '.' only")
        elif name not in KNOWN_NAMES and str(section.get("base_url", "")).strip() == "":
            text = "is not a known provider and has no base_url"
            yield KeyFinding(path=path, text=text, suggestion=nearest_name(name, KNOWN_NAMES))
        if name != LOCAL and "model_path" in section:
            yield KeyFinding(path=(*path, "model_path"), text="is only for the provider named local")
        if name == LOCAL:
            for key in _NOT_LOCAL:
                if key in section:
                    yield KeyFinding(path=(*path, key), text="has no meaning for the provider named local")
        if name in EFFORTLESS and "reasoning_effort" in section:
            yield KeyFinding(path=(*path, "reasoning_effort"), text=f"is not supported by {name}")


def _provider_names(file: Mapping[str, Any], environment: Mapping[str, Any]) -> Iterator[KeyFinding]:
    allowed = KNOWN_NAMES | {name for name, _ in _tables(file, *_PROVIDERS)}
    for path in _NAMING_KEYS:
        for table in (file, environment):
            *above, last = path
            section = _inner(table, *above)
            name = section.get(last)
            if isinstance(name, str) and name.strip() and name.strip() not in allowed:
                near = nearest_name(name.strip(), allowed)
                yield KeyFinding(path=path, text="names a provider that is not there", suggestion=near)


def _loop_bounds(file: Mapping[str, Any]) -> Iterator[KeyFinding]:
    memory = _inner(file, "fermix_core", "memory")
    warn, kill = memory.get("loop_detection_warn", 3), memory.get("loop_detection_kill", 5)
    if isinstance(warn, int) and isinstance(kill, int) and kill < warn:
        key = "loop_detection_kill" if "loop_detection_kill" in memory else "loop_detection_warn"
        text = "loop_detection_kill must not be less than loop_detection_warn"
        yield KeyFinding(path=("fermix_core", "memory", key), text=text)


def _variables_with_a_source(file: Mapping[str, Any]) -> Iterator[KeyFinding]:
    for name, variable in _tables(file, "sandbox", "env"):
        if variable.get("source") == "command" and not variable.get("command"):
            yield KeyFinding(path=("sandbox", "env", name), text='source = "command" needs a command')


def _inner(table: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    inner: Any = table
    for part in path:
        inner = inner.get(part) if isinstance(inner, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _tables(table: Mapping[str, Any], *path: str) -> list[tuple[str, Mapping[str, Any]]]:
    return [(name, inner) for name, inner in _inner(table, *path).items() if isinstance(inner, Mapping)]
