"""A real daemon that shows its answers while a slow model writes them, on every messenger."""

import json
from collections.abc import Iterator
from itertools import pairwise

import pytest

from fermix.testing.servers.openai_strict.script import Call, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import FermixHome, until
from tests.e2e.harness.live_chats import (
    EDITABLE,
    OTHERS,
    EditableChat,
    LiveChat,
    is_over,
    max_text,
    serve,
    watch,
)

SLOW = " ".join(f"word{number}" for number in range(40))
ANSWER = Say(text=SLOW, piece=10, pause=0.12)
"""About 280 characters in three and a half seconds."""

LOOK = Call(id="c1", name="list_directory", arguments="{}")


@pytest.fixture(params=EDITABLE)
def editable(request: pytest.FixtureRequest) -> Iterator[EditableChat]:
    with EDITABLE[request.param]() as chat:
        yield chat


@pytest.fixture(params=[*EDITABLE, *OTHERS])
def chat(request: pytest.FixtureRequest) -> Iterator[LiveChat]:
    with {**EDITABLE, **OTHERS}[request.param]() as opened:
        yield opened


@pytest.fixture(params=OTHERS)
def unchanging(request: pytest.FixtureRequest) -> Iterator[LiveChat]:
    with OTHERS[request.param]() as opened:
        yield opened


@pytest.mark.requirement("streaming.draft.opens_and_edits", "streaming.draft.ends")
def test_an_answer_is_one_message_that_grows_once_a_second_and_ends_whole(
    home: FermixHome, model: StrictServer, editable: EditableChat
) -> None:
    serve(home, model, editable, "draft")
    model.will(ANSWER)
    editable.writes("hi")
    seen = watch(editable, home)
    assert seen[0].texts == ()
    assert all(len(one.texts) == 1 and SLOW.startswith(one.texts[0]) for one in seen[1:])
    assert len(seen[1].texts[0]) >= 30
    assert len(seen) >= 4
    assert all(later.at - earlier.at > 0.9 for earlier, later in pairwise(seen[1:-1]))
    assert seen[-1].texts == (SLOW,)
    assert editable.opened() == 1
    assert home.rows("SELECT content FROM entries WHERE role='assistant'")[0][0].count(SLOW) == 1


@pytest.mark.requirement("streaming.draft.ends")
def test_stop_removes_the_draft_and_nothing_comes_after_it(
    home: FermixHome, model: StrictServer, editable: EditableChat
) -> None:
    serve(home, model, editable, "draft")
    model.will(ANSWER, Say(text="here"))
    editable.writes("hi")
    until(editable.shown, what="the draft")
    editable.writes("/stop")

    def only_the_reply_to_it() -> bool:
        shown = editable.shown()
        return len(shown) == 1 and not SLOW.startswith(shown[0])

    until(only_the_reply_to_it, what="the end of the draft")
    (stopped,) = editable.shown()
    editable.writes("and now?")
    until(lambda: len(editable.shown()) == 2, what="the next answer")
    assert tuple(editable.shown()) == (stopped, "here")


