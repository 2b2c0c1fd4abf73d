"""Values as they are typed and pasted: what is trimmed, what is taken, and what is asked again with a reason."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.entrypoints.cli.setup.values import NO_ID, SECTIONS, Unfit, cleaned, fitting, is_secret

AROUND = st.text(st.sampled_from(" \t\r\n\u200b\ufeff\u00a0"), max_size=5)
TOKENS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=60)
KEY = ("fermix_core", "providers", "openai", "api_key")


def channel(name: str, key: str) -> tuple[str, ...]:
    return ("fermix_channels", name, key)


@given(AROUND, TOKENS, AROUND)
def test_what_pasting_leaves_around_a_token_is_trimmed(before: str, token: str, after: str) -> None:
    assert cleaned(f"{before}\x1b[200~{before}{token}{after}\x1b[201~{after}") == token
    assert fitting(KEY, f"{before}{token}{after}") == token


@given(st.text(max_size=80))
def test_trimming_twice_is_trimming_once(text: str) -> None:
    assert cleaned(cleaned(text)) == cleaned(text)


@given(st.text(max_size=60))
def test_a_key_is_one_line_of_ascii_or_refused(text: str) -> None:
    with suppress(Unfit):
        taken = fitting(KEY, text)
        assert taken
        assert taken.isascii()
        assert taken.isprintable()
        assert " " not in taken


@given(TOKENS.filter(lambda token: len(token) > 7))
def test_no_refusal_repeats_a_secret(token: str) -> None:
    with pytest.raises(Unfit) as refused:
        fitting(KEY, f"{token} {token}")
    assert token not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        (KEY, " \n", "must not be empty"),
        (KEY, "@keyring ", "the value itself"),
        (KEY, "sk-one two", "has a space"),
        (KEY, "sk-\x1b[31mred", "control character"),
        (KEY, "x" * 20_000, "must not be longer"),
        (("fermix_core", "providers", "mine", "base_url"), "localhost:8000", "begins with http://"),
        (("fermix_core", "providers", "openai", "reasoning_effort"), "hihg", 'did you mean "high"?'),
        (("fermix_core", "transcription", "backend"), "deepgrm", 'did you mean "deepgram"?'),
        (channel("telegram", "bot_token"), "AAF-only-the-end", "@BotFather"),
        (channel("telegram", "owner_user_id"), "@ada", NO_ID["telegram"]),
        (channel("telegram", "owner_user_id"), "-1001234", NO_ID["telegram"]),
        (channel("telegram", "owner_user_id"), "777000", NO_ID["telegram"]),
        (channel("discord", "owner_user_id"), "ada#1234", NO_ID["discord"]),
        (channel("slack", "owner_user_id"), "@ada", NO_ID["slack"]),
        (channel("slack", "bot_token"), "xoxp-1", "xoxb-"),
        (channel("slack", "app_token"), "xoxb-1", "xapp-"),
        (channel("whatsapp", "owner_user_id"), "ada", NO_ID["whatsapp"]),
        (channel("signal", "owner_user_id"), "ada", NO_ID["signal"]),
        (channel("signal", "account"), "0151 234", "country code"),
    ],
)
def test_what_is_none_for_its_key_is_refused_with_the_reason(
    path: tuple[str, ...], text: str, reason: str
) -> None:
    with pytest.raises(Unfit, match=r".") as refused:
        fitting(path, text)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("telegram", " 1001\n"),
        ("whatsapp", "+49 151 2345678"),
        ("discord", "900000000000000001"),
        ("slack", "U012AB3CD"),
        ("signal", "3f2b1c4d-0000-4000-8000-0123456789ab"),
    ],
)
def test_an_id_of_each_platform_is_taken(name: str, text: str) -> None:
    assert fitting(channel(name, "owner_user_id"), text) == text.strip()


def test_secrets_are_known_by_their_key() -> None:
    assert is_secret(KEY)
    assert not is_secret(("fermix_core", "providers", "openai", "default_model"))
    assert {name for name in SECTIONS if name != "signal"} == {
        name for name in SECTIONS if name != "signal" and is_secret(channel(name, _secret_of(name)))
    }


def _secret_of(name: str) -> str:
    return "access_token" if name == "whatsapp" else "bot_token"
