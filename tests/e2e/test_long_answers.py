"""Answers over one message's length, on every messenger that has one: whole, in order, in fitting pieces."""

from collections.abc import Iterator

import pytest

from fermix.domain.caps import CAPS
from fermix.domain.ids import ChannelName
from fermix.domain.splitting import units
from fermix.testing.servers.openai_strict.script import Say
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.telegram_api.server import telegram_server
from tests.e2e.harness.homes import FermixHome, until
from tests.e2e.harness.live_chats import EDITABLE, OTHERS, LiveChat, TelegramChat, is_over, max_text, serve

CAPPED = {**EDITABLE, **{name: chat for name, chat in OTHERS.items() if name != "signal"}}


@pytest.fixture(params=CAPPED)
def chat(request: pytest.FixtureRequest) -> Iterator[LiveChat]:
    with CAPPED[request.param]() as opened:
        yield opened


def code(lines: int) -> tuple[str, list[str]]:
    """An answer with a block of code of so many lines, and those lines."""
    written = [f"line_{number} = compute({number})" for number in range(lines)]
    return "\n".join(["Here:", "```py", *written, "```", "Done."]), written


def answered(home: FermixHome, model: StrictServer, chat: LiveChat, text: str) -> list[str]:
    """The messages that stand in the chat as the answer."""
    serve(home, model, chat, "off")
    model.will(Say(text=text))
    chat.writes("go")
    until(lambda: is_over(home), what="the end")
    return list(chat.shown())


@pytest.mark.requirement("deliver.text_limits")
def test_a_long_block_of_code_arrives_whole_in_messages_that_each_are_code(
    home: FermixHome, model: StrictServer, chat: LiveChat
) -> None:
    text, lines = code(300 if chat.name != "slack" else 2000)
    messages = answered(home, model, chat, text)
    caps = CAPS[ChannelName(chat.name)]
    assert len(messages) >= {"discord": 4}.get(chat.name, 2)
    assert all(units(message, caps.text_unit) <= max_text(chat) for message in messages)
    assert all(message.count("```") % 2 == 0 for message in messages)
    said = "\n".join(messages).splitlines()
    assert [line for line in said if line.startswith("line_")] == lines
    assert (said[0], said[-1]) == ("Here:", "Done.")


@pytest.mark.requirement("deliver.text_limits")
@pytest.mark.parametrize("text", ["🙂" * 3000, ("🙂" * 2047 + "\n") * 3], ids=["one_line", "lines"])
def test_letters_of_two_units_are_counted_as_telegram_counts_them(
    home: FermixHome, model: StrictServer, text: str
) -> None:
    with telegram_server() as server:
        messages = answered(home, model, TelegramChat(server=server), text)
    assert all(len(message.encode("utf-16-le")) // 2 <= 4096 for message in messages)
    assert "".join("".join(messages).split()) == "".join(text.split())


def test_every_piece_of_a_block_of_code_is_shown_as_code_of_its_language(
    home: FermixHome, model: StrictServer
) -> None:
    text, _ = code(300)
    with telegram_server() as server:
        answered(home, model, TelegramChat(server=server), text)
        shown = server.sent()
    assert len(shown) >= 2
    blocks = [[each for each in one.entities if each["type"] == "pre"] for one in shown]
    assert [[each["language"] for each in block] for block in blocks] == [["py"]] * len(shown)


def test_where_no_length_is_too_long_an_answer_is_one_message(home: FermixHome, model: StrictServer) -> None:
    text, lines = code(2000)
    with OTHERS["signal"]() as chat:
        (message,) = answered(home, model, chat, text)
    assert [line.strip() for line in message.splitlines() if "line_" in line] == lines
