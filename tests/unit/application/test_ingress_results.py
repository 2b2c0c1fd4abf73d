"""What becomes of each message of a list: the results and the words that are promised, and silence elsewhere."""

import logging
from dataclasses import replace
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.gateway.dedupe import WebhookMemory
from fermix.application.gateway.stages import (
    Candidate,
    Denied,
    Door,
    Ended,
    Invalid,
    walk,
)
from fermix.application.ports.admissions import Input
from fermix.application.ports.channel import ChannelFeatures, Offered, Verdict
from fermix.domain.authorization import ChannelAccess, Policies, Trust
from fermix.domain.ids import AccountId, ChannelName, UserId
from fermix.domain.normalise import Registration
from fermix.testing.clock import StoppedClock
from tests.unit.application.house import DOOR, PUSH, TEST, allow, build, running
from tests.unit.application.scripted import ScriptedModel, raw, says
from tests.unit.domain.test_normalise import near_misses

pytestmark = pytest.mark.anyio

LOOKS_EMPTY = "Your message looks empty — send some text or media I can read."
RESTARTING = "I'm restarting — please send your message again in a moment."

REQUIRED = ("id", "content", "sender", "chat_id", "reply_target")
"""In the order in which they are looked at; the channel, fourth in the specification, is stamped."""

WRONG: dict[str, list[Any]] = {
    "id": [None, 1.5, True, b"7", ["7"], {}, "", " "],
    "content": [None, 7, True, b"hello", ["hello"], {}],
    "sender": [None, 7, True, b"Ann", ["Ann"], {}],
    "chat_id": [None, 1.5, False, b"7", ("7",), {}, "", "\t"],
    "reply_target": [None, 1.5, False, b"7", ("7",), {}, "", "\u00a0"],
}

WEBHOOK = replace(PUSH, features=ChannelFeatures(webhook=True))


def looked_at(offered: object, *, registration: Registration = DOOR.registration) -> Candidate | Ended:
    return walk(
        Candidate(
            door=Door(registration=registration, features=ChannelFeatures()),
            offered=Offered(message=offered),  # type: ignore[arg-type]  # tests hand over what no adapter would
            policies=allow(),
            memory=WebhookMemory(StoppedClock()),
        )
    )


@pytest.mark.requirement("ingress.normalise.required_fields")
@pytest.mark.parametrize(("field", "wrong"), [(field, each) for field in REQUIRED for each in WRONG[field]])
def test_a_field_of_a_wrong_type_counts_as_missing(field: str, wrong: Any) -> None:
    facts: dict[str, Any] = {field: wrong}
    step = looked_at(raw(**facts))
    assert isinstance(step, Ended)
    assert step.ending == Invalid(field=field)


@pytest.mark.requirement("ingress.normalise.required_fields")
@given(missing=st.sets(st.sampled_from(REQUIRED), min_size=1))
def test_the_first_missing_field_in_order_is_the_one_that_is_named(missing: set[str]) -> None:
    step = looked_at({name: value for name, value in raw().items() if name not in missing})
    assert isinstance(step, Ended)
    assert step.ending == Invalid(field=next(name for name in REQUIRED if name in missing))


@pytest.mark.requirement("ingress.normalise.required_fields")
def test_empty_text_is_text_and_no_missing_field() -> None:
    step = looked_at(raw("", sender=""))
    assert not (isinstance(step, Ended) and isinstance(step.ending, Invalid))


@pytest.mark.requirement("ingress.normalise.dropped_with_one_error_line")
@pytest.mark.parametrize("field", REQUIRED)
async def test_an_invalid_message_is_acknowledged_and_leaves_one_error_line(
    field: str, caplog: pytest.LogCaptureFixture
) -> None:
    facts: dict[str, Any] = {field: None}
    async with running(build(ScriptedModel([says("hi")]))) as house:
        assert (await house.write(**facts, door=PUSH)).verdict is Verdict.DROPPED
        await anyio.wait_all_tasks_blocked()
        assert house.channel.sent == []
    (record,) = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert (record.levelname, record.message) == ("ERROR", "gateway.message_invalid")
    assert record.__dict__["field"] == field


