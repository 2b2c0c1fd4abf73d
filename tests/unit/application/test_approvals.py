"""Approvals through the whole gateway: the agent asks, its owner answers, and the request goes on."""

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from fermix.application.gateway.gateway import Receipt
from fermix.application.ports.channel import OutgoingPart, Verdict
from fermix.application.ports.control import AskEnded, AskProgress, AskRequest, Principal, PrincipalCapability
from fermix.application.ports.model import ModelAnswer
from fermix.domain import approval_wording, wording
from fermix.domain.approvals import AnswerProblem
from fermix.domain.capability import Scope
from fermix.domain.delivery import Choice, choices_of
from fermix.domain.events import PromptShown
from fermix.domain.history import ToolEntry
from fermix.domain.trust import Trust
from fermix.infrastructure.tools.directory_access import RequestDirectoryAccess
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.memory_transcriber import MemoryTranscriber, ScriptedListener
from fermix.testing.transcriber_harness import Heard
from tests.unit.application.approving import FIRST_CODE, SECOND_CODE, Approving, Place, approving, place_in
from tests.unit.application.house import DOOR, MEDIA_DOOR, House, running
from tests.unit.application.media_parts import OGG, PNG, MediaParts
from tests.unit.application.scripted import PROFILE, ScriptedModel, calls, raw, says

pytestmark = pytest.mark.anyio

TOOL = "request_directory_access"
CONFIRM = f"/confirm {FIRST_CODE}"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_in(tmp_path)


def asks_for(path: object, reason: str = "to read your notes") -> ModelAnswer:
    return calls(TOOL, arguments=json.dumps({"path": str(path), "reason": reason}))


def tool_result(model: ScriptedModel, request: int = 1) -> str:
    found = [entry.text for entry in model.requests[request].entries if isinstance(entry, ToolEntry)]
    return found[-1]


def offered(model: ScriptedModel, request: int = 0) -> list[str]:
    return [tool.name for tool in model.requests[request].tools]


async def sent(home: Approving, count: int) -> list[OutgoingPart]:
    await home.house.channel.has_sent(count)
    return home.house.channel.sent


async def write(house: House, text: str, facts: Mapping[str, object]) -> Receipt:
    (receipt,) = await house.write_all([raw(text, **facts)])
    return receipt


async def tap(house: House, code: str = FIRST_CODE, *, user: str = "1001", number: int = 1) -> Verdict:
    facts = {"tap": True, "key": f"tap:{number}", "id": "p1", "sender_id": user, "chat_kind": "group"}
    return (await write(house, f"/confirm {code}", facts)).verdict


@pytest.mark.requirement("approval.prompt_shows_the_change")
async def test_the_owner_sees_which_folder_why_and_what_changes(place: Place) -> None:
    model = ScriptedModel([asks_for("~/project/../project"), says("I wait for you.")])
    home = approving(place, model)
    async with running(home.house):
        await home.house.write("read my notes")
        prompt, answer = await sent(home, 2)

    assert f"everything in it:\n```\n{place.project}\n```" in prompt.body.text
    assert "\n```\nto read your notes\n```" in prompt.body.text
    assert f'+ allowed_roots = ["{place.project}"]' in prompt.body.text
    assert prompt.body.text.endswith(
        f"Send `{CONFIRM}` here within 60 seconds to allow it. Without it nothing changes."
    )
    assert choices_of(prompt.body) == ()
    assert answer.body.text == "I wait for you."
    assert place.granted() == ()
    assert "this request is taken up again by itself" in tool_result(model)


@pytest.mark.requirement("approval.grant_persists", "approval.request_resumes", "command.may_enqueue_a_turn")
async def test_an_approval_is_written_down_and_takes_the_request_up_again_with_all_of_it(
    place: Place,
) -> None:
    model = ScriptedModel([asks_for(place.project), says("I wait."), says("Here are your notes.")])
    home = approving(place, model)
    facts = {
        "id": "m7",
        "thread_ts": "t5",
        "chat_kind": "group",
        "chat_title": "Home",
        "attachments": [{"kind": "image", "reference": "file-1", "mime_type": "image/png"}],
        "references": [{"kind": "quote", "message": "m3", "text": "which notes"}],
    }
    async with running(home.house):
        await write(home.house, "read my notes", facts)
        await sent(home, 2)
        await home.house.write(CONFIRM, id="m8", thread_ts="t5")
        parts = await sent(home, 4)

    done, resumed = parts[2].body.text, parts[3]
    assert done.startswith(f"Done. Let the agent reach {place.project} and everything in it.")
    assert done.endswith(approval_wording.RESUMING)
    assert place.granted() == (place.project,)
    assert f'allowed_roots = ["{place.project}"]' in place.config()
    assert resumed.body.text == "Here are your notes."
    first, second = home.claims.seen
    (was,), (now,) = first.messages, second.messages
    assert replace(now.message, key=was.message.key) == was.message
    assert (now.target, now.trust, second.route, second.scope) == (
        was.target,
        was.trust,
        first.route,
        first.scope,
    )
    assert now.message.attachments[0].reference == "file-1"
    assert resumed.target.reply_to == "m7"


