"""The grammar of slash commands."""

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fermix.domain.authorization import Gate
from fermix.domain.commands import CommandSpec, ForAnotherBot, ParsedCommand, index_commands, parse_command
from tests.unit.domain import samples

BOT = "fermix_test_bot"
names = st.from_regex(r"[a-z][a-z0-9_]{0,10}", fullmatch=True)
words = st.text(string.ascii_letters + string.digits + "/@-é", min_size=1, max_size=5)
spaces = st.text(" \t\n\u00a0", min_size=1, max_size=3)


def spec(name: str, *aliases: str) -> CommandSpec:
    return CommandSpec(name=name, description="does it", gate=Gate.ANY_AUTHORIZED, aliases=aliases)


@given(name=names, arguments=st.lists(words, max_size=4), space=spaces, lead=st.text(" \n\t", max_size=2))
def test_a_command_is_read_whatever_white_space_surrounds_it(
    name: str, arguments: list[str], space: str, lead: str
) -> None:
    text = lead + space.join(["/" + name, *arguments]) + space
    assert parse_command(text) == ParsedCommand(name=name, arguments=tuple(arguments))


@given(name=names, bot=st.none() | st.just(BOT))
def test_the_case_of_a_name_does_not_matter_and_that_of_arguments_is_kept(name: str, bot: str | None) -> None:
    for written in (name.upper(), name.title(), name):
        assert parse_command(f"/{written} Keep ME", bot_name=bot) == ParsedCommand(
            name=name, arguments=("Keep", "ME")
        )


@pytest.mark.parametrize("suffix", [BOT, BOT.upper(), "Fermix_Test_Bot"])
@pytest.mark.parametrize("bot_name", [BOT, BOT.upper(), "@" + BOT])
def test_a_command_addressed_to_us_is_ours_in_any_case(suffix: str, bot_name: str) -> None:
    found = parse_command(f"/Help@{suffix} me", bot_name=bot_name)
    assert found == ParsedCommand(name="help", arguments=("me",))


@pytest.mark.parametrize("suffix", ["other_bot", BOT + "x", BOT[:-1], "@" + BOT, BOT + "@other"])
def test_a_command_addressed_to_another_bot_is_not_ours(suffix: str) -> None:
    assert parse_command(f"/help@{suffix}", bot_name=BOT) == ForAnotherBot()


def test_without_a_name_of_our_own_an_addressed_command_is_ordinary_text() -> None:
    assert parse_command("/help@somebody") is None


@pytest.mark.parametrize("bot_name", [None, BOT])
def test_an_address_without_a_name_is_ordinary_text(bot_name: str | None) -> None:
    assert parse_command("/help@", bot_name=bot_name) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "help",
        "please /help",
        "/",
        "/ help",
        "//help",
        "/9lives",
        "/_x",
        "/help!",
        "/help-me",
        "/usr/bin",
        "/é",
        "/he\u0301lp",
        "/\u212aill",
        "／help",
        "\u200b/help",
        "/@" + BOT,
        "@" + BOT + " /help",
        "/help\x00",
    ],
)
@pytest.mark.parametrize("bot_name", [None, BOT])
def test_what_is_no_command_is_ordinary_text(text: str, bot_name: str | None) -> None:
    assert parse_command(text, bot_name=bot_name) is None


@given(text=samples.any_text | samples.any_text.map("/".__add__), bot=st.none() | st.text())
def test_any_text_can_be_read_and_every_name_could_be_registered(text: str, bot: str | None) -> None:
    found = parse_command(text, bot_name=bot)
    if isinstance(found, ParsedCommand):
        assert index_commands([spec(found.name)])
        first, *rest = text.split()
        assert first.lower().startswith("/" + found.name)
        assert found.arguments == tuple(rest)


@given(text=samples.any_text)
def test_text_that_does_not_start_with_a_slash_is_never_a_command(text: str) -> None:
    assume(not text.lstrip().startswith("/"))
    assert parse_command(text, bot_name=BOT) is None


def test_every_name_and_alias_leads_to_its_command() -> None:
    new, stop = spec("new", "clear"), spec("stop")
    assert index_commands([new, stop]) == {"new": new, "clear": new, "stop": stop}
    assert index_commands([]) == {}


@pytest.mark.parametrize(
    "specs",
    [
        [spec("new"), spec("new")],
        [spec("new", "clear"), spec("clear")],
        [spec("new", "clear"), spec("stop", "clear")],
        [spec("new", "new")],
        [spec("")],
        [spec("New")],
        [spec("/new")],
        [spec("new\n")],
        [spec("new", "cle ar")],
        [spec("9")],
    ],
)
def test_a_name_that_is_taken_or_cannot_be_typed_is_refused(specs: list[CommandSpec]) -> None:
    with pytest.raises(ValueError, match="/"):
        index_commands(specs)


@given(name=names)
def test_every_registered_name_can_be_typed(name: str) -> None:
    index = index_commands([spec(name)])
    found = parse_command("/" + name)
    assert isinstance(found, ParsedCommand)
    assert found.name in index