def test_a_long_answer_fills_its_draft_and_goes_on_in_another_message(
    home: FermixHome, model: StrictServer, editable: EditableChat
) -> None:
    serve(home, model, editable, "draft")
    amount = max_text(editable) * 3 // 2 // len("long ")
    model.will(Say(text="long " * amount, piece=max_text(editable) // 8, pause=0.1))
    editable.writes("hi")
    seen = watch(editable, home)
    assert len(seen[1].texts) == 1
    assert len(seen[-1].texts) == editable.opened() == 2
    assert " ".join(seen[-1].texts).split() == ["long"] * amount


def test_a_wait_that_the_platform_asks_for_holds_edits_and_not_the_answer(
    home: FermixHome, model: StrictServer, editable: EditableChat
) -> None:
    serve(home, model, editable, "draft")
    editable.refuses_edits(wait=60)
    model.will(ANSWER)
    editable.writes("hi")
    seen = watch(editable, home)
    assert len({one.texts for one in seen[:-1] if one.texts}) == 1, "the draft was not changed"
    assert seen[-1].texts == (SLOW,), "sealed, or sent anew where the wait is for seals too"
    assert seen[-1].at - seen[1].at < 30


def test_what_is_said_before_a_tool_runs_is_replaced_by_the_answer(
    home: FermixHome, model: StrictServer, editable: EditableChat
) -> None:
    serve(home, model, editable, "draft")
    commentary = "Let me look into the folder, that takes a moment. " * 2
    model.will(Say(text=commentary, piece=20, pause=0.1, calls=(LOOK,)), ANSWER)
    editable.writes("what is there?")
    seen = watch(editable, home)
    assert commentary.startswith(seen[1].texts[0])
    assert seen[-1].texts == (SLOW,)
    assert editable.opened() == 1


@pytest.mark.requirement("recovery.draft_is_adopted")
def test_a_kill_in_mid_stream_leaves_one_message_with_the_whole_answer(
    home: FermixHome, model: StrictServer, editable: EditableChat
) -> None:
    daemon = serve(home, model, editable, "draft")
    model.will(ANSWER, ANSWER)
    editable.writes("hi")
    noted = "SELECT 1 FROM effects WHERE repeat='adopt' AND outcome IS NOT NULL"
    until(lambda: home.rows(noted), what="the draft's note")
    daemon.kill()
    assert editable.shown()[0] != SLOW
    editable.begins(home.daemon().ready())
    until(lambda: is_over(home), what="the end")
    assert tuple(editable.shown()) == (SLOW,)
    assert editable.opened() == 1


@pytest.mark.requirement("streaming.block.items_and_thoughts")
@pytest.mark.parametrize("wire", ["chat_completions", "responses"])
def test_in_blocks_finished_items_are_messages_and_thoughts_are_single_lines(
    home: FermixHome, model: StrictServer, chat: LiveChat, wire: str
) -> None:
    serve(home, model, chat, "block", provider=f'wire = "{wire}"\nreasoning_effort = "low"')
    model.will(
        Say(text="Let me look.", reasoning="**Looking around**\n\nThere may be files.", calls=(LOOK,)),
        Say(text="There is nothing.", reasoning="Nothing at all. " * 40, piece=10, pause=0.05),
    )
    chat.writes("what is there?")
    until(lambda: is_over(home), what="the end")
    first, looking, second, answer = chat.shown()
    assert (first, looking, answer) == ("💭 Looking around", "Let me look.", "There is nothing.")
    assert second == "💭 " + ("Nothing at all. " * 40)[:80].strip()
    told = [json.dumps(request.body, ensure_ascii=False) for request in model.requests]
    assert not [text for text in (*told, *kept(home)) if "💭" in text]
    assert [text for text in answers(home) if "Nothing at all" in text] == []


def kept(home: FermixHome) -> list[str]:
    return [content for (content,) in home.rows("SELECT content FROM entries")]


def answers(home: FermixHome) -> list[str]:
    """What the history holds as the agent's words."""
    return [json.loads(content).get("text", "") for content in kept(home)]


@pytest.mark.requirement("streaming.draft.needs_ability")
def test_drafts_where_messages_cannot_be_changed_are_no_drafts_and_that_is_said(
    home: FermixHome, model: StrictServer, unchanging: LiveChat
) -> None:
    serve(home, model, unchanging, "draft")
    model.will(ANSWER, Say(text="and again"))
    unchanging.writes("hi")
    seen = watch(unchanging, home)
    assert [one.texts for one in seen] == [(), (SLOW,)]
    unchanging.writes("hi again")
    until(lambda: len(unchanging.shown()) == 2, what="the next answer")
    assert home.log().count("channel.no_drafts") == 1
    assert 'streaming = "draft" does nothing' in home.fermix("doctor").out
