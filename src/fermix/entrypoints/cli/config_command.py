"""`fermix config`: looking at the settings and changing them."""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from fermix.entrypoints.cli.command_failed import write_document
from fermix.entrypoints.cli.config_edit import SetRequest, run_set
from fermix.entrypoints.cli.config_failures import explained, wrong_usage
from fermix.entrypoints.cli.home import home_folder
from fermix.entrypoints.cli.terminal import Terminal, this_terminal
from fermix.entrypoints.cli.terminal_text import visible
from fermix.entrypoints.exit_codes import ExitCode
from fermix.entrypoints.stored_secrets import StoresOf
from fermix.infrastructure.settings.effective import EffectiveSettings, EffectiveValue, effective_settings
from fermix.infrastructure.settings.home import CONFIG_FILE
from fermix.infrastructure.settings.key_names import KnownKey, ValueKind, find_key, read_key
from fermix.infrastructure.settings.loading import load_settings
from fermix.infrastructure.settings.problems import ConfigError, dotted
from fermix.infrastructure.settings.stoppers import start_stopper
from fermix.infrastructure.settings.toml_view import shown, toml_view
from fermix.infrastructure.settings.value_text import plain, toml_text

MAX_VALUE_BYTES = 64 * 1024
"""Of a value that is read from standard input."""

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group()
def config() -> None:
    """Show or change the settings."""


@config.command("path")
@_JSON
def path_command(*, as_json: bool) -> int:
    """Print where the configuration file is, whether it exists or not."""
    terminal = this_terminal()
    path = _file(terminal)
    if as_json:
        write_document(terminal.out, {"ok": True, "path": str(path), "exists": os.path.lexists(path)})
    else:
        terminal.out.write(f"{visible(str(path))}\n")
    return ExitCode.OK


@config.command("show")
@click.option("--all", "defaults", is_flag=True, help="Show keys too that have their default.")
@click.option("--origin", "origins", is_flag=True, help="Say where each value comes from.")
@_JSON
def show_command(*, defaults: bool, origins: bool, as_json: bool) -> int:
    """Show what is in force: defaults, the file, and the environment over it. Secrets are masked."""
    terminal = this_terminal()
    with explained(_file(terminal)):
        effective = _effective(terminal)
    if as_json:
        values = list(shown(effective, defaults=defaults))
        write_document(
            terminal.out,
            {
                "ok": True,
                "path": str(effective.loaded.path),
                "exists": effective.loaded.exists,
                "settings": _nested(values),
                "origins": {dotted(each.path): _origin(each) for each in values},
                "variables": list(effective.variables),
                "warnings": list(effective.loaded.warnings),
            },
        )
        return ExitCode.OK
    text = toml_view(effective, defaults=defaults, origins=origins)
    terminal.out.write(visible(text))
    if not text:
        _notes(terminal, ["nothing is set, so the defaults are in force; --all shows them"])
    _notes(terminal, effective.loaded.warnings)
    return ExitCode.OK


@config.command("get")
@click.argument("key")
@click.option("--reveal", is_flag=True, help="Show a secret; only on a terminal.")
@_JSON
def get_command(*, key: str, reveal: bool, as_json: bool) -> int:
    """Print the value of one key that is in force; nothing when it is unset. A secret is masked."""
    terminal = this_terminal()
    if reveal and (as_json or not terminal.out.isatty()):
        raise wrong_usage(
            "--reveal shows a secret on a terminal only, so that it gets into no file and no log."
        )
    with explained(_file(terminal)):
        known = find_key(read_key(key))
        if known.kind is ValueKind.SECTION:
            raise wrong_usage(f"{key} is a table; `fermix config show --all` lists its keys.")
        effective = _effective(terminal)
    found = _in_force(known, effective)
    value = None if found is None else plain(found.value, reveal=reveal)
    unread = effective.loaded.unread.get(dotted(known.path))
    if as_json:
        origin = {"origin": "default"} if found is None else _origin(found)
        why = {} if unread is None else {"unread": unread.state}
        write_document(terminal.out, {"ok": True, "key": dotted(known.path), "value": value, **origin, **why})
        return ExitCode.OK
    if value is None:
        _notes(terminal, [f"{key} is unset" if unread is None else unread.state])
        return ExitCode.OK
    terminal.out.write(visible(f"{value if isinstance(value, str) else toml_text(value)}\n"))
    if found is not None and found.is_secret and not reveal:
        where = "" if found.origin.place is None else f", kept in {found.origin.place}"
        _notes(terminal, [f"that is a secret{where}; --reveal shows it on a terminal"])
    return ExitCode.OK


