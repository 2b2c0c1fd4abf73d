"""How far chats were read, which calls would come too fast, and what errors mean."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelTargetGone,
    ChannelUnreachable,
)
from fermix.infrastructure.channels.discord.channel import account_of
from fermix.infrastructure.channels.discord.cursor import MAX_CHATS, Place, Places, first_id, read_places
from fermix.infrastructure.channels.discord.errors import (
    NoAnswer,
    NotSent,
    Refused,
    TooSoon,
    listen_error,
    read_refusal,
    send_error,
)
from fermix.infrastructure.channels.discord.limits import Lane, RateLimits
from fermix.infrastructure.channels.discord.wire_out import enforced
from fermix.testing.servers.discord_api.server import TOKEN
from fermix.testing.servers.discord_api.world import BOT

PLACES = st.builds(Place, message=st.integers(0, 2**63), guild=st.none() | st.integers(1, 2**63).map(str))
CHATS = st.dictionaries(st.integers(1, 2**63).map(str), PLACES, max_size=20)
HERE = Lane(route="POST /channels/{channel_id}/messages", about="5")
THERE = Lane(route="POST /channels/{channel_id}/messages", about="6")


@given(CHATS)
def test_places_are_read_as_they_were_written(chats: dict[str, Place]) -> None:
    assert read_places(Places(chats=chats).text).chats == chats


@given(CHATS, CHATS)
def test_merged_places_never_go_back(one: dict[str, Place], other: dict[str, Place]) -> None:
    merged = Places(chats=one).merged(Places(chats=other)).chats
    assert all(merged[chat].message >= place.message for each in (one, other) for chat, place in each.items())


@pytest.mark.parametrize(
    "odd", [None, "", "5", "null", "{}", '{"version":1,"chats":{"5":7}}', "\ud83d", "[1"]
)
def test_a_cursor_of_another_form_knows_no_chat(odd: str | None) -> None:
    assert read_places(odd).chats == {}


def test_the_chats_of_the_newest_messages_are_kept() -> None:
    places = Places()
    for number in range(MAX_CHATS + 10):
        places = places.moved(str(number), Place(message=number))
    assert len(places.chats) == MAX_CHATS
    assert "9" not in places.chats
    assert str(MAX_CHATS + 9) in places.chats


def test_ids_grow_with_time() -> None:
    then = datetime(2026, 1, 1, tzinfo=UTC)
    assert first_id(then) < first_id(then + timedelta(milliseconds=1))
    assert first_id(datetime(2010, 1, 1, tzinfo=UTC)) == 0


def test_a_used_up_limit_holds_its_chat_and_no_other() -> None:
    limits = RateLimits()
    limits.note(HERE, {"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "2.5"}, now=10.0)
    assert limits.wait(HERE, now=11.0) == 1.5
    assert limits.wait(THERE, now=11.0) == 0
    assert limits.wait(HERE, now=12.5) == 0


def test_calls_of_one_bucket_share_their_limit() -> None:
    limits = RateLimits()
    other = Lane(route="PATCH x", about="5")
    for lane in (HERE, other):
        limits.note(lane, {"x-ratelimit-bucket": "b", "x-ratelimit-remaining": "1"}, now=0.0)
    limits.refused(other, 3.0, is_global=False, now=0.0)
    assert limits.wait(HERE, now=1.0) == 2.0


def test_a_global_refusal_holds_everything() -> None:
    limits = RateLimits()
    limits.refused(HERE, 3.0, is_global=True, now=0.0)
    assert limits.wait(THERE, now=1.0) == 2.0


@given(st.dictionaries(st.sampled_from(["x-ratelimit-remaining", "x-ratelimit-reset-after"]), st.text()))
def test_odd_headers_are_no_limits(headers: dict[str, str]) -> None:
    limits = RateLimits()
    limits.note(HERE, headers, now=0.0)
    assert 0 <= limits.wait(HERE, now=0.0) < float("inf")


REMEDIES = [
    (NotSent("x"), ChannelUnreachable),
    (TooSoon(3), ChannelRateLimited),
    (NoAnswer("x"), ChannelOutcomeUnknown),
    (Refused(429, retry_after=3), ChannelRateLimited),
    (Refused(401, description="401: Unauthorized"), ChannelUnreachable),
    (Refused(503), ChannelUnreachable),
    (Refused(500, description="x"), ChannelOutcomeUnknown),
    (Refused(403), ChannelUnreachable),
    (Refused(403, code=50013, description="Missing Permissions"), ChannelRejected),
    (Refused(403, code=50007, description="Cannot send messages to this user"), ChannelTargetGone),
    (Refused(404, code=10003, description="Unknown Channel"), ChannelTargetGone),
    (Refused(413), ChannelRejected),
    (Refused(400, code=50035, description="Invalid Form Body"), ChannelRejected),
]


@pytest.mark.parametrize(("failed", "remedy"), REMEDIES)
def test_every_failure_says_what_can_be_done(
    failed: NotSent | NoAnswer | Refused, remedy: type[Exception]
) -> None:
    assert type(send_error(failed)) is remedy


def test_only_a_refused_token_is_for_good_when_listening() -> None:
    assert isinstance(listen_error(Refused(401)), ChannelRejected)
    for failed in (Refused(403), Refused(500), NotSent("x"), NoAnswer("x")):
        assert isinstance(listen_error(failed), ChannelUnreachable)


def test_a_refusal_is_read_from_what_discord_says_and_from_what_stands_before_it() -> None:
    limited = read_refusal(429, {}, b'{"message": "slow", "retry_after": 1.5, "global": true}')
    assert isinstance(limited, Refused)
    assert (limited.retry_after, limited.is_global) == (1.5, True)
    banned = read_refusal(429, {"retry-after": "7"}, b"<html>")
    assert isinstance(banned, Refused)
    assert banned.retry_after == 7
    odd = read_refusal(429, {"retry-after": "nan"}, b"<html>")
    assert isinstance(odd, Refused)
    assert odd.retry_after == 60


@given(st.text(min_size=1))
def test_a_nonce_fits_and_is_the_same_for_the_same_part(nonce: str) -> None:
    assert enforced(nonce) == enforced(nonce)
    assert 0 < len(enforced(nonce)) <= 25


def test_the_account_stands_in_the_token() -> None:
    assert account_of(TOKEN) == BOT
    assert account_of("no token at all", otherwise="7") == "7"
    assert account_of("ä.b.c") == "bot"
