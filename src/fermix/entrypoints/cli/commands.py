"""The commands and their names; each is loaded when it runs."""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import click
from typing_extensions import override

from fermix.entrypoints.cli.command_failed import CommandFailed, report
from fermix.entrypoints.cli.terminal import this_terminal
from fermix.entrypoints.exit_codes import ExitCode
from fermix.version import __version__


class CommandEntry(NamedTuple):
    """A command as `--help` lists it; `load` imports it."""

    summary: str
    load: Callable[[], click.Command]


def _ask() -> click.Command:
    from fermix.entrypoints.cli.ask_command import ask

    return ask


def _chat() -> click.Command:
    from fermix.entrypoints.cli.chat.command import chat

    return chat


def _run() -> click.Command:
    from fermix.entrypoints.cli.run_command import run

    return run


def _status() -> click.Command:
    from fermix.entrypoints.cli.status_command import status

    return status


def _stop() -> click.Command:
    from fermix.entrypoints.cli.stop_command import stop

    return stop


def _sessions() -> click.Command:
    from fermix.entrypoints.cli.sessions_command import sessions

    return sessions


def _queue() -> click.Command:
    from fermix.entrypoints.cli.queue_command import queue

    return queue


def _model() -> click.Command:
    from fermix.entrypoints.cli.model_command import model

    return model


def _config() -> click.Command:
    from fermix.entrypoints.cli.config_command import config

    return config


def _sandbox() -> click.Command:
    from fermix.entrypoints.cli.sandbox_command import sandbox

    return sandbox


def _grant() -> click.Command:
    from fermix.entrypoints.cli.sandbox_command import grant

    return grant


def _revoke() -> click.Command:
    from fermix.entrypoints.cli.sandbox_command import revoke

    return revoke


def _setup() -> click.Command:
    from fermix.entrypoints.cli.setup.command import setup

    return setup


def _doctor() -> click.Command:
    from fermix.entrypoints.cli.doctor_command import doctor

    return doctor


def _conformance() -> click.Command:
    from fermix.entrypoints.cli.conformance_command import conformance

    return conformance


def _version() -> click.Command:
    return click.Command(
        "version", callback=lambda: click.echo(f"fermix {__version__}"), help=VERSION_SUMMARY
    )


VERSION_SUMMARY = "Print the version."

COMMANDS = MappingProxyType(
    {
        "ask": CommandEntry("Ask one question and print the answer.", _ask),
        "chat": CommandEntry("Talk, one message after another.", _chat),
        "setup": CommandEntry("Choose who answers, the messengers and the transcription.", _setup),
        "run": CommandEntry("Run the daemon in the foreground.", _run),
        "status": CommandEntry("Show how the daemon stands.", _status),
        "stop": CommandEntry("Stop the daemon, and wait until it has gone.", _stop),
        "sessions": CommandEntry("List the conversations, newest first.", _sessions),
        "queue": CommandEntry("Show what waits, runs or is lost; discard or retry it.", _queue),
        "model": CommandEntry("Install or list the local model.", _model),
        "config": CommandEntry("Show or change the settings.", _config),
        "sandbox": CommandEntry("Show or change what the agent may reach.", _sandbox),
        "grant": CommandEntry("Let the agent reach a folder.", _grant),
        "revoke": CommandEntry("Take back a folder that the agent may reach.", _revoke),
        "doctor": CommandEntry("Say what is well, what is not, and what to do about it.", _doctor),
        "conformance": CommandEntry("Prove that an adapter keeps the promises of its port.", _conformance),
        "version": CommandEntry(VERSION_SUMMARY, _version),
    }
)


class Commands(click.Group):
    """A group that knows its commands' names and loads only the one that runs."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order one meets them."""
        return list(COMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one."""
        entry = COMMANDS.get(cmd_name)
        return None if entry is None else entry.load()

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command when there is none of that name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from fermix.infrastructure.settings.nearest import nearest_name

            nearest = nearest_name(args[0], COMMANDS)
            hint = "" if nearest is None else f" Did you mean '{nearest}'?"
            ctx.fail(f"There is no command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="fermix %(version)s")
def fermix() -> None:
    """Fermix, your own agent behind one durable gateway.

    Try: fermix ask "What can you do?"
    """


def run_command(arguments: Sequence[str]) -> int:
    """Run a command line and give back its exit status."""
    terminal = this_terminal()
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    as_lines = "--stream-json" in options
    as_json = as_lines or "--json" in options
    try:
        status: Any = fermix.main(args=list(arguments), prog_name="fermix", standalone_mode=False)
    except click.Abort:
        failure = CommandFailed("Interrupted.", code="interrupted", exit_code=ExitCode.INTERRUPTED)
    except click.ClickException as error:
        if not as_json:
            error.show()
            return error.exit_code
        failure = CommandFailed(error.format_message(), code="usage", exit_code=ExitCode.USAGE)
    except CommandFailed as error:
        failure = error
    else:
        return status if isinstance(status, int) else ExitCode.OK
    if as_lines:
        failure.facts["type"] = "ended"
    return report(failure, as_json=as_json, out=terminal.out, err=terminal.err)
