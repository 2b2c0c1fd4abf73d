"""Slack's events and commands as facts, whatever their shape."""

import json
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.commands.registry import COMMANDS
from fermix.infrastructure.channels.slack.bolt import SlackApp
from fermix.infrastructure.channels.slack.calls import Call, Malformed, Odd, Verification, read_call
from fermix.infrastructure.channels.slack.channel import account_of, names_of
from fermix.infrastructure.channels.slack.wire_in import Unreadable, Us, read_command, read_event

US = Us(user="U0BOT", bot="B0SELF")
NAMES = names_of(COMMANDS)

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_FIELDS = [
    "type", "subtype", "user", "channel", "channel_type", "ts", "text", "thread_ts", "parent_user_id", "files",
    "attachments", "edited", "bot_id", "team", "message", "previous_message", "item", "assistant_thread", "hidden",
    "user_profile", "username", "user_id", "channel_id", "inputs", "function_execution_id", "user_team",
]  # fmt: skip
_AROUND = [
    "type", "event", "authorizations", "team_id", "team", "user", "channel", "enterprise_id", "enterprise", "view",
    "is_ext_shared_channel", "response_urls", "response_url", "context_team_id", "token", "is_enterprise_install",
]  # fmt: skip


def event(**more: Any) -> dict[str, Any]:
    """A message in order."""
    return {
        "type": "message",
        "channel": "D0OWN",
        "channel_type": "im",
        "user": "U0OWN",
        "text": "hello",
        "ts": "1790000000.000100",
        **more,
    }


def heard(**more: Any) -> Any:
    return read_event({"type": "event_callback", "team_id": "T0ACME", "event": event(**more)}, US)


@pytest.mark.requirement("ingress.dedupe.platform_keys")
def test_a_mention_and_its_message_are_one_message_of_channel_and_ts() -> None:
    place = {"channel": "C0A", "text": "<@U0BOT> hi", "ts": "1700000010.000100"}
    mention = read_event({"event": {"type": "app_mention", "user": "U0OWN", **place}}, US)
    message = heard(**place, channel_type="channel")
    assert mention is not None
    for name in ("key", "id", "content", "chat_id", "chat_kind", "mentions"):
        assert mention[name] == message[name]
    assert (message["key"], message["chat_kind"]) == ("C0A:1700000010.000100", "channel")


@pytest.mark.parametrize("subtype", [None, "file_share", "thread_broadcast", "me_message"])
def test_subtypes_that_somebody_wrote_are_messages(subtype: str | None) -> None:
    assert heard(subtype=subtype)["content"] == "hello"


@pytest.mark.parametrize(
    "what",
    [
        {"subtype": "message_deleted", "hidden": True},
        {"subtype": "message_changed", "message": event(user="U0OWN")},
        {"subtype": "channel_join"},
        {"subtype": "channel_topic"},
        {"subtype": "bot_message", "bot_id": "B0SELF", "user": None},
        {"bot_id": "B0SELF"},
        {"user": "U0BOT"},
        {"type": "reaction_added"},
        {"type": "app_home_opened"},
    ],
)
def test_what_nobody_wrote_and_what_we_wrote_is_silent(what: dict[str, Any]) -> None:
    assert heard(**what) is None


def test_another_bot_is_told_to_be_one() -> None:
    told = heard(bot_id="B0OTHER")
    assert (told["sender_is_bot"], told["sender_id"]) == (True, "U0OWN")


@pytest.mark.requirement("channel.slack.dm_keeps_thread")
def test_a_direct_message_keeps_its_thread() -> None:
    told = heard(thread_ts="1789999999.000100")
    assert (told["chat_kind"], told["thread_ts"]) == ("direct", "1789999999.000100")
    assert heard()["thread_ts"] is None


@pytest.mark.parametrize(
    ("channel", "kind", "told"),
    [("C0A", "mpim", "group"), ("C0A", "group", "channel"), ("G0A", None, "group"), ("D0A", None, "direct"),
     ("X0A", None, "channel"), ("D0A", "new kind", "direct"), ("C0A", ["im"], "channel")],
)  # fmt: skip
def test_the_kind_of_chat_is_told_or_read_from_its_id(channel: str, kind: object, told: str) -> None:
    assert heard(channel=channel, channel_type=kind)["chat_kind"] == told


