"""`fermix status`: how the owner of the home stands."""

import click

from fermix.application.ports.control import ChannelHealth, OwnerKind, Status
from fermix.entrypoints.cli.client_failures import command_failed
from fermix.entrypoints.cli.command_failed import CommandFailed, write_document
from fermix.entrypoints.cli.home import home_folder
from fermix.entrypoints.cli.terminal import this_terminal
from fermix.entrypoints.cli.terminal_text import visible
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket import queries
from fermix.infrastructure.local_socket.client import ClientError, connect
from fermix.infrastructure.local_socket.wire import encode_status


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def status(*, as_json: bool) -> int:
    """Show how the daemon stands. Exit status 3 when it is not running."""
    terminal = this_terminal()
    try:
        with connect(home_folder(terminal.environ)) as client:
            found = queries.status(client)
    except ClientError as error:
        raise command_failed(error) from error
    if found.identity.kind is not OwnerKind.DAEMON:
        raise no_daemon_but(found.identity.pid)
    if as_json:
        write_document(terminal.out, {"ok": True, "status": encode_status(found)})
    else:
        terminal.out.write(visible(status_text(found)))
    return ExitCode.OK


def no_daemon_but(pid: int) -> CommandFailed:
    """The home has an owner, but one that leaves with its command."""
    return CommandFailed(
        f"The daemon is not running; a `fermix ask` (process {pid}) is using the home.",
        code="not_running",
        exit_code=ExitCode.NOT_RUNNING,
    )


def status_text(status: Status) -> str:
    """The status as lines of two columns."""
    identity = status.identity
    rows = [
        ("daemon", f"{'ending' if status.draining else 'running'}, version {identity.version}"),
        ("process", str(identity.pid)),
        ("since", f"{status.started_at:%Y-%m-%d %H:%M:%S %Z}"),
        ("home", identity.home),
        ("http", "off" if status.http_port is None else f"http://127.0.0.1:{status.http_port}"),
        ("health", status.health.status.value),
        *(("failing", name) for name in status.health.failures),
        *(
            ("provider", _state(f"{one.name} ({one.model or 'no model'})", one.status, one.detail))
            for one in status.health.providers
        ),
        *(("channel", _channel(one)) for one in status.health.channels),
        ("turns", f"{status.running} running, {status.waiting} waiting, {status.paused} paused"),
        ("replies", f"{status.open_parts} to be delivered"),
    ]
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}}  {value}\n" for name, value in rows)


def _channel(channel: ChannelHealth) -> str:
    trouble = (remark.text for remark in channel.remarks if remark.is_trouble)
    state = _state(channel.name, channel.status, channel.detail or next(trouble, None))
    return f"{state}, {channel.unreadable} unreadable" if channel.unreadable else state


def _state(name: str, status: str, detail: str | None) -> str:
    return f"{name}: {status}" if detail is None else f"{name}: {status} ({detail})"
