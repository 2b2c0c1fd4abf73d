"""A check of the model's suite, and short ways to ask."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio

from fermix.application.ports.model import Model, ModelAnswer, ModelError, ModelRequest, ToolDefinition
from fermix.domain.history import HistoryEntry, UserEntry
from fermix.testing.checks import Check, Run, as_check
from fermix.testing.expectations import PromiseBroken
from fermix.testing.model_harness import ModelHarness

ModelCheck: TypeAlias = Check[ModelHarness]

QUESTION = "Count from one to five."
"""What is asked where the words do not matter: any model has some words for it."""

LOOK = ToolDefinition(
    name="look",
    description="Looks at a path.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)


def proves(*requirements: str) -> Callable[[Run[ModelHarness]], ModelCheck]:
    """Make a check of a function; a failure that it does not expect breaks its promise."""
    return lambda run: as_check(run, *requirements, broken_by=ModelError)


def ignored(piece: str) -> None:
    """A reader who does not look."""


def request(*before: HistoryEntry, text: str = QUESTION) -> ModelRequest:
    """One question after what was said before, with a tool on offer."""
    return ModelRequest(system="Be kind.", entries=(*before, UserEntry(text=text)), tools=(LOOK,))


async def ask(
    model: Model,
    *before: HistoryEntry,
    text: str = QUESTION,
    on_text: Callable[[str], None] = ignored,
) -> ModelAnswer:
    """The answer to one question."""
    return await model.complete(request(*before, text=text), on_text=on_text)


async def failure_of(model: Model, on_text: Callable[[str], None] = ignored) -> ModelError | None:
    """How one question failed, `None` when it was answered."""
    try:
        await ask(model, on_text=on_text)
    except ModelError as exc:
        return exc
    return None


async def must_fail(model: Model, about: str) -> ModelError:
    """How one question failed.

    Raises:
        PromiseBroken: it was answered.
    """
    failed = await failure_of(model)
    if failed is None:
        raise PromiseBroken(f"{about}: expected a failure, found an answer")
    return failed


@asynccontextmanager
async def noticed(harness: ModelHarness, about: str) -> AsyncGenerator[None]:
    """What is waited for inside happens while the harness has patience.

    Raises:
        PromiseBroken: it does not.
    """
    with anyio.move_on_after(harness.patience.total_seconds()) as scope:
        yield
    if scope.cancelled_caught:
        raise PromiseBroken(f"{about}: not within {harness.patience}")
