"""What leaves: text in its thread, files in three steps, reactions that take each other's place, drafts."""

from contextlib import aclosing
from datetime import timedelta

import anyio
import pytest

from fermix.application.ports.channel import (
    ChannelError,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelTargetGone,
    ChannelUnreachable,
    Delivered,
    OutgoingPart,
)
from fermix.domain.delivery import MediaKind, MediaPart, Part, ReactionPart, TextPart
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId, ThreadId
from fermix.domain.route import Target
from fermix.infrastructure.channels.slack.channel import SlackChannel
from fermix.infrastructure.channels.slack.web_api import SlackApi
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from fermix.testing.servers.slack_api.server import TOKEN, SlackServer

pytestmark = pytest.mark.anyio

TOPIC = "1790000000.000100"


def target(chat: str = "D0OWN", thread: str | None = None) -> Target:
    return Target(
        channel=ChannelName("slack"),
        account=AccountId("1"),
        chat=ChatId(chat),
        thread=None if thread is None else ThreadId(thread),
    )


async def sent(channel: SlackChannel, body: Part, **place: str) -> Delivered:
    with anyio.fail_after(10):
        return await channel.send(OutgoingPart(target=target(**place), body=body, nonce="n"))


async def picture(blobs: MemoryBlobs, content: bytes, caption: str = "") -> MediaPart:
    async with aclosing(in_pieces(content)) as pieces:
        blob = await blobs.store(pieces, limit=len(content))
    return MediaPart(kind=MediaKind.IMAGE, blob=blob, file_name="cat.png", caption=caption)


async def test_a_text_stands_in_its_thread_calls_nobody_and_shows_no_preview(
    channel: SlackChannel, server: SlackServer
) -> None:
    delivered = await sent(channel, TextPart(text="**Hi** <!channel> & [x](https://x.test)"), thread=TOPIC)
    (message,) = server.sent(1)
    assert message.text == "*Hi* &lt;!channel&gt; &amp; <https://x.test|x>"
    assert (message.thread, message.ts) == (TOPIC, delivered.platform_id)
    given = message.parameters
    assert (given["parse"], given["link_names"], given["unfurl_links"], given["unfurl_media"]) == (
        "none",
        False,
        False,
        False,
    )


async def test_the_answer_to_a_native_command_in_a_channel_stands_at_its_root(
    channel: SlackChannel, server: SlackServer
) -> None:
    await sent(channel, TextPart(text="hi"), chat="C0A", thread="13345224609.738474920.8088930838d88f008e0")
    assert server.sent(1)[0].thread is None


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"status": 429, "error": "ratelimited", "retry_after": 3}, ChannelRateLimited),
        ({"error": "ratelimited"}, ChannelRateLimited),
        ({"error": "msg_too_long"}, ChannelRejected),
        ({"error": "missing_scope"}, ChannelRejected),
        ({"error": "an_error_that_is_new"}, ChannelRejected),
        ({"error": "channel_not_found"}, ChannelTargetGone),
        ({"error": "is_archived"}, ChannelTargetGone),
        ({"error": "not_in_channel"}, ChannelTargetGone),
        ({"error": "token_revoked"}, ChannelUnreachable),
        ({"error": "service_unavailable"}, ChannelUnreachable),
        ({"status": 503, "error": "Odd Words"}, ChannelOutcomeUnknown),
        ({"error": "internal_error"}, ChannelOutcomeUnknown),
        ({"status": 500, "error": "fatal_error"}, ChannelOutcomeUnknown),
        ({"drop": "after"}, ChannelOutcomeUnknown),
        ({"body": "<html>502</html>"}, ChannelOutcomeUnknown),
        ({"body": '["ok"]'}, ChannelOutcomeUnknown),
        ({"body": ""}, ChannelOutcomeUnknown),
    ],
)
async def test_each_error_says_what_can_be_done(
    channel: SlackChannel, server: SlackServer, fault: dict[str, object], error: type[ChannelError]
) -> None:
    """An error in an answer with status 200 is one."""
    server.fault("chat.postMessage", **fault)
    with pytest.raises(error) as raised:
        await sent(channel, TextPart(text="hi"))
    assert type(raised.value) is error
    assert "words of Slack" not in str(raised.value)


async def test_a_wait_is_kept_for_its_chat_and_for_no_other(
    channel: SlackChannel, server: SlackServer, clock: StoppedClock
) -> None:
    wait = timedelta(seconds=3)
    server.fault("chat.postMessage", status=429, error="ratelimited", retry_after=3)
    for _ in range(2):
        with pytest.raises(ChannelRateLimited) as raised:
            await sent(channel, TextPart(text="hi"))
        assert raised.value.retry_after == wait
    assert server.called("chat.postMessage") == 1
    await sent(channel, TextPart(text="hi"), chat="C0A")
    clock.advance(wait)
    await sent(channel, TextPart(text="hi"))
    assert len(server.sent(2)) == 2


