"""The people's side over HTTP, for a server that runs as a process of its own.

`POST /_play/writes|update|knows|block|upgrade|fault|clear` take the arguments of the methods of that name as one
JSON object; `GET /_play/sent?wait_for=N&chat=ID`, `/_play/calls`, `/_play/state` tell what came of it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import parse_qs

from fermix.testing.servers.telegram_api.people_side import PeopleSide
from fermix.testing.servers.telegram_api.records import Json
from fermix.testing.servers.telegram_api.world import World


def answer(world: World, verb: str, query: str, body: bytes) -> tuple[int, Json]:
    """Status and answer of one request."""
    side = PeopleSide(world)
    try:
        given = {name: values[-1] for name, values in parse_qs(query).items()}
        if verb in _TOLD:
            return 200, _TOLD[verb](side, given)
        acts: Mapping[str, Callable[..., Any]] = {
            "writes": side.user_writes,
            "update": side.update,
            "knows": side.knows,
            "block": side.block,
            "upgrade": side.upgrade,
            "fault": side.fault,
            "clear": side.clear_faults,
        }
        if verb not in acts:
            return 404, {"error": f"no such verb: {verb}"}
        return 200, {"result": acts[verb](**json.loads(body or b"{}"))}
    except (TypeError, ValueError) as exc:
        return 400, {"error": str(exc)}
    except AssertionError as exc:
        return 504, {"error": str(exc)}


def _sent(side: PeopleSide, given: Mapping[str, str]) -> Json:
    chat = int(given["chat"]) if "chat" in given else None
    shown = side.sent(int(given.get("wait_for", "0")), chat=chat, seconds=float(given.get("seconds", "5")))
    return {"result": [asdict(one) for one in shown]}


def _calls(side: PeopleSide, _given: Mapping[str, str]) -> Json:
    return {"result": [asdict(call) for call in side.calls]}


def _state(side: PeopleSide, _given: Mapping[str, str]) -> Json:
    return {
        "result": {
            "confirmed_offset": side.confirmed_offset,
            "pending": len(side.pending),
            "is_polled": side.is_polled,
        }
    }


_TOLD: Mapping[str, Callable[[PeopleSide, Mapping[str, str]], Json]] = {
    "sent": _sent,
    "calls": _calls,
    "state": _state,
}
