"""What can be looked up over a connection, as the control port's values. Loads the domain, unlike an `ask`."""

from collections.abc import Mapping
from typing import Any

from fermix.application.ports.control import Health, Identity, RefusedSender, Status
from fermix.application.ports.conversations import ConversationSummary
from fermix.application.ports.lane_control import QueueReport, Resolution, ResolveRequest
from fermix.infrastructure.local_socket.client import CALL_SECONDS, ControlClient, ForeignProtocol, Refused
from fermix.infrastructure.local_socket.fields import Malformed
from fermix.infrastructure.local_socket.lane_wire import (
    decode_queue,
    decode_resolution,
    decode_sessions,
    encode_resolve,
    encode_sessions_limit,
)
from fermix.infrastructure.local_socket.protocol import ErrorCode, Verb
from fermix.infrastructure.local_socket.refused_wire import decode_refused
from fermix.infrastructure.local_socket.wire import decode_health, decode_identity, decode_status


def identify(client: ControlClient) -> Identity:
    """Who answers.

    Raises:
        ClientError: as for `ControlClient.call`.
    """
    try:
        return decode_identity(client.call(Verb.IDENTIFY))
    except Malformed as error:
        raise ForeignProtocol(f"The daemon's identity is not understood. {error}") from error


def status(client: ControlClient) -> Status:
    """How the gateway stands.

    Raises:
        ClientError: as for `ControlClient.call`.
    """
    try:
        return decode_status(client.call(Verb.STATUS))
    except Malformed as error:
        raise ForeignProtocol(f"The daemon's status is not understood. {error}") from error


def health(client: ControlClient) -> Health:
    """Health alone.

    Raises:
        ClientError: as for `ControlClient.call`.
    """
    try:
        return decode_health(client.call(Verb.HEALTH))
    except Malformed as error:
        raise ForeignProtocol(f"The daemon's health is not understood. {error}") from error


def sessions(client: ControlClient, *, limit: int) -> tuple[ConversationSummary, ...]:
    """Conversations, newest first.

    Raises:
        ClientError: as for `ControlClient.call`.
    """
    try:
        return decode_sessions(_call(client, Verb.SESSIONS, encode_sessions_limit(limit)))
    except Malformed as error:
        raise ForeignProtocol(f"The daemon's conversations are not understood. {error}") from error


def queue(client: ControlClient) -> QueueReport:
    """The queue line by line.

    Raises:
        ClientError: as for `ControlClient.call`.
    """
    try:
        return decode_queue(_call(client, Verb.QUEUE, {}))
    except Malformed as error:
        raise ForeignProtocol(f"The daemon's queue is not understood. {error}") from error


def refused(client: ControlClient, *, seconds: float = CALL_SECONDS) -> tuple[RefusedSender, ...]:
    """Who was refused lately, the newest first.

    Raises:
        ClientError: as for `ControlClient.call`.
    """
    try:
        return decode_refused(_call(client, Verb.REFUSED, {}, seconds=seconds))
    except Malformed as error:
        raise ForeignProtocol(f"The daemon's refusals are not understood. {error}") from error


def resolve(client: ControlClient, request: ResolveRequest) -> Resolution:
    """Discard or retry a turn.

    Raises:
        ClientError: as for `ControlClient.call`.
    """
    try:
        return decode_resolution(_call(client, Verb.RESOLVE, encode_resolve(request)))
    except Malformed as error:
        raise ForeignProtocol(f"The daemon's answer is not understood. {error}") from error


def _call(
    client: ControlClient, verb: Verb, params: Mapping[str, Any], *, seconds: float = CALL_SECONDS
) -> Mapping[str, Any]:
    """Call a verb that an older minor version of the protocol lacks."""
    try:
        return client.call(verb, params, seconds=seconds)
    except Refused as error:
        if error.code != ErrorCode.UNKNOWN_VERB:
            raise
        raise Refused(
            error.code,
            "The running daemon is older than this command. Restart it so that both are the same Fermix.",
        ) from error