def test_a_preview_that_was_added_is_no_edit() -> None:
    same = {**event(), "edited": {"ts": "1790000001.000000"}, "attachments": [{"title": "a page"}]}
    assert heard(subtype="message_changed", message=same, previous_message=event()) is None
    other = {**same, "text": "hullo"}
    told = heard(subtype="message_changed", message=other, previous_message=event())
    assert (told["content"], told["key"]) == ("hullo", "D0OWN:1790000000.000100")


@pytest.mark.requirement("media.references_per_platform")
@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ({"id": "F1", "mimetype": "image/png"}, "image"),
        ({"id": "F1", "mimetype": "audio/mp4"}, "audio"),
        ({"id": "F1", "mimetype": "application/pdf"}, "file"),
        ({"id": "F1", "mimetype": None}, "file"),
        ({"id": "F1", "mode": "tombstone"}, "other"),
    ],
)
def test_files_are_told_by_their_id(file: dict[str, Any], kind: str) -> None:
    (told,) = heard(subtype="file_share", files=[file])["attachments"]
    assert (told["reference"], told["kind"]) == ("F1", kind)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("", "/help"),
        ("help", "/help"),
        ("NEW now", "/NEW now"),
        ("/stop", "/stop"),
        ("what is the time?", "what is the time?"),
        ("a &lt; b", "a < b"),
    ],
)
def test_a_native_command_is_a_command_or_what_is_said(text: str, content: str) -> None:
    payload = {
        "command": "/fermix",
        "text": text,
        "user_id": "U0OWN",
        "channel_id": "C0A",
        "trigger_id": "13.7.a",
        "team_id": "T0ACME",
    }
    told = read_command(payload, US, names=NAMES)
    assert (told["content"], told["key"], told["chat_kind"]) == (content, "command:13.7.a", "channel")
    assert told["mentions"][0]["is_us"] is True
    for name in ("command", "user_id", "channel_id", "trigger_id"):
        with pytest.raises(Unreadable):
            read_command({**payload, name: ""}, US, names=NAMES)


@pytest.mark.parametrize(
    ("body", "kind", "read"),
    [
        (b'{"type":"url_verification","challenge":"c"}', "application/json", Verification(challenge="c")),
        (b'{"type":"url_verification"}', "application/json", Malformed()),
        (b"not json", "application/json", Malformed()),
        (b"\xff", "application/json", Malformed()),
        (b"[" * 100_000, "application/json", Malformed()),
        (b"[]", "application/json", Malformed()),
        (b"", "application/json", Malformed()),
        (b'{"type":"app_rate_limited"}', "application/json", Odd()),
        (b"payload=%7B%7D", "application/x-www-form-urlencoded", Odd()),
        (b"\xff", "application/x-www-form-urlencoded", Malformed()),
    ],
)
def test_a_call_is_judged_by_its_body(body: bytes, kind: str, read: object) -> None:
    assert read_call(body, kind) == read


@given(
    st.dictionaries(st.sampled_from(_FIELDS), _JSON, max_size=4),
    st.dictionaries(st.sampled_from(_AROUND), _JSON, max_size=2),
    st.booleans(),
)
def test_the_framework_and_we_survive_whatever_passes_as_a_call(
    odd: dict[str, Any], around: dict[str, Any], nest: bool
) -> None:
    inner = {**event(), **odd}
    if nest:
        inner = {**event(subtype="message_changed"), "message": inner, "previous_message": event()}
    body = json.dumps({"type": "event_callback", "team_id": "T", "event": inner, **around})
    read = read_call(body.encode(), "application/json")
    if not isinstance(read, Call):
        return
    seen = list[Any]()

    async def take(payload: Any) -> int:
        seen.append(payload)
        try:
            read_event(payload, US)
        except Unreadable:
            return 200
        return 200

    async def dispatch() -> int:
        app = SlackApp(take_event=take, take_command=take)
        return await app.dispatch(read.body, "application/json")

    assert anyio.run(dispatch) == 200
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("token", "account"),
    [("xoxb-1111-2222-secret", "1111-2222"), ("xoxe.xoxb-1-secret", "bot"), ("xoxb-secret", "bot")],
)
def test_an_account_outlives_its_token_and_tells_no_secret(token: str, account: str) -> None:
    assert account_of(token) == account
