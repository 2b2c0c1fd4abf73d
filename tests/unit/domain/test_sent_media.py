from fermix.domain.blob import BlobRef
from fermix.domain.delivery import MediaKind, MediaPart
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId
from fermix.domain.route import Target
from fermix.domain.sent_media import same_file_key

FILE = MediaPart(kind=MediaKind.DOCUMENT, blob=BlobRef(digest="0" * 64, size_bytes=1), file_name="notes.txt")


def answering(channel: str, message: str) -> Target:
    return Target(
        channel=ChannelName(channel),
        account=AccountId("a"),
        chat=ChatId("main"),
        reply_to=PlatformMessageId(message),
    )


def test_in_a_chat_the_same_file_is_the_same_whatever_it_answers() -> None:
    assert same_file_key(answering("telegram", "1"), FILE) == same_file_key(answering("telegram", "2"), FILE)


def test_whoever_asks_again_at_a_terminal_is_given_the_file_again() -> None:
    first, second = answering("cli", "1"), answering("cli", "2")

    assert same_file_key(first, FILE) == same_file_key(first, FILE)
    assert same_file_key(first, FILE) != same_file_key(second, FILE)
