"""What Discord tells of a message, and what is made of it."""

from typing import Any

import pytest

from fermix.application.commands.registry import COMMANDS
from fermix.infrastructure.channels.discord.interactions import (
    command_list,
    read_interaction,
    same_commands,
)
from fermix.infrastructure.channels.discord.wire_in import (
    OddEvent,
    OurBot,
    Room,
    our_reactions,
    read_edit,
    read_message,
    read_reference,
    stored_file,
)
from fermix.testing.servers.discord_api.people_side import person

US = OurBot(id="9", application="8", name="fermix")
NOWHERE = Room()


def written(text: str = "hello", **more: Any) -> dict[str, Any]:
    return {
        "id": "77",
        "type": 0,
        "channel_id": "5",
        "author": person("42", "ann"),
        "content": text,
        "timestamp": "2026-11-30T12:00:00+00:00",
        **more,
    }


@pytest.mark.parametrize("kind", [1, 6, 7, 8, 18, 20, 21, 24, 46])
def test_notices_of_discord_are_no_messages(kind: int) -> None:
    assert read_message(written("Budget 2030", type=kind), US, NOWHERE) is None


@pytest.mark.parametrize("kind", [0, 19])
def test_messages_and_replies_are(kind: int) -> None:
    assert read_message(written(type=kind), US, NOWHERE) is not None


def test_what_we_wrote_ourselves_is_passed_over_and_what_other_bots_write_is_told() -> None:
    assert read_message(written(author=person("9", "fermix", bot=True)), US, NOWHERE) is None
    other = read_message(written(author=person("6", "other", bot=True)), US, NOWHERE)
    hook = read_message(written(webhook_id="6"), US, NOWHERE)
    assert other is not None
    assert other["sender_is_bot"]
    assert hook is not None
    assert hook["sender_is_bot"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<@9> hi", "hi"),
        ("<@!9>, hi", "hi"),
        ("hi <@9>", "hi"),
        ("ask <@9> about it", "ask <@9> about it"),
        ("<@7> hi <@9>", "<@7> hi"),
    ],
)
def test_our_name_is_taken_off_at_the_ends(text: str, left: str) -> None:
    raw = read_message(written(text, guild_id="3"), US, NOWHERE)
    assert raw is not None
    assert raw["content"] == left
    assert any(mention["is_us"] for mention in raw["mentions"])


@pytest.mark.parametrize(
    "text", ["`<@9>` hi", "```\n<@9>\n``` hi", "\\<@9> hi", "@everyone", "<@&9> hi", "hi"]
)
def test_what_stands_in_code_or_is_escaped_names_nobody(text: str) -> None:
    raw = read_message(written(text, guild_id="3"), US, NOWHERE)
    assert raw is not None
    assert not any(mention["is_us"] for mention in raw["mentions"])


def test_a_reply_that_names_its_author_without_a_word_names_us() -> None:
    raw = read_message(written("yes", mentions=[person("9", "fermix")]), US, NOWHERE)
    assert raw is not None
    assert raw["mentions"] == [{"id": "9", "start": 0, "end": 0, "is_us": True}]


def test_a_forwarded_message_tells_its_text_and_files_and_says_nothing_itself() -> None:
    file = {"id": "6", "filename": "a.png", "content_type": "image/png", "size": 3}
    snapshot = {"message": {"content": "look", "attachments": [file]}}
    raw = read_message(
        written("", message_reference={"type": 1, "message_id": "4"}, message_snapshots=[snapshot]),
        US,
        NOWHERE,
    )
    assert raw is not None
    assert raw["references"] == [{"kind": "forward", "message": "4", "text": "look"}]
    assert [(each["kind"], each["reference"]) for each in raw["attachments"]] == [("image", "5/77/6")]


@pytest.mark.parametrize(
    ("mime", "kind"),
    [("image/png", "image"), ("audio/ogg; codecs=opus", "audio"), ("video/mp4", "file"), (None, "file")],
)
def test_the_type_of_a_file_tells_what_it_is(mime: str | None, kind: str) -> None:
    raw = read_message(written(attachments=[{"id": "6", "content_type": mime}]), US, NOWHERE)
    assert raw is not None
    assert raw["attachments"][0]["kind"] == kind


def test_stickers_and_polls_are_something_that_cannot_be_read() -> None:
    odd: list[dict[str, Any]] = [{"sticker_items": [{"id": "1"}]}, {"poll": {"question": {}}}]
    for more in odd:
        raw = read_message(written("", **more), US, NOWHERE)
        assert raw is not None
        assert [each["kind"] for each in raw["attachments"]] == ["other"]


