"""Thoughts of Chat Completions models: kept, and given back to the model that had them and to no other."""

import json

from fermix.infrastructure.providers.openai.bounds import Bounds
from fermix.infrastructure.providers.openai.foreign import JsonObject, as_list, as_object, as_text, parsed
from fermix.infrastructure.providers.openai.refusal import broken

TEXT_FIELDS = ("reasoning_content", "reasoning")
"""DeepSeek, Qwen, xAI and llama.cpp use the first name; OpenRouter, newer vLLM and Ollama the second."""
DETAILS_FIELD = "reasoning_details"
"""OpenRouter's list; it holds signatures that some models demand back."""
_JOINED = ("text", "summary", "data")


class Reasoning:
    """Collects the reasoning fields of a stream under the names the server used."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._texts: dict[str, list[str]] = {name: [] for name in TEXT_FIELDS}
        self._details: list[JsonObject] = []
        self._size = 0

    def add(self, delta: JsonObject) -> None:
        """Take the reasoning of one delta.

        Raises:
            AnswerRefusedError: there is more of it than allowed.
        """
        for name in TEXT_FIELDS:
            piece = as_text(delta.get(name))
            if piece:
                self._count(len(piece))
                self._texts[name].append(piece)
        for detail in as_list(delta.get(DETAILS_FIELD)):
            self._add_detail(as_object(detail))

    def state(self, model: str) -> str | None:
        """What to keep with the answer, or `None` when the model showed no thoughts."""
        fields: JsonObject = {name: "".join(pieces) for name, pieces in self._texts.items() if pieces}
        if self._details:
            fields[DETAILS_FIELD] = self._details
        return json.dumps({"model": model, "fields": fields}) if fields else None

    def _add_detail(self, detail: JsonObject) -> None:
        self._count(64 + sum(len(value) for value in detail.values() if isinstance(value, str)))
        last = self._details[-1] if self._details else None
        if last is None or any(last.get(name) != detail.get(name) for name in ("index", "type")):
            self._details.append(dict(detail))
            return
        for name, value in detail.items():
            if name in _JOINED and isinstance(value, str):
                last[name] = as_text(last.get(name)) + value
            elif value is not None:
                last[name] = value

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self._bounds.text_chars:
            raise broken("the model's reasoning is longer than allowed")


def reasoning_text(delta: JsonObject) -> str:
    """What a delta adds to the thought; a server that uses both names says the same under either."""
    return next(filter(None, (as_text(delta.get(name)) for name in TEXT_FIELDS)), "")


def reasoning_fields(state: str | None, *, model: str) -> JsonObject:
    """The fields to put on an assistant message again; empty when another model made the state."""
    kept = as_object(parsed(state)) if state else {}
    if kept.get("model") != model:
        return {}
    fields = as_object(kept.get("fields"))
    return {name: fields[name] for name in (*TEXT_FIELDS, DETAILS_FIELD) if name in fields}
