"""Routes, targets and origins: one text for one place, whatever the ids are made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId, ThreadId
from fermix.domain.route import Route, Target, origin_of, route_of, target_of
from tests.unit.domain import samples

tricky = st.sampled_from(
    ["", "/", "%", "%2F", "a/b", "a%2Fb", " ", ".", "..", "\x00", "é", "\ud800", "a", "b"]
)
parts = tricky | samples.any_text
routes = st.builds(Route, channel=parts, account=parts, chat=parts, thread=st.none() | parts)


@given(route=routes)
def test_a_route_reads_back_from_its_key(route: Route) -> None:
    assert Route.parse(route.key) == route


@given(first=routes, second=routes)
def test_routes_share_a_key_only_when_they_are_equal(first: Route, second: Route) -> None:
    assert (first.key == second.key) == (first == second)


@given(key=st.lists(tricky | st.text("%0aAfF2", max_size=6), max_size=6).map("/".join) | samples.any_text)
def test_what_is_read_as_a_key_is_the_key_of_what_was_read(key: str) -> None:
    try:
        route = Route.parse(key)
    except ValueError:
        return
    assert route.key == key


@pytest.mark.parametrize(
    "key", ["", "telegram", "a/b", "a/b/c/d/e", "%61/b/c", "a b/c/d", "a/b/%ff", "a/b/%2f"]
)
def test_a_text_that_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        Route.parse(key)


def test_a_chat_id_cannot_imitate_a_thread_of_another_chat() -> None:
    thread = Route(
        channel=ChannelName("slack"), account=AccountId("T"), chat=ChatId("C1"), thread=ThreadId("9")
    )
    chat = Route(channel=ChannelName("slack"), account=AccountId("T"), chat=ChatId("C1/9"))
    assert thread.key != chat.key


@pytest.mark.requirement("lane.thread_is_part_of_the_route")
def test_the_root_of_a_chat_and_each_of_its_threads_are_different_routes() -> None:
    root = samples.message(samples.SLACK, chat_id="C1")
    one = samples.message(samples.SLACK, chat_id="C1", thread_ts="1.5")
    other = samples.message(samples.SLACK, chat_id="C1", thread_ts="2.5")
    assert len({route_of(message).key for message in (root, one, other)}) == 3


def test_a_thread_named_by_number_or_by_text_is_the_same_thread() -> None:
    number, text = samples.message(thread_ts=15), samples.message(thread_ts="15")
    assert route_of(number) == route_of(text)


def test_an_answer_may_open_a_thread_for_route_and_target_alike() -> None:
    message = samples.message(samples.SLACK, id="1.5", chat_id="C1", reply_target="C1")
    route, target = (
        route_of(message, thread=ThreadId("1.5")),
        target_of(message, thread=ThreadId("1.5")),
    )
    assert (route.thread, target.thread) == (ThreadId("1.5"), ThreadId("1.5"))
    assert route.key == target.key


def test_a_thread_of_its_own_gives_way_to_the_one_that_was_opened() -> None:
    message = samples.message(thread_ts="1")
    assert route_of(message).thread == "1"
    assert route_of(message, thread=ThreadId("2")).thread == "2"


def test_replies_go_to_the_reply_target_and_point_at_the_message() -> None:
    target = target_of(samples.message(id=7, chat_id=42, reply_target=43))
    assert (target.channel, target.account, target.chat) == ("telegram", "5000", "43")
    assert target.reply_to == "7"


@given(reply_to=st.none() | st.text().map(PlatformMessageId), route=routes)
def test_the_message_replied_to_takes_no_part_in_the_order(
    reply_to: PlatformMessageId | None, route: Route
) -> None:
    target = Target(
        channel=route.channel,
        account=route.account,
        chat=route.chat,
        thread=route.thread,
        reply_to=reply_to,
    )
    assert target.key == route.key


def test_an_origin_is_one_account_of_one_channel() -> None:
    assert origin_of(samples.message()) == "telegram:5000"