def test_only_a_changed_text_is_an_edit() -> None:
    assert read_edit(written(edited_timestamp=None, embeds=[{}]), US, NOWHERE) is None
    edited = read_edit(written(edited_timestamp="2026-11-30T12:01:00+00:00"), US, NOWHERE)
    assert edited is not None
    assert edited["edited_at"] is not None


def test_a_chat_is_direct_only_outside_of_servers() -> None:
    places: list[tuple[dict[str, Any], Room]] = [
        ({}, NOWHERE),
        ({"guild_id": "3"}, NOWHERE),
        ({}, Room(guild="3")),
        ({"channel_type": 3}, NOWHERE),
    ]
    kinds = [read_message(written(**more), US, room) for more, room in places]
    assert [raw and raw["chat_kind"] for raw in kinds] == ["direct", "channel", "channel", "group"]


@pytest.mark.parametrize("broken", [{"author": None}, {"content": 5}, {"channel_id": "x"}, {"id": "1/2"}])
def test_what_has_not_the_promised_shape_is_odd(broken: dict[str, Any]) -> None:
    with pytest.raises(OddEvent):
        read_message(written(**broken), US, NOWHERE)


def test_a_reference_names_three_numbers_or_nothing() -> None:
    assert read_reference("5/77/6") == (5, 77, 6)
    assert [read_reference(odd) for odd in ("", "5/77", "5/77/x", "a/b/c", "1/2/3/4", "²/1/1")] == [None] * 6


def test_a_file_is_found_by_its_number_also_in_what_is_forwarded() -> None:
    snapshot = {"message": {"attachments": [{"id": "6", "url": "u", "size": True}]}}
    found = stored_file(written(message_snapshots=[snapshot]), 6)
    assert found is not None
    assert (found.address, found.size_bytes) == ("u", None)
    assert stored_file(written(attachments=[{"id": "6"}, 5]), 6) is None


def test_our_reactions_are_those_that_say_so() -> None:
    reactions = [
        {"emoji": {"name": "👍"}, "me": True},
        {"emoji": {"name": "🎉"}, "me": False},
        {"emoji": {"name": None, "id": "5"}, "me": True},
        5,
    ]
    assert our_reactions({"reactions": reactions}) == ["👍"]


def did(kind: int, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": "11",
        "type": kind,
        "channel_id": "5",
        "token": "k",
        "user": person("42"),
        "data": data,
        **more,
    }


def test_a_tap_is_a_confirmation_with_a_key_of_its_own() -> None:
    read = read_interaction(did(3, {"custom_id": "confirm:ABCDEFGH"}, message={"id": "77"}), US, NOWHERE)
    assert read is not None
    assert read[1]["content"] == "/confirm ABCDEFGH"
    assert (read[1]["key"], read[1]["id"], read[1]["tap"]) == ("tap:11", "77", True)


@pytest.mark.parametrize("odd", ["confirm:abc", "other:ABCDEFGH", "confirm:ABCDEFGH!", ""])
def test_a_button_that_is_not_ours_is_passed_over(odd: str) -> None:
    assert read_interaction(did(3, {"custom_id": odd}, message={"id": "77"}), US, NOWHERE) is None


def test_a_command_is_written_out_and_meant_for_us() -> None:
    options = [{"name": "arguments", "value": "path /tmp"}]
    read = read_interaction(
        did(
            2,
            {"name": "grant", "options": options},
            guild_id="3",
            member={"user": person("42"), "roles": ["1"]},
        ),
        US,
        NOWHERE,
    )
    assert read is not None
    raw = read[1]
    assert (raw["content"], raw["chat_kind"], raw["sender_id"]) == ("/grant path /tmp", "channel", "42")
    assert raw["mentions"] == [{"id": "9", "start": 0, "end": 0, "is_us": True}]


def test_the_list_of_commands_is_one_that_discord_takes_and_is_known_again() -> None:
    wanted = command_list(COMMANDS)
    assert len({each["name"] for each in wanted}) == len(wanted) == len(COMMANDS)
    assert all(0 < len(each["description"]) <= 100 for each in wanted)
    listed = [{**each, "id": "1", "options": each["options"] or None} for each in reversed(wanted)]
    assert same_commands(wanted, listed)
    assert not same_commands(wanted, listed[1:])
    assert not same_commands(wanted, {"message": "no"})
