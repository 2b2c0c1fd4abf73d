"""Each way a call fails, sorted by what is to be done about it."""

from datetime import timedelta

import orjson
import pytest

from fermix.application.ports.channel import (
    ChannelError,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelTargetGone,
    ChannelUnreachable,
)
from fermix.infrastructure.channels.telegram.errors import (
    ANOTHER_POLLER,
    CREDENTIAL_REFUSED,
    NoAnswer,
    NotSent,
    Refused,
    listen_error,
    read_refusal,
    send_error,
)


def refusal(code: int, description: str = "", **parameters: object) -> Refused:
    body = {"ok": False, "error_code": code, "description": description, "parameters": parameters}
    found = read_refusal(code, orjson.dumps(body))
    assert isinstance(found, Refused)
    return found


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (NotSent("ConnectError"), ChannelUnreachable),
        (NoAnswer("ReadTimeout"), ChannelOutcomeUnknown),
        (refusal(400, "Bad Request: chat not found"), ChannelTargetGone),
        (refusal(403, "Forbidden: bot was blocked by the user"), ChannelTargetGone),
        (refusal(400, "Bad Request: message thread not found"), ChannelRejected),
        (refusal(401), ChannelUnreachable),
        (refusal(404), ChannelUnreachable),
        (refusal(429, retry_after=7), ChannelRateLimited),
        (refusal(500), ChannelOutcomeUnknown),
        (refusal(502), ChannelOutcomeUnknown),
        (refusal(503), ChannelUnreachable),
    ],
)
def test_a_failed_send(failure: NotSent | NoAnswer | Refused, kind: type[ChannelError]) -> None:
    assert type(send_error(failure)) is kind


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (NotSent("ConnectError"), ChannelUnreachable),
        (NoAnswer("ReadTimeout"), ChannelUnreachable),
        (refusal(400), ChannelUnreachable),
        (refusal(401), ChannelRejected),
        (refusal(404), ChannelRejected),
        (refusal(409, "Conflict: terminated by other getUpdates request"), ChannelRejected),
        (refusal(429, retry_after=7), ChannelRateLimited),
        (refusal(502), ChannelUnreachable),
    ],
)
def test_a_failed_poll(failure: NotSent | NoAnswer | Refused, kind: type[ChannelError]) -> None:
    assert type(listen_error(failure)) is kind


@pytest.mark.parametrize(
    ("said", "wait"), [(7, 7), (0.5, 0.5), (None, 5), ("soon", 5), (True, 5), (-1, 0), (10**9, 24 * 3600)]
)
def test_the_wait_that_the_server_asks_for_is_kept_within_reason(said: object, wait: float) -> None:
    error = send_error(refusal(429, retry_after=said))
    assert isinstance(error, ChannelRateLimited)
    assert error.retry_after == timedelta(seconds=wait)


def test_the_owner_reads_what_to_do() -> None:
    assert str(listen_error(refusal(401))) == CREDENTIAL_REFUSED
    assert str(listen_error(refusal(409, "terminated by other getUpdates request"))) == ANOTHER_POLLER


def test_the_two_conflicts_are_told_apart() -> None:
    assert refusal(409, "Conflict: can't use getUpdates method while webhook is active").is_left_webhook
    assert not refusal(409, "Conflict: terminated by other getUpdates request").is_left_webhook


@pytest.mark.parametrize("body", [b"<html>502</html>", b"", b"[]", b"null", b'{"ok":tr'])
def test_a_page_of_a_proxy_is_read_by_its_status(body: bytes) -> None:
    found = read_refusal(502, body)
    assert isinstance(found, Refused)
    assert found.status == 502
    assert isinstance(read_refusal(200, body), NoAnswer)


def test_a_refusal_inside_a_200_is_a_refusal() -> None:
    found = read_refusal(200, b'{"ok":false,"error_code":400,"description":"Bad Request: x"}')
    assert isinstance(found, Refused)
    assert found.status == 400


def test_an_edit_that_changes_nothing_and_a_moved_group_are_known() -> None:
    assert refusal(400, "Bad Request: message is not modified: same").says_nothing_changed
    assert refusal(400, "Bad Request: group chat was upgraded", migrate_to_chat_id=-100).migrate_to == -100
    assert refusal(400, "Bad Request: can't parse entities: x").is_about_entities
