"""Asking the owner of the home something short: its daemon, another command, or this process in their place."""

from collections.abc import Callable
from typing import TypeVar

from fermix.entrypoints.cli.attachment import attached
from fermix.entrypoints.cli.client_failures import command_failed
from fermix.entrypoints.cli.foreground import GatewayForeground
from fermix.entrypoints.cli.home import home_folder
from fermix.entrypoints.cli.terminal import Terminal
from fermix.entrypoints.cli.terminal_text import visible
from fermix.infrastructure.local_socket.client import ClientError, ConnectionLost, ControlClient, Hangs

T = TypeVar("T")


def with_owner(terminal: Terminal, use: Callable[[ControlClient], T]) -> T:
    """Call `use` with a connection to the owner of the home; no model is fetched for it.

    `use` shows what it has to show before it returns: when this process owns the home, others may be using it
    through us for a while yet. For the same reason it reports no failure of its own by raising.

    `use` may be called twice: an owner that was ending may have taken the connection but not the request.

    Raises:
        CommandFailed: nobody can be asked, or the call failed.
    """
    home = home_folder(terminal.environ)
    foreground = GatewayForeground(terminal.environ, installs_model=False)

    def note(text: str) -> None:
        terminal.err.write(f"fermix: {visible(text)}\n")
        terminal.err.flush()

    def once() -> T:
        with attached(home, foreground, verbose=False, note=note) as client:
            return use(client)

    try:
        try:
            return once()
        except Hangs:
            raise
        except ConnectionLost:
            return once()
    except ClientError as error:
        raise command_failed(error) from error
