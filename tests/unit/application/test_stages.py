"""The way into the gateway: one order, and each stage's decision."""

from datetime import UTC, datetime

import pytest

from fermix.application.gateway.dedupe import WebhookMemory
from fermix.application.gateway.stages import (
    STAGES,
    Answered,
    Candidate,
    Denied,
    Door,
    Edit,
    Ended,
    Invalid,
    Passed,
    Twin,
    walk,
)
from fermix.application.ports.admissions import Command, Input, OpenWindow, Say, StopEverything
from fermix.application.ports.channel import ChannelFeatures, Offered
from fermix.domain import wording
from fermix.domain.authorization import ChannelAccess, DenialKind, Policies, Trust
from fermix.domain.ids import AccountId, ChannelName, ThreadId, UserId
from fermix.domain.normalise import Registration
from fermix.testing.clock import StoppedClock
from tests.unit.application.scripted import TELEGRAM, raw

POLICIES = Policies(
    channels={
        ChannelName("telegram"): ChannelAccess(
            owner=UserId("1001"), allowed=frozenset({UserId("2002")}), command_allowlist=frozenset()
        ),
        ChannelName("slack"): ChannelAccess(owner=UserId("1001")),
    }
)


PLAIN = ChannelFeatures()


def candidate(
    text: str = "hello",
    *,
    registration: Registration = TELEGRAM,
    features: ChannelFeatures = PLAIN,
    memory: WebhookMemory | None = None,
    bot_name: str | None = None,
    reads_media: bool = False,
    **facts: object,
) -> Candidate:
    return Candidate(
        door=Door(registration=registration, features=features, bot_name=bot_name, reads_media=reads_media),
        offered=Offered(message=raw(text, **facts)),
        policies=POLICIES,
        memory=memory or WebhookMemory(StoppedClock()),
    )


def admitted(**options: object) -> object:
    step = walk(candidate(**options))  # type: ignore[arg-type]  # forwarded as given
    assert isinstance(step, Candidate)
    return step.admission


def ending(**options: object) -> object:
    step = walk(candidate(**options))  # type: ignore[arg-type]  # forwarded as given
    assert isinstance(step, Ended)
    return step.ending


@pytest.mark.requirement("ingress.order_is_pinned")
def test_the_stages_stand_in_their_pinned_order() -> None:
    assert [stage.__name__ for stage in STAGES] == [
        "normalise_message",
        "drop_twins",
        "authorise_sender",
        "check_tapper",
        "admit_to_chat",
        "reject_empty",
        "plan_admission",
    ]


@pytest.mark.requirement("ingress.normalise.required_fields")
@pytest.mark.parametrize("field", ["id", "content", "sender", "chat_id", "reply_target"])
def test_a_message_without_a_required_field_ends_at_once(field: str) -> None:
    assert ending(**{field: None}) == Invalid(field=field)


@pytest.mark.requirement("ingress.authorise.unknown_channel")
def test_a_channel_nobody_configured_admits_nobody() -> None:
    denied = ending(registration=Registration(channel=ChannelName("carrier"), account=AccountId("a")))
    assert isinstance(denied, Denied)
    assert denied.denial.kind is DenialKind.UNKNOWN_CHANNEL


@pytest.mark.requirement("ingress.empty.after_authorise")
def test_a_stranger_with_an_empty_message_is_denied_and_not_answered() -> None:
    assert isinstance(ending(text=" ", sender_id="9999"), Denied)


@pytest.mark.requirement("ingress.empty.reply_text", "ingress.empty.what_is_empty")
@pytest.mark.parametrize(
    "facts",
    [
        {"text": "  \n"},
        {"text": "", "attachments": [{"kind": "other", "reference": "sticker"}]},
    ],
)
def test_what_holds_nothing_readable_is_answered_as_empty(facts: dict[str, object]) -> None:
    assert ending(**facts) == Answered(text=wording.LOOKS_EMPTY)


@pytest.mark.requirement("ingress.empty.attachment_counts_as_content")
def test_a_picture_alone_is_content_where_pictures_can_be_fetched() -> None:
    admission = admitted(
        text="",
        attachments=[{"kind": "image", "reference": "photo"}],
        reads_media=True,
    )
    assert isinstance(admission, Input)


@pytest.mark.parametrize("kind", ["image", "audio", "file"])
def test_media_alone_is_answered_that_it_cannot_be_read_where_it_cannot(kind: str) -> None:
    answer = ending(text=" ", attachments=[{"kind": kind, "reference": "photo"}])
    assert answer == Answered(text=wording.CANNOT_READ_MEDIA)


@pytest.mark.parametrize("reads_media", [True, False])
def test_media_with_a_caption_is_input(*, reads_media: bool) -> None:
    attachments = [{"kind": "image", "reference": "photo"}, {"kind": "other", "reference": "sticker"}]
    admission = admitted(text="what is this?", attachments=attachments, reads_media=reads_media)
    assert isinstance(admission, Input)
    assert [each.reference for each in admission.message.attachments] == ["photo", "sticker"]