@config.command("set")
@click.argument("key")
@click.argument("value", required=False)
@click.option("--unset", is_flag=True, help="Take the key out of the file.")
@_JSON
def set_command(*, key: str, value: str | None, unset: bool, as_json: bool) -> int:
    """Change one key in the file; comments and everything else in it stay.

    Text is written without TOML's quotes, a list as TOML: '["1001", "1002"]'. With - in its place the value is
    read from standard input: other users can see the arguments of a command while it runs.
    """
    terminal = this_terminal()
    if unset == (value is not None):
        raise wrong_usage("Give either a value (- reads it from standard input) or --unset.")
    request = SetRequest(
        key=key, text=_from_input(key) if value == "-" else value, on_command_line=value != "-"
    )
    with explained(_file(terminal)):
        done = run_set(request, home=home_folder(terminal.environ), environ=terminal.environ)
    if as_json:
        write_document(terminal.out, {"ok": True, **done.document()})
    else:
        terminal.out.write(visible(f"{done.sentence}\n"))
        _notes(terminal, done.notes)
    return ExitCode.OK


@config.command("validate")
@_JSON
def validate_command(*, as_json: bool) -> int:
    """Check what a start would check. Exit status 7 when something is wrong, each problem with its line."""
    terminal = this_terminal()
    with explained(_file(terminal)):
        home = home_folder(terminal.environ)
        loaded = load_settings(home, terminal.environ, stores=StoresOf(home, terminal.environ))
        stopper = start_stopper(loaded.settings, loaded.path)
        if stopper is not None:
            raise ConfigError([stopper])
    if as_json:
        facts = {"path": str(loaded.path), "exists": loaded.exists, "warnings": list(loaded.warnings)}
        write_document(terminal.out, {"ok": True, **facts})
        return ExitCode.OK
    state = "is valid" if loaded.exists else "does not exist, so the defaults are in force"
    terminal.out.write(visible(f"{loaded.path} {state}\n"))
    _notes(terminal, loaded.warnings)
    return ExitCode.OK


def _file(terminal: Terminal) -> Path:
    return home_folder(terminal.environ) / CONFIG_FILE


def _notes(terminal: Terminal, notes: list[str] | tuple[str, ...]) -> None:
    for note in notes:
        terminal.err.write(visible(f"fermix: {note}\n"))


def _from_input(key: str) -> str:
    """The value, without the line end that an editor or `echo` puts behind it; typed unseen on a terminal."""
    if sys.stdin.isatty():
        return str(click.prompt(f"Value of {key}", hide_input=True, err=True))
    content = sys.stdin.buffer.read(MAX_VALUE_BYTES + 1)
    if len(content) > MAX_VALUE_BYTES:
        raise wrong_usage(f"The value is longer than {MAX_VALUE_BYTES // 1024} KiB.")
    try:
        return content.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise wrong_usage("The value on standard input is not UTF-8.") from None


def _effective(terminal: Terminal) -> EffectiveSettings:
    home = home_folder(terminal.environ)
    return effective_settings(home, terminal.environ, stores=StoresOf(home, terminal.environ))


def _in_force(known: KnownKey, effective: EffectiveSettings) -> EffectiveValue | None:
    """The key's value; one of a table of secrets is looked for inside it."""
    for each in effective.values:
        if each.path == known.path:
            return each
        if isinstance(each.value, Mapping) and each.path == known.path[:-1]:
            inner = each.value.get(known.path[-1])
            places = (stored.place for stored in effective.loaded.stored if stored.key == known.path)
            origin = replace(each.origin, place=next(places, None))
            return None if inner is None else EffectiveValue(path=known.path, value=inner, origin=origin)
    return None


def _origin(each: EffectiveValue) -> dict[str, Any]:
    origin: dict[str, Any] = {"origin": each.origin.layer.value}
    if each.origin.line is not None:
        origin["line"] = each.origin.line
    if each.origin.variable is not None:
        origin["variable"] = each.origin.variable
    if each.origin.place is not None:
        origin["kept_in"] = each.origin.place
    return origin


def _nested(values: list[EffectiveValue]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for each in values:
        inner = document
        for name in each.path[:-1]:
            inner = inner.setdefault(name, {})
        inner[each.path[-1]] = plain(each.value)
    return document
