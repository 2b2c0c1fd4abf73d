"""Putting streamed tool calls of the Chat Completions wire together again."""

import json

from fermix.application.ports.model import ToolCall
from fermix.infrastructure.providers.openai.bounds import Bounds
from fermix.infrastructure.providers.openai.foreign import JsonObject, as_index, as_object, as_text, parsed
from fermix.infrastructure.providers.openai.refusal import broken


class _Call:
    """A call while its pieces arrive."""

    def __init__(self, index: int | None, call_id: str, name: str) -> None:
        self.index = index
        self.call_id = call_id
        self.name = name
        self.pieces: list[str] = []
        self.size = 0

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class ToolDeltas:
    """Which call a fragment belongs to, on servers that number them all zero, send no index, or no id.

    A known id belongs to its call whatever the index. A new id starts a new call, unless the call at that place
    still lacks one. A fragment without id belongs to the latest call with its index, or without index to the call
    in progress; it starts a new call when it names another function, or the arguments before it are already whole.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._calls: list[_Call] = []

    def add(self, fragment: object) -> None:
        """Take one element of `delta.tool_calls`.

        Raises:
            AnswerRefusedError: more calls or longer arguments than allowed.
        """
        fields = as_object(fragment)
        function = as_object(fields.get("function"))
        call_id, index = as_text(fields.get("id")), as_index(fields.get("index"))
        name, arguments = as_text(function.get("name")), _arguments(function)
        if not (call_id or name or arguments):
            return
        call = self._place(call_id, index, name, arguments)
        call.call_id = call.call_id or call_id
        call.name = call.name or name
        call.size += len(arguments)
        if call.size > self._bounds.argument_chars:
            raise broken("the arguments of a tool call are longer than allowed")
        call.pieces.append(arguments)

    def calls(self) -> tuple[ToolCall, ...]:
        """All calls in the order they began; a call that never got an id has a made-up one.

        Raises:
            AnswerRefusedError: a call has no name, so that nobody could run it.
        """
        taken = {call.call_id for call in self._calls}
        out: list[ToolCall] = []
        for number, call in enumerate(self._calls, start=1):
            if not call.name:
                raise broken("a tool call has no name")
            out.append(
                ToolCall(
                    call_id=call.call_id or made_up_id(number, taken),
                    name=call.name,
                    arguments=call.arguments,
                )
            )
        return tuple(out)

    def _place(self, call_id: str, index: int | None, name: str, arguments: str) -> _Call:
        latest = self._latest(index)
        if call_id:
            known = next((call for call in self._calls if call.call_id == call_id), None)
            if known is not None:
                return known
            if latest is not None and not latest.call_id and not _begins_another(latest, name, arguments):
                return latest
        elif latest is not None and not _begins_another(latest, name, arguments):
            return latest
        if len(self._calls) >= self._bounds.calls:
            raise broken("the answer holds more tool calls than allowed")
        self._calls.append(_Call(index, call_id, name))
        return self._calls[-1]

    def _latest(self, index: int | None) -> _Call | None:
        if index is None:
            return self._calls[-1] if self._calls else None
        return next((call for call in reversed(self._calls) if call.index == index), None)


def made_up_id(number: int, taken: set[str]) -> str:
    """A call id for a server that sent none: stable, free, and of the form that Mistral insists on."""
    while (call_id := f"call{number:05d}") in taken:
        number += 1
    taken.add(call_id)
    return call_id


def _begins_another(call: _Call, name: str, arguments: str) -> bool:
    if not name or not call.name:
        return False
    return name != call.name or (bool(arguments) and isinstance(parsed(call.arguments), dict))


def _arguments(function: JsonObject) -> str:
    """Arguments as text; some servers send the object itself."""
    value = function.get("arguments")
    return json.dumps(value) if isinstance(value, dict) else as_text(value)