async def test_a_file_is_put_up_first_and_shown_with_its_words_in_its_thread(
    channel: SlackChannel, server: SlackServer, blobs: MemoryBlobs
) -> None:
    part = await picture(blobs, b"p" * 300_000, caption="a *cat* for <!here>")
    delivered = await sent(channel, part, thread=TOPIC)
    (message,) = server.sent(1)
    assert message.file is not None
    assert (message.file.data, message.file.name) == (b"p" * 300_000, "cat.png")
    assert (message.text, message.thread, delivered) == ("a _cat_ for &lt;!here&gt;", TOPIC, Delivered())
    assert [token for where, token in server.world.tokens_seen if where == "upload"] == [""]


@pytest.mark.parametrize(
    ("where", "fault", "error"),
    [
        ("files.getUploadURLExternal", {"drop": "after"}, ChannelUnreachable),
        ("files.getUploadURLExternal", {"error": "internal_error"}, ChannelUnreachable),
        ("files.getUploadURLExternal", {"status": 429, "error": "ratelimited"}, ChannelRateLimited),
        ("files.getUploadURLExternal", {"error": "missing_scope"}, ChannelRejected),
        ("upload", {"drop": "before"}, ChannelUnreachable),
        ("files.completeUploadExternal", {"drop": "after"}, ChannelOutcomeUnknown),
        ("files.completeUploadExternal", {"error": "channel_not_found"}, ChannelTargetGone),
    ],
)
async def test_only_the_last_step_of_a_file_can_have_an_unknown_end(
    channel: SlackChannel,
    server: SlackServer,
    blobs: MemoryBlobs,
    where: str,
    fault: dict[str, object],
    error: type[ChannelError],
) -> None:
    server.fault(where, **fault)
    with pytest.raises(ChannelError) as raised:
        await sent(channel, await picture(blobs, b"cat"))
    assert type(raised.value) is error


async def test_no_file_goes_to_a_foreign_address(server: SlackServer) -> None:
    api = SlackApi(token=TOKEN, root="https://slack.com/api")
    async with aclosing(in_pieces(b"cat")) as pieces:
        for url in (
            "https://evil.test/upload",
            "http://files.slack.com/u",
            "https://slack.com.evil.test/u",
            "x:",
        ):
            with pytest.raises(Exception, match="foreign"):
                await api.upload(url, pieces, size=3)
    await api.aclose()


async def test_an_empty_file_is_refused(
    channel: SlackChannel, server: SlackServer, blobs: MemoryBlobs
) -> None:
    with pytest.raises(ChannelRejected, match="empty"):
        await sent(channel, await picture(blobs, b""))
    assert server.world.calls == []


async def test_a_reaction_takes_the_place_of_ours_and_of_nobody_elses(
    channel: SlackChannel, server: SlackServer
) -> None:
    ts = server.event("hi")["ts"]
    server.world.reactions["D0OWN", ts] = ["wave"]
    for name in ("eyes", "eyes", "tada"):
        await sent(channel, ReactionPart(message=PlatformMessageId(ts), emoji=name))
    assert server.world.reactions["D0OWN", ts] == ["wave", "tada"]


async def test_a_draft_is_changed_in_place_and_made_final(channel: SlackChannel, server: SlackServer) -> None:
    drafts, place = channel.drafts, target(thread=TOPIC)
    draft = await drafts.open(place, "one")
    await drafts.edit(place, draft, "one <!here>")
    assert (server.sent(1)[0].text, server.sent(1)[0].thread) == ("one &lt;!here&gt;", TOPIC)
    assert await drafts.seal(place, draft, TextPart(text="**done**")) == Delivered(platform_id=draft)
    assert [message.text for message in server.sent(1)] == ["*done*"]
    await drafts.discard(place, draft)
    await drafts.discard(place, draft)
    assert server.shown() == []
    with pytest.raises(ChannelRejected):
        await drafts.edit(place, draft, "again")
    with pytest.raises(ChannelRejected):
        await drafts.edit(place, PlatformMessageId("not one"), "again")


async def test_a_wait_for_drafts_keeps_no_reply_from_leaving(
    channel: SlackChannel, server: SlackServer
) -> None:
    draft = await channel.drafts.open(target(), "one")
    server.fault("chat.update", status=429, error="ratelimited", retry_after=30)
    for _ in range(2):
        with pytest.raises(ChannelRateLimited):
            await channel.drafts.edit(target(), draft, "two")
    assert server.called("chat.update") == 1
    await sent(channel, TextPart(text="a reply"))
    await channel.drafts.seal(target(), draft, TextPart(text="three"))
    assert [message.text for message in server.sent(2)] == ["three", "a reply"]
