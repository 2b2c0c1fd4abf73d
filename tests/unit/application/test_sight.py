"""Pictures in an agent's turn: which are shown, and what happens when one is refused or gone."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from fermix.application.agent.loop import AgentLoop, AgentTask
from fermix.application.agent.window import fit_to_window
from fermix.application.ports.model import ModelError, ModelProfile
from fermix.domain.blob import BlobRef
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.history import AssistantEntry, HistoryEntry, UserEntry
from fermix.domain.picture import Picture
from fermix.domain.wording import PICTURE_REFUSED
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from tests.unit.application.scripted import RecordingTool, ScriptedModel, calls, says
from tests.unit.application.test_agent_loop import task

pytestmark = pytest.mark.anyio

SEEING = ModelProfile(provider="scripted", model="one", vision=True)
BLIND = ModelProfile(provider="scripted", model="one")
REFUSED = ModelError(Failure(kind=FailureKind.IMAGE_REFUSED, provider="scripted", model="one"))
UNSUPPORTED = ModelError(Failure(kind=FailureKind.IMAGE_UNSUPPORTED, provider="scripted", model="one"))


class Album:
    """A store and the pictures in it."""

    def __init__(self) -> None:
        self.blobs = MemoryBlobs(clock=StoppedClock())
        self.loop = AgentLoop(max_iterations=5, blobs=self.blobs)

    async def picture(self, content: bytes) -> Picture:
        async def pieces() -> AsyncIterator[bytes]:
            yield content

        blob = await self.blobs.store(pieces(), limit=100)
        return Picture(content=blob, mime_type="image/png", width=1500, height=1000)

    async def said(self, text: str, *contents: bytes) -> UserEntry:
        return UserEntry(text=text, pictures=tuple([await self.picture(content) for content in contents]))


def looking(model: ScriptedModel, history: tuple[HistoryEntry, ...], said: UserEntry) -> AgentTask:
    return replace(task(model, RecordingTool("look")), history=history, transcript=[said])


def shown(model: ScriptedModel, request: int = -1) -> set[bytes]:
    return set(model.requests[request].pictures.values())


async def test_a_picture_reaches_the_model_in_every_step_of_its_turn() -> None:
    album = Album()
    model = ScriptedModel([calls("look"), says("a cat")], profile=SEEING)
    await album.loop.run(looking(model, (), await album.said("what is it?", b"cat")))
    assert [shown(model, 0), shown(model, 1)] == [{b"cat"}, {b"cat"}]


async def test_the_newest_four_pictures_of_the_conversation_go_again() -> None:
    album = Album()
    history = (
        await album.said("", b"1", b"2", b"3"),
        AssistantEntry(text="three"),
        await album.said("", b"4", b"5"),
    )
    model = ScriptedModel([says("red")], profile=SEEING)
    await album.loop.run(looking(model, history, UserEntry(text="and the left corner?")))
    assert shown(model) == {b"2", b"3", b"4", b"5"}


@pytest.mark.requirement("media.image.model_without_vision")
async def test_a_picture_for_a_model_without_vision_fails_loudly_and_asks_nobody() -> None:
    album = Album()
    model = ScriptedModel([says("never")], profile=BLIND)
    work = looking(model, (), await album.said("what is it?", b"cat"))
    with pytest.raises(ModelError) as failed:
        await album.loop.run(work)
    failure = failed.value.failure
    assert (failure.kind, failure.provider, failure.model) == (
        FailureKind.IMAGE_UNSUPPORTED,
        "scripted",
        "one",
    )
    assert model.requests == []
    assert work.transcript == [await album.said("what is it?", b"cat")]


async def test_old_pictures_do_not_keep_a_model_without_vision_from_answering() -> None:
    album = Album()
    model = ScriptedModel([says("hi")], profile=BLIND)
    history = (await album.said("", b"cat"),)
    assert (await album.loop.run(looking(model, history, UserEntry(text="hello")))).text == "hi"
    assert shown(model) == set()


@pytest.mark.parametrize("refusal", [REFUSED, UNSUPPORTED])
async def test_a_refused_picture_is_not_kept_with_its_turn(refusal: ModelError) -> None:
    album = Album()
    model = ScriptedModel([refusal], profile=SEEING)
    work = looking(model, (), await album.said("what is it?", b"cat", b"dog"))
    with pytest.raises(ModelError):
        await album.loop.run(work)
    notes = f"{PICTURE_REFUSED}\n\n{PICTURE_REFUSED}"
    assert work.transcript == [UserEntry(text=f"what is it?\n\n{notes}")]
    assert len(model.requests) == 1


async def test_another_failure_keeps_the_picture_for_the_next_try() -> None:
    album = Album()
    late = ModelError(Failure(kind=FailureKind.TIMED_OUT))
    work = looking(ScriptedModel([late], profile=SEEING), (), await album.said("?", b"cat"))
    with pytest.raises(ModelError):
        await album.loop.run(work)
    assert work.transcript == [await album.said("?", b"cat")]


async def test_old_pictures_that_a_provider_refuses_are_left_out_and_the_turn_goes_on() -> None:
    album = Album()
    model = ScriptedModel([REFUSED, calls("look"), says("hi")], profile=SEEING)
    history = (await album.said("", b"cat"),)
    assert (await album.loop.run(looking(model, history, UserEntry(text="hello")))).text == "hi"
    assert [shown(model, number) for number in range(3)] == [{b"cat"}, set(), set()]


async def test_when_old_and_new_pictures_are_refused_only_the_new_ones_are_tried_again() -> None:
    album = Album()
    model = ScriptedModel([REFUSED, REFUSED, says("never")], profile=SEEING)
    history = (await album.said("", b"cat"),)
    with pytest.raises(ModelError):
        await album.loop.run(looking(model, history, await album.said("", b"dog")))
    assert [shown(model, 0), shown(model, 1)] == [{b"cat", b"dog"}, {b"dog"}]
    assert len(model.requests) == 2


async def test_a_picture_whose_file_is_gone_is_no_error() -> None:
    album = Album()
    gone = Picture(content=BlobRef(digest="ab" * 32, size_bytes=3), mime_type="image/png", width=1, height=1)
    history = (UserEntry(text="", pictures=(gone,)), await album.said("", b"cat"))
    model = ScriptedModel([says("hi")], profile=SEEING)
    await album.loop.run(looking(model, history, UserEntry(text="hello")))
    assert shown(model) == {b"cat"}


async def test_a_picture_that_the_window_has_no_room_for_is_not_read() -> None:
    album = Album()
    history = (await album.said("", b"cat"), AssistantEntry(text="a cat"))
    small = replace(SEEING, context_window=2000)
    model = ScriptedModel([says("hi")], profile=small)
    await album.loop.run(looking(model, history, UserEntry(text="hello")))
    assert shown(model) == set()
    assert model.requests[0].entries == (UserEntry(text="hello"),)


async def test_a_picture_costs_by_its_pixels_where_it_is_shown_and_little_where_it_is_mentioned() -> None:
    album = Album()
    history = [await album.said("", b"cat")]
    model = ScriptedModel([says("hi")], profile=replace(SEEING, context_window=2000))
    turn = [UserEntry(text="hello")]
    assert fit_to_window(history, turn, model, "", ()) == (*history, *turn)
    seen = frozenset({history[0].pictures[0].content})
    assert fit_to_window(history, turn, model, "", (), shown=seen) == tuple(turn)
