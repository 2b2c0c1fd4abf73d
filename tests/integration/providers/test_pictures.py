"""Pictures on both wires: what a server gets, and what its refusals come to."""

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import anyio
import pytest

from fermix.application.agent.loop import AgentLoop, AgentTask
from fermix.application.ports.model import ModelError, ModelProfile, ModelRequest
from fermix.domain import wording
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.history import AssistantEntry, HistoryEntry, MarkerEntry, UserEntry
from fermix.domain.picture import Picture
from fermix.infrastructure.pictures.preparing import DecodedPictures
from fermix.infrastructure.providers.openai.conversation import NOT_SHOWN
from fermix.infrastructure.providers.openai.endpoint import fixed_endpoint
from fermix.infrastructure.providers.openai.factory import OpenAIModel, Wire, build_model
from fermix.infrastructure.system.child_python import Launch
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.sample_pictures import as_picture, png
from fermix.testing.servers.openai_strict.script import Frames, Refuse
from fermix.testing.servers.openai_strict.server import StrictServer, strict_server
from tests.integration.providers.asking import model_at
from tests.unit.application.test_agent_loop import task
from tests.unit.infrastructure.pictures.files import photographed, saved, scene

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("wire", list(Wire))

RED, BLUE = png(255, 0, 0), png(0, 0, 255)


def said(text: str, *contents: bytes) -> UserEntry:
    return UserEntry(text=text, pictures=tuple(as_picture(content) for content in contents))


def showing(*entries: HistoryEntry, shown: tuple[bytes, ...]) -> ModelRequest:
    pictures = {as_picture(content).content.digest: content for content in shown}
    return ModelRequest(system="Be kind.", entries=entries, pictures=pictures)