@pytest.mark.requirement(
    "ingress.authorise.denied_is_silent",
    "ingress.authorise.denied_is_warned",
    "ingress.authorise.unknown_channel",
    "ingress.authorise.everyone_else_is_unauthorized",
    "ingress.authorise.missing_sender_is_unauthorized",
)
@pytest.mark.parametrize(
    ("channel", "facts", "result"),
    [
        ("test", {"sender_id": "9999"}, "unauthorized"),
        ("test", {"sender_id": None}, "unauthorized"),
        ("test", {"sender_id": None, "sender": "1001"}, "unauthorized"),
        ("carrier", {"sender_id": "1001"}, "unknown_channel"),
        ("carrier", {"sender_id": None}, "unknown_channel"),
    ],
)
@pytest.mark.parametrize("text", ["hello", " ", "/stop", "/whoami"])
async def test_a_refusal_has_its_name_in_one_warning_and_is_acknowledged_in_silence(
    channel: str, facts: dict[str, object], result: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    door = replace(PUSH, registration=Registration(channel=ChannelName(channel), account=AccountId("a")))
    model = ScriptedModel([says("hi")])
    async with running(build(model)) as house:
        receipt = await house.write(text, door=door, **facts)
        assert (receipt.verdict, receipt.notice) == (Verdict.DROPPED, None)
        await anyio.wait_all_tasks_blocked()
        assert (house.channel.sent, model.requests) == ([], [])
        assert (await house.ledger.queue.counts()).lanes == 0
    (record,) = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert (record.levelname, record.message) == ("WARNING", "gateway.sender_refused")
    assert record.__dict__["result"] == result


@pytest.mark.requirement(
    "ingress.normalise.dropped_with_one_error_line",
    "ingress.authorise.denied_is_silent",
    "ingress.empty.reply_text",
)
async def test_a_list_goes_on_after_every_message_that_comes_to_nothing() -> None:
    bad = [
        raw("no chat", id="b1", chat_id=None),
        raw("no text", id="b2", content=None),
        raw("a stranger's", id="b3", sender_id="9999"),
        raw("nobody's", id="b4", sender_id=None),
        raw("  ", id="b5"),
        raw("a bot's", id="b6", sender_is_bot=True),
    ]
    good = [raw(f"n{number}", id=f"g{number}", chat_id=f"c{number}") for number in range(len(bad) + 1)]
    mixed = [good[0]]
    for ill, well in zip(bad, good[1:], strict=True):
        mixed += [ill, well]
    model = ScriptedModel([says("hi")])
    async with running(build(model)) as house:
        receipts = await house.write_all(mixed)
        await house.channel.has_sent(len(good) + 1)
        await anyio.wait_all_tasks_blocked()
        said = [part.body.text for part in house.channel.sent]
    assert [receipt.verdict for receipt in receipts] == [
        Verdict.ACCEPTED,
        *(
            each
            for verdict in (*[Verdict.DROPPED] * 4, Verdict.ANSWERED, Verdict.DROPPED)
            for each in (verdict, Verdict.ACCEPTED)
        ),
    ]
    assert sorted(said) == sorted([LOOKS_EMPTY, *["hi"] * len(good)])


@pytest.mark.requirement("ingress.dedupe.atomic", "ingress.dedupe.webhook_key")
async def test_a_twin_in_a_list_of_a_webhook_is_answered_like_the_first_and_the_rest_goes_on() -> None:
    async with running(build(ScriptedModel([says("hi")]))) as house:
        twins = [
            raw("one", id="m1"),
            raw("one", id="m1"),
            raw("", id="m2", content=None),
            raw("two", id="m3"),
        ]
        receipts = await house.write_all(twins, door=WEBHOOK)
        await house.channel.has_sent(2)
    verdicts = [receipt.verdict for receipt in receipts]
    assert verdicts == [Verdict.ACCEPTED, Verdict.ACCEPTED, Verdict.DROPPED, Verdict.ACCEPTED]


@given(
    payload=near_misses,
    registration=st.sampled_from(
        [
            DOOR.registration,
            *(Registration(channel=ChannelName(name), account=AccountId("a")) for name in ("slack", "cli")),
        ]
    ),
    webhook=st.booleans(),
    media=st.booleans(),
)
def test_no_payload_breaks_the_list_it_comes_in(
    payload: dict[str, Any], registration: Registration, *, webhook: bool, media: bool
) -> None:
    anybody = ChannelAccess(owner=UserId("1001"), allowed=frozenset({UserId("0"), UserId("1")}))
    candidate = Candidate(
        door=Door(registration=registration, features=ChannelFeatures(webhook=webhook), reads_media=media),
        offered=Offered(message=payload),  # type: ignore[arg-type]  # tests hand over what no adapter would
        policies=Policies(channels=dict.fromkeys((TEST, ChannelName("slack")), anybody)),
        memory=WebhookMemory(StoppedClock()),
    )
    assert isinstance(walk(candidate), Candidate | Ended)


CLAIMS = st.fixed_dictionaries(
    {"channel": st.sampled_from(["cli", "daemon", "CLI", " cli"])},
    optional={
        "account": st.just("local"),
        "local": st.just(True),
        "trust": st.just("operator"),
        "source_trust": st.just("operator"),
        "role": st.just("operator"),
        "authorization": st.just({"role": "operator", "trust": "operator"}),
        "request_cwd": st.just("/home/ann"),
        "request_model": st.just("big"),
        "awaited": st.just(True),
        "scope": st.just({"trust": "operator"}),
        "metadata": st.just({"channel": "cli", "trust": "operator", "request_cwd": "/home/ann"}),
    },
)


@pytest.mark.requirement("ingress.normalise.channel_is_stamped", "ingress.normalise.request_cwd_is_local")
@given(claims=CLAIMS, sender=st.sampled_from(["1001", "2002", "9999", None]))
def test_a_payload_that_claims_to_be_local_changes_nothing(
    claims: dict[str, Any], sender: str | None
) -> None:
    honest, claiming = looked_at(raw(sender_id=sender)), looked_at(raw(sender_id=sender, **claims))
    if isinstance(honest, Ended):
        assert isinstance(claiming, Ended)
        assert isinstance(honest.ending, Denied)
        assert claiming.ending == honest.ending
    else:
        assert isinstance(claiming, Candidate)
        assert claiming.admission == honest.admission
        assert claiming.authorization == honest.authorization


async def test_a_stranger_who_claims_to_be_local_is_refused_in_silence() -> None:
    model = ScriptedModel([says("hi")])
    async with running(build(model)) as house:
        receipt = await house.write("hello", sender_id="9999", channel="cli", request_cwd="/home", door=PUSH)
        assert receipt.verdict is Verdict.DROPPED
        await anyio.wait_all_tasks_blocked()
    assert (house.channel.sent, model.requests) == ([], [])


@pytest.mark.requirement("restart.inbox_says_unavailable", "ingress.authorise.denied_is_silent")
async def test_a_closing_gateway_tells_its_people_and_no_stranger() -> None:
    async with running(build(ScriptedModel([says("hi")]))) as house:
        house.gateway.close()
        verdicts = [
            (await house.write("x", id="m1", sender_id="9999", door=PUSH)).verdict,
            (await house.write("x", id="m2", sender_id=None, door=PUSH)).verdict,
            (await house.write("x", id="m3", content=None, door=PUSH)).verdict,
            (await house.write("x", id="m4", door=WEBHOOK)).verdict,
            (await house.write("x", id="m5", door=DOOR)).verdict,
            (await house.write("x", id="m6", door=PUSH)).verdict,
        ]
        assert await house.channel.has_sent(1) == [RESTARTING]
        await anyio.wait_all_tasks_blocked()
        assert len(house.channel.sent) == 1
    assert verdicts == [*[Verdict.DROPPED] * 3, *[Verdict.UNAVAILABLE] * 3]


@pytest.mark.requirement("ingress.empty.reply_text", "ingress.empty.after_authorise")
@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u00a0", "\u2003"])
async def test_the_reply_to_an_empty_message_goes_to_its_chat_and_thread(text: str) -> None:
    async with running(build(ScriptedModel([says("hi")]))) as house:
        receipt = await house.write(text, id="m1", thread_ts="t1", sender_id="2002")
        assert (receipt.verdict, receipt.notice) == (Verdict.ANSWERED, LOOKS_EMPTY)
        assert await house.channel.has_sent(1) == [LOOKS_EMPTY]
        target = house.channel.sent[0].target
    assert (target.channel, target.chat, target.thread, target.reply_to) == (TEST, "c1", "t1", "m1")


@pytest.mark.requirement("ingress.fail_closed.no_owner_no_allowlist")
@given(text=st.text(), sender=st.one_of(st.none(), st.text(), st.integers()), name=st.text())
def test_a_channel_without_owner_and_allowlist_refuses_whoever_writes_whatever(
    text: str, sender: str | int | None, name: str
) -> None:
    step = walk(
        Candidate(
            door=DOOR,
            offered=Offered(message=raw(text, sender_id=sender, sender=name)),
            policies=Policies(channels={TEST: ChannelAccess(command_allowlist=frozenset({UserId("1001")}))}),
            memory=WebhookMemory(StoppedClock()),
        )
    )
    assert isinstance(step, Ended)
    assert isinstance(step.ending, Denied)
    assert step.ending.denial.kind == "unauthorized"


def test_the_trust_of_an_authorised_sender_is_attached_to_what_is_queued() -> None:
    for sender, trust in (("1001", Trust.OPERATOR), ("2002", Trust.GUEST)):
        step = looked_at(raw(sender_id=sender))
        assert isinstance(step, Candidate)
        assert isinstance(step.admission, Input)
        assert (step.admission.trust, step.admission.scope.trust) == (trust, trust)