async def test_a_request_that_is_taken_up_again_keeps_what_was_seen_and_heard(place: Place) -> None:
    model = ScriptedModel(
        [asks_for(place.project), says("I wait."), says("Done.")], profile=replace(PROFILE, vision=True)
    )
    blobs, listener = MemoryBlobs(clock=StoppedClock()), ScriptedListener()
    listener.will(Heard(text="what is this?"))
    media = MediaParts(blobs=blobs, transcriber=MemoryTranscriber(listener, blobs=blobs))
    home = approving(place, model, media=media)
    files = [media.server.add(PNG), media.server.add(OGG)]
    async with running(home.house):
        await home.house.write("look", door=MEDIA_DOOR, attachments=files)
        await sent(home, 2)
        await home.house.write(CONFIRM, id="m8")
        await sent(home, 4)

    first, second = home.claims.seen
    assert second.messages[0].media == first.messages[0].media
    assert len(second.messages[0].media) == 2
    assert sorted(media.server.asked) == ["file-1", "file-2"]
    assert len(listener.audios) == 1


async def test_several_messages_of_one_turn_are_taken_up_as_one_turn(place: Place) -> None:
    model = ScriptedModel([asks_for(place.project), says("I wait."), says("Done.")])
    home = approving(place, model)
    moment = timedelta(milliseconds=1)
    door = replace(DOOR, album_debounce=moment)
    async with running(home.house):
        await home.house.write_all(
            [raw("one", id="m1", album="a"), raw("two", id="m2", album="a")], door=door
        )
        home.house.clock.advance(moment)
        await sent(home, 2)
        await home.house.write(CONFIRM, id="m8")
        await sent(home, 3)
        await anyio.wait_all_tasks_blocked()
        home.house.clock.advance(moment)
        await sent(home, 4)

    assert [[each.message.text for each in turn.messages] for turn in home.claims.seen] == [
        ["one", "two"],
        ["one", "two"],
    ]


@pytest.mark.requirement("lane.slot_free_while_human_is_asked")
async def test_while_the_owner_is_asked_the_only_slot_serves_others(place: Place) -> None:
    model = ScriptedModel([asks_for(place.project), says("I wait."), says("Hello, you."), says("Read.")])
    home = approving(place, model, slots=1)
    async with running(home.house):
        await home.house.write("read my notes")
        await sent(home, 2)
        await home.house.write("hello", chat_id="c2", reply_target="c2", id="m2")
        assert (await sent(home, 3))[2].body.text == "Hello, you."
        assert home.house.dispatcher.running() == 0
        await home.house.write(CONFIRM, id="m3")
        assert (await sent(home, 5))[4].body.text == "Read."


@pytest.mark.requirement("approval.tool_only_when_attended")
@pytest.mark.parametrize(("user", "seen"), [("1001", [TOOL]), ("2002", [])])
async def test_only_an_owners_turn_may_ask(place: Place, user: str, seen: list[str]) -> None:
    model = ScriptedModel([asks_for(place.project), says("over")])
    home = approving(place, model)
    async with running(home.house):
        await home.house.write("hello", sender_id=user)
        await home.house.channel.has_sent(1 + len(seen))

    assert offered(model) == seen
    if not seen:
        assert tool_result(model) == f"The tool '{TOOL}' is not available in this conversation."


@pytest.mark.requirement("approval.tool_only_when_attended")
def test_work_that_was_handed_on_may_not_ask_whatever_its_trust() -> None:
    scope = Scope(trust=Trust.OPERATOR)
    capability = RequestDirectoryAccess().capability

    assert scope.allows(capability)
    assert not scope.handed_on().allows(capability)
    assert not Scope(trust=Trust.GUEST).allows(capability)
    assert not Scope().allows(capability)


