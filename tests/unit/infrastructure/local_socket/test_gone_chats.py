"""Chats that are gone reach their owner: over the control socket, as a table, and as a document."""

import json
from datetime import UTC, datetime, timedelta

from fermix.application.ports.lane_control import QueueReport
from fermix.application.ports.queue_listing import GoneChat, QueueListing
from fermix.domain.ids import AccountId, ChannelName, ChatId
from fermix.domain.route import Route
from fermix.entrypoints.cli.lane_text import queue_text
from fermix.entrypoints.cli.queue_command import document_of
from fermix.infrastructure.local_socket.lane_wire import decode_queue, encode_queue

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
CHAT = Route(channel=ChannelName("telegram"), account=AccountId("5000"), chat=ChatId("-77"))
REPORT = QueueReport(
    at=NOON,
    listing=QueueListing(
        gone=(GoneChat(chat=CHAT, error="bot was kicked\u202e", since=NOON - timedelta(hours=2)),)
    ),
)


def test_a_chat_that_is_gone_survives_the_wire() -> None:
    assert decode_queue(json.loads(json.dumps(encode_queue(REPORT)))) == REPORT


def test_a_chat_that_is_gone_is_named_with_what_the_platform_says() -> None:
    text = queue_text(REPORT)
    assert "Chats that are gone" in text
    assert "telegram -77" in text
    assert "2 h 0 min" in text
    assert "\u202e" not in text


def test_a_chat_that_is_gone_stands_in_the_document() -> None:
    (gone,) = document_of(REPORT)["gone"]
    assert (gone["channel"], gone["chat"], gone["since"]) == ("telegram", "-77", "2026-11-30T10:00:00+00:00")
