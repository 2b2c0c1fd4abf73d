"""What people write on Slack, as they see it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.channels.slack.markdown import escape
from fermix.infrastructure.channels.slack.words_in import unescaped, written

US = "U0BOT"


def test_escapes_are_undone_once_and_links_keep_their_address_and_label() -> None:
    said = written(
        "if a &lt; b &amp;&amp; c &gt; d see <https://x.test/?a=1&amp;b=2|docs> and literal &amp;lt; <@U0BOT>",
        us=US,
    )
    assert said.text == "if a < b && c > d see docs (https://x.test/?a=1&b=2) and literal &lt;"
    assert said.raw_text == f"{said.text} @U0BOT"


@pytest.mark.parametrize(
    ("escaped", "shown"),
    [
        ("<https://x.test/a>", "https://x.test/a"),
        ("<https://x.test|x.test>", "https://x.test"),
        ("<mailto:ann@x.test|ann@x.test>", "ann@x.test"),
        ("<tel:+15551230001>", "+15551230001"),
        ("<#C0A|general> <#C0B>", "#general #C0B"),
        ("<@U0ANN|ann> <@W0BEN>", "@ann @W0BEN"),
        ("<!here> <!channel> <!everyone>", "@here @channel @everyone"),
        ("<!subteam^S1|@devs> <!subteam^S2>", "@devs @subteam"),
        ("<!date^1392734382^{date}|Feb 18>", "Feb 18"),
        ("a < b", "a < b"),
        ("<>", ""),
        ("&copy; &#39; &quot;", "&copy; &#39; &quot;"),
    ],
)
def test_codes_read_as_people_see_them(escaped: str, shown: str) -> None:
    assert unescaped(escaped) == shown


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        ("<@U0BOT> /help", "/help"),
        ("<@U0BOT>: hi", "hi"),
        ("  <@U0BOT>, hi", "hi"),
        ("hi <@U0BOT>", "hi"),
        ("ask <@U0BOT> please", "ask @U0BOT please"),
        ("<@U0BOT> ask <@U0ANN>", "ask @U0ANN"),
        ("<@U0BOT>", ""),
    ],
)
def test_our_name_is_taken_off_at_the_ends(escaped: str, text: str) -> None:
    assert written(escaped, us=US).text == text


@given(
    st.lists(st.sampled_from(["<@U0BOT>", "<@U0ANN|ann>", "&lt;", "x", "<!here>", " ", "🎉"]), max_size=12)
)
def test_every_mention_stands_where_it_says(pieces: list[str]) -> None:
    said = written("".join(pieces), us=US)
    assert len(said.mentions) == sum(piece.startswith("<@") for piece in pieces)
    for one in said.mentions:
        name = said.raw_text[int(str(one["start"])) : int(str(one["end"]))]
        assert name == ("@U0BOT" if one["is_us"] else "@ann")


@given(st.text())
def test_what_was_escaped_reads_as_before(text: str) -> None:
    assert unescaped(escape(text)) == text
