"""What can be looked up over a connection, as the control port's values. Loads the domain, unlike an `ask`."""

from fermix.application.ports.control import Health, Identity, Status
from fermix.infrastructure.local_socket.client import ControlClient, ForeignProtocol
from fermix.infrastructure.local_socket.fields import Malformed
from fermix.infrastructure.local_socket.protocol import Verb
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
