"""What signal-cli 0.13 answers, and how the arguments of its commands are called in JSON-RPC."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fermix.testing.servers.signal_cli.records import OLGA, THEN

_OFFLINE = "Failed to send message: chat.signal.org (java.net.UnknownHostException) (IOException)"


def refused(code: int, message: str) -> dict[str, Any]:
    """An error without data."""
    return {"error": {"code": code, "message": message, "data": None}}


def _failure(code: int, kind: str, **more: Any) -> dict[str, Any]:
    results = [{"recipientAddress": {"number": OLGA}, "type": kind, **more}]
    data = {"response": {"timestamp": THEN, "results": results}}
    return {"error": {"code": code, "message": "Failed to send message", "data": data}}


REFUSALS: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "too_fast": lambda seconds: _failure(-5, "RATE_LIMIT_FAILURE", retryAfterSeconds=seconds),
    "offline": lambda _: refused(-3, _OFFLINE),
    "refused": lambda _: _failure(-1, "UNREGISTERED_FAILURE"),
}


def params_of(words: Sequence[str], typed: str) -> dict[str, Any]:
    """The arguments of a command by the names of JSON-RPC."""
    params: dict[str, Any] = {"recipient": []}
    rest = deque(words)
    while rest:
        match rest.popleft():
            case "--message-from-stdin":
                params["message"] = typed.encode("latin-1").decode()
            case "-g":
                params["groupId"] = rest.popleft()
            case "-e":
                params["emoji"] = rest.popleft()
            case "-t":
                params["targetTimestamp"] = int(rest.popleft())
            case "-a" if "emoji" in params:
                params["targetAuthor"] = rest.popleft()
            case "-a":
                params["attachments"] = list(rest)
                rest.clear()
            case word:
                params["recipient"].append(word)
    return params
