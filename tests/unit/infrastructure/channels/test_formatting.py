"""Any Markdown on each platform: every message of an answer is taken, no word is lost, and it costs little."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fermix.domain.caps import CAPS
from fermix.domain.ids import ChannelName
from fermix.domain.splitting import TextUnit, split, units
from fermix.infrastructure.channels.discord import wire_out as discord
from fermix.infrastructure.channels.signal.plain_text import plain
from fermix.infrastructure.channels.slack.markdown import within as on_slack
from fermix.infrastructure.channels.slack.words_in import unescaped
from fermix.infrastructure.channels.telegram.wire_out import formatted as on_telegram
from fermix.infrastructure.channels.whatsapp.wire_out import formatted as on_whatsapp
from fermix.testing.servers.telegram_api.entities import formatted as as_telegram_reads_it
from tests.unit.steps import growth

LIMIT = 300
"""Instead of the platform's own where the adapter is told it; so short that most answers are cut."""

WITHOUT_CAP = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What leaves for a platform, and what it takes.

    Attributes:
        shown: what people see of a piece of Markdown; raises where the platform would refuse it.
        limit: the longest message.
    """

    shown: Callable[[str], str]
    limit: int = LIMIT
    unit: TextUnit = TextUnit.CODE_POINTS


def taken_by_telegram(markdown: str) -> str:
    """The server's own reading of text and entities, which refuses what the Bot API refuses."""
    rich = on_telegram(markdown, limit=LIMIT)
    assert len(rich.entities) <= 100
    text, entities = as_telegram_reads_it(rich.text, [one.as_json() for one in rich.entities])
    assert len(entities) == len(rich.entities)
    return str(text)


_SLACK_LINK = re.compile(r"<(?:https?://|mailto:)[^<>|\s]+(?:\|[^<>|\n]+)?>")


def taken_by_slack(markdown: str) -> str:
    """What is neither a link nor an escape would be a code of Slack's, which can call people."""
    text = on_slack(markdown, limit=LIMIT)
    assert not re.search(r"[<>]", _SLACK_LINK.sub("", text).replace("\n>", "\n").removeprefix(">"))
    return unescaped(text)


def taken_by_discord(markdown: str) -> str:
    """Nothing that is said there pings anybody."""
    body = discord.message(markdown)
    assert body["allowed_mentions"] == {"parse": [], "replied_user": False}
    return str(body["content"])


PLATFORMS: Mapping[str, Platform] = {
    "telegram": Platform(shown=taken_by_telegram, unit=TextUnit.UTF16),
    "whatsapp": Platform(shown=lambda markdown: on_whatsapp(markdown, limit=LIMIT)),
    "slack": Platform(shown=taken_by_slack),
    "discord": Platform(shown=taken_by_discord, limit=discord.MAX_TEXT),
    "signal": Platform(shown=plain, limit=WITHOUT_CAP),
}

UNLIMITED: Mapping[str, Callable[[str], str]] = {
    "telegram": lambda markdown: on_telegram(markdown, limit=WITHOUT_CAP).text,
    "whatsapp": lambda markdown: on_whatsapp(markdown, limit=WITHOUT_CAP),
    "slack": lambda markdown: on_slack(markdown, limit=WITHOUT_CAP),
    "discord": discord.words,
    "signal": plain,
}
"""The same for any length, without what a platform says of it."""

_PIECES = st.sampled_from(
    [
        "**", "*", "_", "~~", "`", "```", "```py\n", "\n", "\n\n", "# ", "#### ", "- ", "1. ", "> ", "[", "![",
        "](https://x.test/a_b)", "](javascript:x)", "|", "\n| a | b |\n|---|---|\n| c | d |\n", "---", "<b>",
        "</b>", "<script>", "<pre>", "</code>", "<@U0OWN>", "<!channel>", "@everyone", "&lt;", "\\", "é", "🙂",
        "👍🏽", " ", "    ", "snake_case", "2*3", "\u202e", "\xa0", "\x07", "\ud83d",
    ]
)  # fmt: skip
_WORDS = st.integers(0, 999).map(lambda number: f" word{number} ")
ANSWERS = st.lists(_PIECES | _WORDS | st.text(max_size=5), min_size=1, max_size=150).map("".join)


def messages_of(markdown: str, platform: Platform) -> list[str]:
    """What people see of an answer, message by message."""
    pieces = split(markdown, limit=platform.limit, unit=platform.unit)
    return [platform.shown(piece) for piece in pieces]


@pytest.mark.parametrize("name", PLATFORMS)
@settings(max_examples=60)
@given(answer=ANSWERS)
def test_every_message_of_an_answer_is_one_that_the_platform_takes(name: str, answer: str) -> None:
    platform = PLATFORMS[name]
    for message in messages_of(answer, platform):
        assert units(message, platform.unit) <= platform.limit
        assert message.strip()
        message.encode()


@pytest.mark.parametrize("name", PLATFORMS)
@settings(max_examples=60)
@given(answer=ANSWERS)
def test_no_word_of_an_answer_is_lost(name: str, answer: str) -> None:
    in_code = re.compile(
        r"(?:```|~~~)[^\n]*"
    )  # the line of a fence may be said again, and its language is not shown
    said = re.findall(r"word\d+", in_code.sub("", answer))
    heard = re.findall(r"word\d+", in_code.sub("", "\n".join(messages_of(answer, PLATFORMS[name]))))
    assert not Counter(said) - Counter(heard)


@pytest.mark.parametrize("name", PLATFORMS)
@settings(max_examples=60)
@given(
    words=st.lists(
        st.sampled_from(["**b**", "_i_", "`c`", "# h", "\n", "\n\n- x", "```\nx\n```", "| a |\n|---|\n"])
    )
)
def test_no_tag_of_ours_is_ever_shown(name: str, words: list[str]) -> None:
    assert not [message for message in messages_of("".join(words), PLATFORMS[name]) if "<" in message]


@pytest.mark.parametrize("name", PLATFORMS)
def test_tags_that_the_agent_wrote_are_words_like_others(name: str) -> None:
    (message,) = messages_of("<b>bold</b> and <script>alert(1)</script>", PLATFORMS[name])
    assert message == "<b>bold</b> and <script>alert(1)</script>"


@pytest.mark.parametrize("name", PLATFORMS)
@pytest.mark.parametrize(
    "piece",
    [
        "**a ", "*a ", "_a_ ", "*_~~", "[", "![", "[a](", "`", "``", "> ", "- a\n", "- a\n  ", "1. ", "|a",
        "| a |\n", "# ", "#### a\n", "```\na\n```\n", "<", "<!--", "<@U1>", "&", "&amp;", "\\", "\n", "    a\n",
        "🙂", "\ud83d",
    ],
)  # fmt: skip
def test_the_work_grows_with_the_text_and_no_faster(name: str, piece: str) -> None:
    assert growth(UNLIMITED[name], piece, length=400) < 5


def test_every_platform_that_has_a_cap_is_held_to_it() -> None:
    assert {ChannelName(name) for name in PLATFORMS} == CAPS.keys() - {"cli"}
    assert {name for name, caps in CAPS.items() if caps.text_unit is TextUnit.UTF16} == {
        ChannelName(name) for name, platform in PLATFORMS.items() if platform.unit is TextUnit.UTF16
    }