def test_only_what_can_become_something_is_prepared_and_only_where_it_can_be_fetched() -> None:
    attachments = [
        {"kind": kind, "reference": f"{kind}-{number}"}
        for number, kind in enumerate(["other", "audio", "image", "audio", "file"])
    ]
    fetched = admitted(text="look", attachments=attachments, reads_media=True)
    assert isinstance(fetched, Input)
    assert [(each.position, each.reference) for each in fetched.media] == [
        (1, "audio-1"),
        (2, "image-2"),
        (4, "file-4"),
    ]
    named_only = admitted(text="look", attachments=attachments)
    assert isinstance(named_only, Input)
    assert named_only.media == ()


@pytest.mark.requirement("trust.flow.message_to_snapshot", "snapshot.stored_with_the_turn")
@pytest.mark.parametrize(("sender", "trust"), [("1001", Trust.OPERATOR), ("2002", Trust.GUEST)])
def test_an_input_carries_its_senders_trust_into_the_turns_scope(sender: str, trust: Trust) -> None:
    admission = admitted(sender_id=sender)
    assert isinstance(admission, Input)
    assert (admission.trust, admission.scope.trust) == (trust, trust)


@pytest.mark.requirement("command.unknown_is_ordinary_text")
@pytest.mark.parametrize("text", ["/nosuch", "/", "/ new", "please /new", "/new@some_bot", "//new"])
def test_what_is_no_command_is_ordinary_text(text: str) -> None:
    assert isinstance(admitted(text=text), Input)


@pytest.mark.requirement("command.in_text_or_caption")
@pytest.mark.parametrize(
    ("text", "work"),
    [("/new", OpenWindow()), (" /CLEAR now", OpenWindow()), ("/stop", StopEverything()), ("/help", Say())],
)
def test_a_command_is_planned_with_its_work(text: str, work: object) -> None:
    admission = admitted(text=text, attachments=[{"kind": "image", "reference": "p"}])
    assert isinstance(admission, Command)
    assert admission.work == work


def test_a_command_with_our_name_is_ours_and_with_another_name_is_nobodys() -> None:
    ours = admitted(text="/New@Fermix_Bot", bot_name="@fermix_bot")
    assert isinstance(ours, Command)
    assert isinstance(ending(text="/new@other_bot", bot_name="fermix_bot"), Passed)


@pytest.mark.requirement("command.gate.refusal_is_answered", "gate.owner_or_allowlist.refuses")
def test_a_closed_gate_is_answered_and_does_nothing() -> None:
    admission = admitted(text="/new", sender_id="2002")
    assert isinstance(admission, Command)
    assert admission.work == Say()


@pytest.mark.requirement("edit.never_a_new_turn", "edit.command_changes_nothing")
@pytest.mark.parametrize("text", ["better text", "/stop"])
def test_an_edit_never_starts_anything(text: str) -> None:
    assert ending(text=text, edited_at=datetime(2026, 1, 1, tzinfo=UTC)) == Edit()


@pytest.mark.requirement("ingress.admit_chat.slack_root_mention_opens_thread")
def test_a_mention_at_a_slack_channels_root_goes_on_in_its_thread() -> None:
    admission = admitted(
        registration=Registration(channel=ChannelName("slack"), account=AccountId("b")),
        chat_kind="channel",
        mentions=[{"id": "bot", "start": 0, "end": 4, "is_us": True}],
        id="170.01",
    )
    assert isinstance(admission, Input)
    assert admission.route.thread == ThreadId("170.01")
    assert admission.target.thread == ThreadId("170.01")


@pytest.mark.requirement("ingress.admit_chat.dropped_stores_nothing")
def test_what_is_said_to_others_is_passed_over() -> None:
    step = ending(
        registration=Registration(channel=ChannelName("slack"), account=AccountId("b")), chat_kind="channel"
    )
    assert isinstance(step, Passed)


@pytest.mark.requirement("ingress.dedupe.webhook_key")
def test_only_webhooks_are_remembered_and_a_second_delivery_is_a_twin() -> None:
    memory = WebhookMemory(StoppedClock())
    webhook = ChannelFeatures(webhook=True)
    assert isinstance(walk(candidate(memory=memory)), Candidate)
    assert isinstance(walk(candidate(memory=memory, features=webhook)), Candidate)
    second = walk(candidate(memory=memory, features=webhook))
    assert isinstance(second, Ended)
    assert isinstance(second.ending, Twin)


def test_an_edit_is_no_twin_of_what_it_edits_nor_of_an_earlier_edit_and_a_repeat_of_it_is() -> None:
    memory = WebhookMemory(StoppedClock())
    webhook = ChannelFeatures(webhook=True)

    def offered(edited_at: datetime | None) -> Candidate | Ended:
        return walk(candidate(memory=memory, features=webhook, edited_at=edited_at))

    first, second = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    assert isinstance(offered(None), Candidate)
    endings = [step.ending for at in (first, second, second) if isinstance(step := offered(at), Ended)]
    assert [type(one) for one in endings] == [Edit, Edit, Twin]