async def test_a_folder_that_is_open_or_can_never_be_opened_is_nobodys_question(place: Place) -> None:
    model = ScriptedModel(
        [asks_for("~/.fermix/workspace"), asks_for("~/.ssh"), asks_for("~"), asks_for("~/gone"), says("over")]
    )
    home = approving(place, model)
    async with running(home.house):
        await home.house.write("hello")
        assert [part.body.text for part in await sent(home, 1)] == ["over"]

    assert [tool_result(model, number).partition(":")[0] for number in range(2, 5)] == [
        "Nobody was asked"
    ] * 3
    assert "can be reached already" in tool_result(model, 1)
    assert "is the whole home folder" in tool_result(model, 3)


async def test_a_reason_imitates_nothing_and_hides_nothing(place: Place) -> None:
    evil = "```\n\nSend `/confirm AAAAAAAA` \u202e here\x1b[2J"
    model = ScriptedModel([asks_for(place.project, evil), says("over")])
    home = approving(place, model)
    async with running(home.house):
        await home.house.write("hello")
        prompt, _ = await sent(home, 2)

    assert "\n````\n``` Send `/confirm AAAAAAAA` \\u202e here\\x1b[2J\n````\n" in prompt.body.text


async def test_the_same_folder_asked_for_twice_is_one_prompt_and_both_requests_go_on(place: Place) -> None:
    model = ScriptedModel(
        [asks_for(place.project), says("w1"), asks_for("~/project"), says("w2"), says("r1"), says("r2")]
    )
    home = approving(place, model)
    async with running(home.house):
        await home.house.write("one")
        await sent(home, 2)
        await home.house.write("two", id="m2")
        await sent(home, 3)
        await home.house.write(CONFIRM, id="m3")
        parts = await sent(home, 6)

    assert [part.body.text for part in parts[1:3]] == ["w1", "w2"]
    assert "was asked already" in tool_result(model, 3)
    assert [part.body.text for part in parts[4:]] == ["r1", "r2"]
    assert [turn.messages[0].message.text for turn in home.claims.seen] == ["one", "two", "one", "two"]


@pytest.mark.requirement("approval.elsewhere_never", "approval.checked_before_taken")
async def test_a_code_is_good_only_where_it_was_shown_and_survives_every_other_try(place: Place) -> None:
    model = ScriptedModel([asks_for(place.project), says("I wait."), says("Read.")])
    home = approving(place, model)
    elsewhere = [
        {"chat_id": "c2", "reply_target": "c2"},
        {"thread_ts": "t9"},
    ]
    async with running(home.house):
        await home.house.write("read my notes")
        await sent(home, 2)
        for number, facts in enumerate(elsewhere):
            await write(home.house, CONFIRM, {"id": f"e{number}", **facts})
        refusals = (await sent(home, 4))[2:]
        assert place.granted() == ()
        await home.house.write(CONFIRM, id="m3")
        await sent(home, 6)

    assert {part.body.text for part in refusals} == {approval_wording.not_taken(AnswerProblem.ELSEWHERE)}
    assert place.granted() == (place.project,)


async def test_a_code_is_over_after_sixty_seconds_and_asking_again_gives_another(place: Place) -> None:
    model = ScriptedModel([asks_for(place.project), says("w1"), asks_for(place.project), says("w2")])
    home = approving(place, model)
    async with running(home.house):
        await home.house.write("read my notes")
        await sent(home, 2)
        home.house.clock.advance(timedelta(seconds=60))
        await home.house.write(CONFIRM, id="m2")
        assert (await sent(home, 3))[2].body.text.startswith("This code has expired")
        await home.house.write("again", id="m3")
        parts = await sent(home, 5)

    assert place.granted() == ()
    assert SECOND_CODE in parts[3].body.text


async def test_five_wrong_codes_bar_the_origin_for_a_minute_and_cost_the_owner_nothing(place: Place) -> None:
    model = ScriptedModel([asks_for(place.project), says("w1"), says("r")])
    home = approving(place, model)
    async with running(home.house):
        await home.house.write("read my notes")
        await sent(home, 2)
        for number in range(5):
            await home.house.write("/confirm WRONGONE", id=f"w{number}")
        await home.house.write(CONFIRM, id="m2")
        assert (await sent(home, 8))[7].body.text == "Too many wrong codes. Please wait a minute."
    assert place.granted() == ()


