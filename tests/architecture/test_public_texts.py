"""What a text tells people to type exists."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from fermix.application.commands.registry import COMMANDS
from fermix.domain import wording
from fermix.domain.commands import index_commands
from fermix.domain.failure import Failure, FailureKind
from fermix.entrypoints.cli.commands import COMMANDS as CLI_COMMANDS
from fermix.entrypoints.cli.commands import fermix
from tests.architecture.source_tree import ROOT, SRC, Module, modules, read_module

SLASH_WORD = re.compile(r"(?<![\w/.`<])/([a-z][a-z0-9_]*)(?![\w/.-])")
TYPED = re.compile(r"`(fermix(?: [^`]*)?)`|(?:^|(?<=[:$>] ))(fermix [a-z][^\n]*)", re.MULTILINE)
TABLE = index_commands(COMMANDS)


def slash_words(text: str) -> set[str]:
    """The commands a text names as one types them in a chat."""
    return set(SLASH_WORD.findall(text))


def command_lines(text: str) -> Iterator[str]:
    """The command lines a text names: in back quotes, after a prompt or a colon, or on a line of their own."""
    for quoted, bare in TYPED.findall(text):
        yield (quoted or bare).strip()


def refusal(command_line: str) -> str | None:
    """Why the command line would not be understood as far as its verbs and options go, or nothing."""
    lexer = shlex.shlex(command_line, posix=True, punctuation_chars=True)
    lexer.commenters = "#"
    lexer.whitespace_split = True
    try:
        words = list(lexer)[1:]
    except ValueError:
        words = command_line.split()[1:]
    command: click.Command = fermix
    while words and isinstance(command, click.Group):
        word = words.pop(0)
        if word in {"--version", "--help"}:
            return None
        found = command.get_command(click.Context(command), word)
        if found is None:
            return f"`{command_line}`: there is no `{word}`"
        command = found
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    unknown = {
        word.partition("=")[0]
        for word in words
        if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in {*known, "--help", "-h"}
    }
    return f"`{command_line}`: there is no {sorted(unknown)}" if unknown else None


def test_every_command_that_a_sentence_names_exists() -> None:
    sentences = [text for _, text in read_module(SRC / "domain" / "wording.py").strings()]
    named = {word for sentence in sentences for word in slash_words(sentence)}
    assert named
    assert named <= set(TABLE)


@pytest.mark.parametrize("kind", FailureKind)
def test_every_command_that_an_error_names_exists(kind: FailureKind) -> None:
    assert slash_words(wording.failed(Failure(kind=kind, provider="openai", model="m"))) <= set(TABLE)


def test_every_command_says_what_it_does() -> None:
    assert len(TABLE) == len({name for spec in COMMANDS for name in (spec.name, *spec.aliases)})
    for spec in COMMANDS:
        assert spec.description[0].isupper()
        assert not spec.description.endswith(".")
        assert slash_words(spec.description) <= set(TABLE)


@pytest.mark.parametrize("name", CLI_COMMANDS)
def test_every_verb_of_the_command_line_loads(name: str) -> None:
    command = CLI_COMMANDS[name].load()
    assert command.name == name
    assert command.help or command.short_help


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.place)
def test_every_command_line_that_a_text_names_exists(module: Module) -> None:
    refused = [
        f"{module.place}:{line}: {why}"
        for line, text in module.strings()
        for command_line in command_lines(text)
        if (why := refusal(command_line)) is not None
    ]
    assert not refused, "\n".join(refused)


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=lambda page: page.name)
def test_every_command_line_of_the_first_pages_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    refused = [why for line in command_lines(text) if (why := refusal(line)) is not None]
    assert not refused, "\n".join(refused)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Use /new to start afresh.", {"new"}),
        ("/retry runs it, /discard drops it", {"retry", "discard"}),
        ("this and/or that", set()),
        ("see https://x.test/new and /usr/bin", set()),
    ],
)
def test_slash_words_are_told_from_paths(text: str, named: set[str]) -> None:
    assert slash_words(text) == named


@pytest.mark.parametrize(
    ("command_line", "understood"),
    [
        ("fermix model install", True),
        ("fermix ask --new 'hi'", True),
        ("fermix teleport", False),
        ("fermix model burn", False),
        ("fermix ask --louder", False),
    ],
)
def test_a_command_line_is_checked_by_its_verbs_and_options(command_line: str, understood: bool) -> None:
    assert (refusal(command_line) is None) == understood
