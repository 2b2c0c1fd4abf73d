"""The verbs about conversations and their queues, from a request's parameters to its result."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, assert_never

from fermix.application.ports.lane_control import LaneControl
from fermix.infrastructure.local_socket.lane_wire import (
    decode_resolve,
    decode_sessions_limit,
    encode_queue,
    encode_resolution,
    encode_sessions,
)
from fermix.infrastructure.local_socket.protocol import Verb

LaneVerb: TypeAlias = Literal[Verb.SESSIONS, Verb.QUEUE, Verb.RESOLVE]


async def lane_answer(verb: LaneVerb, params: Mapping[str, Any], lanes: LaneControl) -> Mapping[str, Any]:
    """The result of one request.

    Raises:
        Malformed: a parameter is missing or of another type.
        LedgerError: the ledger cannot be used.
    """
    match verb:
        case Verb.SESSIONS:
            return encode_sessions(await lanes.sessions(limit=decode_sessions_limit(params)))
        case Verb.QUEUE:
            return encode_queue(await lanes.queue())
        case Verb.RESOLVE:
            return encode_resolution(await lanes.resolve(decode_resolve(params)))
        case _:
            assert_never(verb)
