"""How much of a conversation goes to a model: the newest of it that its window holds."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import partial

from fermix.application.ports.model import Model, ToolDefinition
from fermix.domain.blob import BlobRef
from fermix.domain.history import AssistantEntry, HistoryEntry, ToolEntry, UserEntry, cut_to_budget
from fermix.domain.picture import Picture

BYTES_PER_TOKEN = 3
"""Deliberately low: a history cut too early costs a memory, one cut too late costs the answer."""

TOKENS_PER_ENTRY = 8

PIXELS_PER_TOKEN = 750
"""Anthropic's documented figure, dearer than OpenAI's for all but small pictures."""

TOKENS_OF_SMALL_PICTURE = 256
"""OpenAI's least price of a picture that is looked at closely, 255."""

TOKENS_OF_MENTION = 32
"""What saying that there was a picture costs."""


def fit_to_window(
    history: Sequence[HistoryEntry],
    turn: Sequence[HistoryEntry],
    model: Model,
    system: str,
    tools: Sequence[ToolDefinition],
    *,
    shown: frozenset[BlobRef] = frozenset(),
) -> tuple[HistoryEntry, ...]:
    """The history and the turn so far, with the oldest exchanges left out that the model's window cannot hold.

    The turn itself is never cut. Tokens are estimated from bytes and pixels; the provider's own count is not known
    before it answers.

    Args:
        history: what came before the turn, oldest first.
        turn: the turn so far.
        model: whose window it is.
        system: its system prompt.
        tools: what it may call.
        shown: the pictures that go with the entries they came with; of others there is a mention.
    """
    window = model.profile.context_window
    if window is None:
        return (*history, *turn)
    schemas: list[Mapping[str, object]] = [tool.parameters for tool in tools]
    fixed = (
        len(system.encode(errors="surrogatepass"))
        + len(json.dumps(schemas))
        + sum(len(tool.description) for tool in tools)
    )
    reserve = model.profile.max_output_tokens or window // 8
    measure = partial(_tokens, shown=shown)
    budget = window - reserve - math.ceil(fixed / BYTES_PER_TOKEN) - sum(measure(entry) for entry in turn)
    kept = cut_to_budget([*history, UserEntry(text="")], budget=budget, measure=measure)[:-1]
    return (*kept, *turn)


def _tokens(entry: HistoryEntry, *, shown: frozenset[BlobRef]) -> int:
    pictures = 0
    match entry:
        case AssistantEntry(text=text, calls=calls, provider_state=state):
            written = text + (state or "") + "".join(c.name + c.arguments + c.call_id for c in calls)
        case ToolEntry(text=text, name=name, call_id=call_id):
            written = text + name + call_id
        case UserEntry(text=written):
            pictures = sum(_tokens_of(picture, shown) for picture in entry.pictures)
        case _:
            written = entry.text
    length = len(written.encode(errors="surrogatepass"))
    return TOKENS_PER_ENTRY + math.ceil(length / BYTES_PER_TOKEN) + pictures


def _tokens_of(picture: Picture, shown: frozenset[BlobRef]) -> int:
    if picture.content not in shown:
        return TOKENS_OF_MENTION
    return max(TOKENS_OF_SMALL_PICTURE, math.ceil(picture.width * picture.height / PIXELS_PER_TOKEN))