async def test_stop_ends_what_the_agent_asked_too(place: Place) -> None:
    model = ScriptedModel([asks_for(place.project), says("I wait.")])
    home = approving(place, model)
    async with running(home.house):
        await home.house.write("read my notes")
        await sent(home, 2)
        await home.house.write("/stop", id="m2")
        await home.house.write(CONFIRM, id="m3")
        assert (await sent(home, 4))[3].body.text.startswith("This is no longer asked.")
    assert place.granted() == ()


@pytest.mark.requirement("approval.elsewhere_never")
async def test_a_private_prompt_has_a_button_beside_its_code_and_a_shared_one_the_button_alone(
    place: Place,
) -> None:
    model = ScriptedModel([asks_for(place.project), says("w1"), asks_for(place.project), says("w2")])
    home = approving(place, model, buttons=True)
    async with running(home.house):
        await home.house.write("in private")
        await sent(home, 2)
        await home.house.write("in a group", id="m2", chat_id="g", reply_target="g", chat_kind="group")
        private, _, shared, _ = await sent(home, 4)

    assert choices_of(private.body) == (Choice(label="Approve", token=FIRST_CODE),)
    assert f"Tap Approve or send `/confirm {FIRST_CODE}` here" in private.body.text
    assert choices_of(shared.body) == (Choice(label="Approve", token=SECOND_CODE),)
    assert SECOND_CODE not in shared.body.text
    assert "ask me again in a direct message or with `fermix ask`" in shared.body.text


async def test_a_tap_of_anybody_but_the_owner_is_dropped_unseen_and_the_owners_counts_once(
    place: Place,
) -> None:
    model = ScriptedModel([asks_for(place.project), says("w1"), says("r1")])
    home = approving(place, model, buttons=True, trusted=("2002",))
    async with running(home.house):
        await home.house.write("read", chat_kind="group")
        await sent(home, 2)
        strangers = [await tap(home.house, user=user, number=number) for number, user in enumerate(STRANGERS)]
        verdicts = [await tap(home.house, number=0), await tap(home.house, number=0)]
        parts = await sent(home, 4)
        again = await tap(home.house, number=9)
        parts = await sent(home, 5)

    assert strangers == [Verdict.DROPPED] * len(STRANGERS)
    assert len(home.house.gateway.refused_lately()) == len(STRANGERS)
    assert verdicts == [Verdict.ACCEPTED, Verdict.DUPLICATE]
    assert {part.body.text for part in parts[2:]} >= {"r1"}
    assert again is Verdict.ACCEPTED
    assert parts[4].body.text == "This was answered already; the first answer counts."
    assert home.buttons is not None
    assert home.buttons.closed == [("c1", FIRST_CODE)] * 2


STRANGERS = ("6666", "2002", "3003")
"""Nobody, a guest who may run commands, and a guest."""


@pytest.mark.requirement("gate.strict_commands.approvals")
@pytest.mark.parametrize("command", ["/grant path ~/project", "/revoke path ~/project", CONFIRM])
async def test_a_guest_on_the_command_list_neither_proposes_nor_confirms(place: Place, command: str) -> None:
    home = approving(place, ScriptedModel([]), trusted=("2002",))
    async with running(home.house):
        await home.house.write(command, sender_id="2002")
        assert [part.body.text for part in await sent(home, 1)] == [wording.NEEDS_OWNER]


@pytest.mark.requirement("command.sandbox.changes", "command.sandbox.proposals_are_typed")
async def test_what_opens_anything_waits_for_its_code_and_what_closes_is_done_at_once(place: Place) -> None:
    home = approving(place, ScriptedModel([]), buttons=True)
    opening = [
        "/grant path ~/project",
        "/sandbox env allow EDITOR",
        "/sandbox commands enable dev_tools",
        "/sandbox mode open",
    ]
    closing = [
        "/sandbox mode strict",
        "/sandbox commands disable dev_tools",
        "/sandbox env deny EDITOR",
        "/revoke path ~/project",
    ]
    codes: list[str] = []
    count = 0
    async with running(home.house):
        for command in opening:
            count += 2
            await home.house.write(command, id=f"o{count}")
            prompt = (await sent(home, count - 1))[-1].body
            assert choices_of(prompt) == ()
            codes.append(prompt.text.partition("/confirm ")[2][:8])
            await home.house.write(f"/confirm {codes[-1]}", id=f"c{count}")
            assert (await sent(home, count))[-1].body.text.startswith("Done. ")
        opened = place.config()
        for command in closing:
            count += 1
            await home.house.write(command, id=f"o{count}")
            assert (await sent(home, count))[-1].body.text.startswith("Done. ")
        await home.house.write("/revoke path ~/project", id="last")
        assert (await sent(home, count + 1))[-1].body.text == f"{place.project} is not granted."

    assert len(set(codes)) == len(opening)
    assert all(word in opened for word in (str(place.project), "EDITOR", "dev_tools", '"open"'))
    assert place.granted() == ()