def url(content: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def user_contents(server: StrictServer) -> list[Any]:
    body = server.requests[-1].body
    return [each["content"] for each in body.get("messages") or body["input"] if each.get("role") == "user"]


async def answered(server: StrictServer, wire: Wire, request: ModelRequest) -> str:
    async with model_at(server.base_url, wire) as model:
        with anyio.fail_after(10):
            return (await model.complete(request, on_text=lambda _: None)).text


async def refused(server: StrictServer, wire: Wire, request: ModelRequest) -> Failure:
    with pytest.raises(ModelError) as caught:
        await answered(server, wire, request)
    return caught.value.failure


@BOTH
async def test_texts_and_pictures_reach_the_server_in_the_order_in_which_they_were_sent(wire: Wire) -> None:
    request = showing(
        said("look", RED), MarkerEntry(text="stopped"), said("and this", BLUE, RED), shown=(RED, BLUE)
    )
    with strict_server() as server:
        await answered(server, wire, request)
        (content,) = user_contents(server)
    note = "[Note by the system, not written by the user: stopped]"
    picture = "image_url" if wire is Wire.CHAT_COMPLETIONS else "input_image"
    assert [part["type"] for part in content] == [
        content[0]["type"],
        picture,
        content[0]["type"],
        picture,
        picture,
    ]
    assert [part["text"] for part in content if "text" in part] == ["look", f"{note}\n\nand this"]
    assert server.requests[-1].pictures == [RED, BLUE, RED]


async def test_a_picture_is_an_image_url_with_a_data_url_on_the_chat_completions_wire() -> None:
    with strict_server() as server:
        await answered(server, Wire.CHAT_COMPLETIONS, showing(said("look", RED), shown=(RED,)))
        assert user_contents(server) == [
            [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": url(RED), "detail": "auto"}},
            ]
        ]


async def test_a_picture_is_an_input_image_with_a_data_url_on_the_responses_wire() -> None:
    with strict_server() as server:
        await answered(server, Wire.RESPONSES, showing(said("look", RED), shown=(RED,)))
        assert user_contents(server) == [
            [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": url(RED), "detail": "auto"},
            ]
        ]


@BOTH
async def test_a_picture_without_words_brings_no_blank_text(wire: Wire) -> None:
    with strict_server() as server:
        await answered(server, wire, showing(said("", RED), shown=(RED,)))
        ((part,),) = user_contents(server)
    assert "text" not in part


@BOTH
async def test_a_picture_that_is_not_shown_any_more_is_mentioned_in_its_place(wire: Wire) -> None:
    request = showing(said("", RED), AssistantEntry(text="Red."), said("and now?"), shown=())
    with strict_server() as server:
        await answered(server, wire, request)
        assert user_contents(server) == [NOT_SHOWN, "and now?"]
        assert server.requests[-1].pictures == []


NO_VISION = (
    (400, "Invalid content type. image_url is only supported by certain models."),
    (404, "No endpoints found that support image input"),
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    (400, "Failed to deserialize the JSON body: messages[1]: unknown variant `image_url`, expected `text`"),
    (
        400,
        "'messages.0' : for 'role:user' this must be satisfied[('messages.0.content' : value must be a string)]",
    ),
    (400, "this model does not support image input (ref: b8bd630e)"),
    (400, "strict-1 is not a multimodal model"),
    (400, "At most 0 image(s) may be provided in one prompt."),
    (500, 'Failed to parse messages: Unsupported content part type: "image_url"; messages = [{}]'),
    (400, "Image input is not enabled for this model"),
)
REFUSED = (
    (
        400,
        "You uploaded an unsupported image. Please make sure your image has of one of the following formats",
    ),
    (
        400,
        "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes",
    ),
    (422, "Could not process image"),
    (413, "Request Entity Too Large"),
    (415, "no"),
)


@BOTH
@pytest.mark.parametrize(("status", "words"), NO_VISION)
async def test_every_known_way_to_say_that_a_model_is_blind_is_understood(
    wire: Wire, status: int, words: str
) -> None:
    with strict_server(Refuse(status=status, body={"error": {"message": words}})) as server:
        failure = await refused(server, wire, showing(said("look", RED), shown=(RED,)))
    assert (failure.kind, failure.provider, failure.model) == (
        FailureKind.IMAGE_UNSUPPORTED,
        "strict",
        "strict-1",
    )


@BOTH
@pytest.mark.parametrize(("status", "words"), REFUSED)
async def test_a_refusal_of_a_request_with_pictures_is_told_as_one_of_the_picture(
    wire: Wire, status: int, words: str
) -> None:
    with strict_server(Refuse(status=status, body={"error": {"message": words}})) as server:
        failure = await refused(server, wire, showing(said("look", RED), shown=(RED,)))
    assert failure.kind is FailureKind.IMAGE_REFUSED
    text = wording.failed(failure)
    assert text.startswith("strict did not take the picture (")
    assert words[:20] in text


@BOTH
@pytest.mark.parametrize(("status", "words"), [NO_VISION[0], NO_VISION[5], REFUSED[2]])
async def test_the_same_words_say_nothing_of_pictures_when_there_was_none(
    wire: Wire, status: int, words: str
) -> None:
    with strict_server(Refuse(status=status, body={"error": {"message": words}})) as server:
        failure = await refused(server, wire, showing(said("hello"), shown=()))
    assert failure.kind is FailureKind.PROVIDER_FAILED


@BOTH
@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "invalid_api_key", FailureKind.CREDENTIAL_REFUSED),
        (429, "rate_limit_exceeded", FailureKind.RATE_LIMITED),
        (404, "model_not_found", FailureKind.UNKNOWN_MODEL),
        (400, "context_length_exceeded", FailureKind.CONTEXT_TOO_LONG),
        (503, "overloaded", FailureKind.PROVIDER_FAILED),
    ],
)
async def test_what_is_wrong_for_another_reason_keeps_its_reason(
    wire: Wire, status: int, code: str, kind: FailureKind
) -> None:
    with strict_server(Refuse(status=status, body={"error": {"message": "no", "code": code}})) as server:
        failure = await refused(server, wire, showing(said("look", RED), shown=(RED,)))
    assert failure.kind is kind


async def test_a_refusal_inside_the_stream_is_understood_too() -> None:
    frame = 'data: {"error": {"message": "image input is not supported", "code": 500}}\n\n'
    with strict_server(Frames(frames=(frame,), end="close")) as server:
        failure = await refused(server, Wire.CHAT_COMPLETIONS, showing(said("", RED), shown=(RED,)))
    assert failure.kind is FailureKind.IMAGE_UNSUPPORTED


