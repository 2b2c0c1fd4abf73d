"""The flags as they were typed, with secrets read from standard input where `-` stands for them."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import click

from fermix.entrypoints.cli.config_failures import wrong_usage
from fermix.entrypoints.cli.setup.flags import SECRET_FLAGS, flag
from fermix.entrypoints.cli.setup.values import MAX_CHARACTERS

FROM_INPUT = "-"
_ORDER = "fermix.setup.order"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the command line says.

    Attributes:
        values: the flags that were used, by their names with underscores.
        exposed: secrets that stood on the command line, where other users can see them.
    """

    values: Mapping[str, str] = field(repr=False)
    exposed: tuple[str, ...]


def in_order(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Remember in which order flags were typed: click calls this in that order, and for absent ones last."""
    if value is not None:
        context.meta.setdefault(_ORDER, []).append(parameter.name)
    return value


def read_given(context: click.Context, values: Mapping[str, str | None]) -> Given:
    """Take the flags that were used, and read what comes from standard input: a line for each, in their order.

    Raises:
        CommandFailed: standard input has not what was promised.
    """
    order: Sequence[str] = context.meta.get(_ORDER, ())
    used = {name: value for name, value in values.items() if value is not None}
    read = [name for name in order if name in SECRET_FLAGS and used.get(name) == FROM_INPUT]
    if sys.stdin.isatty():
        used |= {name: str(click.prompt(flag(name).lstrip("-"), hide_input=True, err=True)) for name in read}
    else:
        used |= {name: _line(sys.stdin.buffer, flag(name)) for name in read}
    exposed = tuple(flag(name) for name in SECRET_FLAGS if name in used and name not in read)
    return Given(values=used, exposed=exposed)


def _line(stream: BinaryIO, name: str) -> str:
    content = stream.readline(MAX_CHARACTERS * 4 + 1)
    if not content:
        raise wrong_usage(f"Standard input has no line for {name}.")
    if len(content) > MAX_CHARACTERS * 4:
        raise wrong_usage(f"The line for {name} is too long.")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise wrong_usage(f"The line for {name} on standard input is not UTF-8.") from None