async def test_a_guest_on_the_command_list_may_close_and_never_open(place: Place) -> None:
    home = approving(place, ScriptedModel([]), trusted=("2002",))
    async with running(home.house):
        await home.house.write("/sandbox mode open", sender_id="2002")
        await home.house.channel.has_sent(1)
        await home.house.write("/sandbox mode strict", sender_id="2002", id="m2")
        texts = await home.house.channel.has_sent(2)

    assert texts[0] == wording.NEEDS_OWNER
    assert texts[1].startswith("Done. Set the sandbox to strict")


async def test_a_change_that_is_refused_is_told_and_no_code_is_given(place: Place) -> None:
    home = approving(place, ScriptedModel([]))
    async with running(home.house):
        await home.house.write("/grant path ~/.fermix")
        await home.house.write("/grant path relative", id="m2")
        await sent(home, 2)
        await home.house.write("/confirm", id="m3")
        texts = [part.body.text for part in await sent(home, 3)]

    assert texts[0] == f"{place.user / '.fermix'} lies in Fermix's own home, which stays closed."
    assert texts[1].startswith("relative is no path that can be granted")
    assert texts[2] == approval_wording.CONFIRM_USAGE


@pytest.mark.requirement("approval.local_ask_prints_grant")
async def test_without_a_daemon_the_command_that_grants_is_told_and_no_code(place: Place) -> None:
    model = ScriptedModel([asks_for(place.project), says("over")])
    home = approving(place, model, keeps_waiting=False)
    async with running(home.house):
        events = [event async for event in asked(home.house, "read my notes")]
        typed = [event async for event in asked(home.house, "/grant path ~/project", request="r2")]

    line = f"```\nfermix grant path {place.project}\n```"
    (prompt,) = prompts(events)
    assert prompt.endswith(f"run this at a terminal, then ask again:\n{line}")
    assert "/confirm" not in prompt
    assert isinstance(typed[-1], AskEnded)
    assert typed[-1].text.endswith(line)
    assert "they have to send the request once more" in tool_result(model)


async def test_at_a_terminal_the_prompt_comes_before_the_answer_and_its_code_counts_in_that_session_only(
    place: Place,
) -> None:
    model = ScriptedModel([asks_for(place.project), says("I wait.")])
    home = approving(place, model)
    async with running(home.house):
        events = [event async for event in asked(home.house, "read my notes")]
        other = [event async for event in asked(home.house, CONFIRM, request="r2", session="other")]
        same = [event async for event in asked(home.house, CONFIRM, request="r3")]

    (prompt,) = prompts(events)
    assert CONFIRM in prompt
    assert isinstance(events[-1], AskEnded)
    assert events[-1].text == "I wait."
    assert isinstance(other[-1], AskEnded)
    assert "not good here" in other[-1].text
    assert isinstance(same[-1], AskEnded)
    assert same[-1].text.endswith(approval_wording.ASK_ONCE_MORE)
    assert place.granted() == (place.project,)
    assert len(home.claims.seen) == 1


def prompts(events: list[object]) -> list[str]:
    return [
        event.event.event.text
        for event in events
        if isinstance(event, AskProgress) and isinstance(event.event.event, PromptShown)
    ]


async def asked(
    house: House, text: str, *, request: str = "r1", session: str = "cli"
) -> AsyncGenerator[object]:
    principal = Principal(uid=0, pid=1, capabilities=frozenset(PrincipalCapability))
    with anyio.fail_after(5):
        async with house.ask(AskRequest(request=request, text=text, session=session), principal) as events:
            async for event in events:
                yield event
