"""Checks of pictures: which ones the model is shown, in which order, and how their refusal is told."""

from collections.abc import Iterable

from fermix.application.ports.model import ModelError, ModelRequest
from fermix.domain.failure import FailureKind
from fermix.domain.history import AssistantEntry, HistoryEntry, UserEntry
from fermix.domain.picture import Picture
from fermix.testing.expectations import PromiseBroken, must_equal
from fermix.testing.model_checks.check import LOOK, ModelCheck, ignored, proves
from fermix.testing.model_harness import ModelHarness, OpenModel, Trouble
from fermix.testing.sample_pictures import as_picture, png

_RED, _GREEN, _BLUE, _WHITE = (png(*colour) for colour in ((255, 0, 0), (0, 255, 0), (0, 0, 255), (255,) * 3))


def _said(text: str, *contents: bytes) -> UserEntry:
    return UserEntry(text=text, pictures=tuple(as_picture(content) for content in contents))


def _request(*entries: HistoryEntry, shown: Iterable[bytes]) -> ModelRequest:
    pictures = {_digest(as_picture(content)): content for content in shown}
    return ModelRequest(system="Be kind.", entries=entries, tools=(LOOK,), pictures=pictures)


def _digest(picture: Picture) -> str:
    return picture.content.digest


async def _must_be_shown(opened: OpenModel, request: ModelRequest, *wanted: bytes) -> None:
    answer = await opened.model.complete(request, on_text=ignored)
    if not answer.text.strip():
        raise PromiseBroken("a request with pictures: expected an answer, found none")
    names = {_RED: "red", _GREEN: "green", _BLUE: "blue", _WHITE: "white"}
    found = [names.get(content, "another") for content in opened.provider.shown()]
    must_equal(found, [names[content] for content in wanted], "the pictures that are seen")


@proves()
async def pictures_are_shown_as_they_are_and_in_their_order(harness: ModelHarness) -> None:
    """What people sent reaches the model as pictures, byte for byte, in the order in which it was sent."""
    entries = (
        _said("first", _RED, _GREEN),
        _said("", _BLUE),
        AssistantEntry(text="I see three."),
        _said("And this?", _WHITE),
    )
    every = (_RED, _GREEN, _BLUE, _WHITE)
    async with harness.open() as opened:
        await _must_be_shown(opened, _request(*entries, shown=every), *every)


@proves()
async def a_picture_that_a_request_does_not_hold_is_not_shown(harness: ModelHarness) -> None:
    """A picture that is not shown any more does not keep a request from being answered."""
    first, answer = _said("", _RED), AssistantEntry(text="Red.")
    async with harness.open() as opened:
        await _must_be_shown(opened, _request(first, shown=[_RED]), _RED)
        await _must_be_shown(opened, _request(first, answer, _said("And?", _BLUE), shown=[_BLUE]), _BLUE)
        await _must_be_shown(opened, _request(first, answer, _said("And now?"), shown=()))


def _refused(trouble: Trouble, kind: FailureKind, *, name: str, promise: str) -> ModelCheck:
    async def run(harness: ModelHarness) -> None:
        async with harness.open(impatient=True) as opened:
            opened.provider.will(trouble)
            request = _request(_said("What is it?", _RED), shown=[_RED])
            try:
                await opened.model.complete(request, on_text=ignored)
            except ModelError as failed:
                must_equal(failed.kind, kind, "the kind")
            else:
                raise PromiseBroken(f"{name}: expected a failure, found an answer")

    run.__name__, run.__doc__ = name, promise
    return proves()(run)


CHECKS: tuple[ModelCheck, ...] = (
    pictures_are_shown_as_they_are_and_in_their_order,
    a_picture_that_a_request_does_not_hold_is_not_shown,
    _refused(
        Trouble.NO_VISION,
        FailureKind.IMAGE_UNSUPPORTED,
        name="a_model_without_vision_is_told",
        promise="A model that sees no pictures is told apart from every other refusal of one.",
    ),
    _refused(
        Trouble.PICTURE_REFUSED,
        FailureKind.IMAGE_REFUSED,
        name="a_refused_picture_is_told",
        promise="A picture that the provider does not take is told apart from a provider that fails.",
    ),
)