class Studio:
    """Pictures from a file to a model: the real decoder, a store, the agent's loop, and a wire."""

    def __init__(self) -> None:
        self.blobs = MemoryBlobs(clock=StoppedClock())
        self.pictures = DecodedPictures(blobs=self.blobs, launch=Launch())
        self.loop = AgentLoop(max_iterations=3, blobs=self.blobs)

    async def picture(self, content: bytes) -> Picture:
        async def pieces() -> AsyncIterator[bytes]:
            yield content

        return await self.pictures.prepare(await self.blobs.store(pieces(), limit=len(content)))

    async def turn(
        self, model: OpenAIModel, entry: UserEntry, *history: HistoryEntry
    ) -> tuple[str, list[HistoryEntry]]:
        """What a turn came to, in words, and what it leaves to the next one."""
        work: AgentTask = replace(task(model), history=history, transcript=[entry])  # type: ignore[arg-type]
        with anyio.fail_after(20):
            try:
                return (await self.loop.run(work)).text, work.transcript
            except ModelError as failed:
                return wording.failed(failed.failure), work.transcript


def seeing(server: StrictServer, wire: Wire, *, vision: bool = True) -> OpenAIModel:
    return build_model(
        profile=ModelProfile(provider="strict", model="strict-1", vision=vision),
        wire=wire,
        endpoint=fixed_endpoint("strict", base_url=server.base_url, api_key="test-key"),
        timeout_seconds=5,
    )


@BOTH
async def test_a_refused_picture_does_not_poison_the_conversation(wire: Wire) -> None:
    studio = Studio()
    entry = UserEntry(text="what is it?", pictures=(await studio.picture(saved(scene(40, 40), "PNG")),))
    with strict_server() as server:
        server.sees = False
        model = seeing(server, wire)
        try:
            told, kept = await studio.turn(model, entry)
            assert told.startswith("The model “strict-1” at strict cannot see pictures")
            told, kept = await studio.turn(model, UserEntry(text="hello"), *kept)
        finally:
            await model.aclose()
        assert [len(request.pictures) for request in server.requests] == [1, 0]
    assert told.endswith("hello")
    assert len(kept) == 2


@BOTH
async def test_a_picture_that_another_provider_took_does_not_end_the_conversation_here(wire: Wire) -> None:
    studio = Studio()
    earlier = UserEntry(text="", pictures=(await studio.picture(saved(scene(40, 40), "PNG")),))
    with strict_server() as server:
        server.sees = False
        model = seeing(server, wire)
        try:
            told, _ = await studio.turn(model, UserEntry(text="hello"), earlier, AssistantEntry(text="Nice."))
        finally:
            await model.aclose()
        assert [len(request.pictures) for request in server.requests] == [1, 0]
    assert told.endswith("hello")


@BOTH
async def test_a_picture_is_sent_as_what_its_bytes_are_whatever_was_said_of_it(wire: Wire) -> None:
    studio = Studio()
    named_jpeg_but_png = await studio.picture(saved(scene(60, 40), "PNG"))
    photograph = await studio.picture(photographed(scene(3000, 2000), 8))
    with strict_server() as server:
        model = seeing(server, wire)
        try:
            entry = UserEntry(text="look", pictures=(named_jpeg_but_png, photograph))
            told, _ = await studio.turn(model, entry)
        finally:
            await model.aclose()
        first, second = server.requests[-1].pictures
    assert told == "You said: look"
    assert (first[:4], second[:3]) == (b"\x89PNG", b"\xff\xd8\xff")
    assert b"GPS" not in second
    assert b"Exif" not in second


@BOTH
async def test_nothing_leaves_for_a_model_that_is_known_to_see_no_pictures(wire: Wire) -> None:
    studio = Studio()
    entry = UserEntry(text="look", pictures=(await studio.picture(saved(scene(40, 40), "PNG")),))
    with strict_server() as server:
        model = seeing(server, wire, vision=False)
        try:
            told, kept = await studio.turn(model, entry)
            assert "cannot see pictures. Choose a model with vision" in told
            assert server.requests == []
            told, _ = await studio.turn(model, UserEntry(text="hello"), *kept)
        finally:
            await model.aclose()
        assert [request.pictures for request in server.requests] == [[]]
    assert told.endswith("hello")
