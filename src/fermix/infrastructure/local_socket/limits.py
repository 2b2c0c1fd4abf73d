"""How much one server gives its clients before it lets them go."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketLimits:
    """Bounds of the control socket.

    Attributes:
        connections: at the same time; one more is told so and closed.
        first_request_seconds: from the connection to its first complete request.
        idle_seconds: between one reply and the next complete request.
        write_seconds: for one line to be taken by the client; a slower one is closed.
        piece_seconds: from one piece of a file to the next one that its client sends.
        alive_seconds: how often an `ask` that has nothing to say says that it is alive.
        farewell_seconds: how long what a refused client still sends is read and dropped, so that it can read why.
    """

    connections: int = 64
    first_request_seconds: float = 5
    idle_seconds: float = 300
    write_seconds: float = 10
    piece_seconds: float = 30
    alive_seconds: float = 10
    farewell_seconds: float = 1
