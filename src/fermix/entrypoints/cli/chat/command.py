"""`fermix chat`: one message after another, typed at a terminal or read from a pipe."""

import os
from contextlib import ExitStack

import click

from fermix.entrypoints.cli.ask_options import wrong_session
from fermix.entrypoints.cli.ask_run import DEFAULT_SESSION, pipe_of
from fermix.entrypoints.cli.chat.conversation import ChatOptions, Conversation
from fermix.entrypoints.cli.chat.link import HomeLink
from fermix.entrypoints.cli.client_failures import command_failed
from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.foreground import Foreground, GatewayForeground
from fermix.entrypoints.cli.given_files import read_files
from fermix.entrypoints.cli.home import home_folder
from fermix.entrypoints.cli.receiving import folder_for_files
from fermix.entrypoints.cli.terminal import Terminal, this_terminal
from fermix.entrypoints.cli.terminal_text import visible
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket.client import ClientError


def _session(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    wrong = wrong_session(value)
    if wrong is not None:
        raise click.BadParameter(wrong)
    return value


@click.command()
@click.option(
    "--session",
    metavar="ID",
    default=DEFAULT_SESSION,
    callback=_session,
    help="Continue this conversation (default: cli).",
)
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    metavar="FILE",
    help="Send this file along with the first message.",
)
@click.option("--save-to", metavar="DIR", help="Save files that come with answers there.")
@click.option("--no-input", is_flag=True, help="Do not read standard input (a chat then has nothing to do).")
def chat(*, session: str, files: tuple[str, ...], save_to: str | None, no_input: bool) -> int:
    """Talk, one message after another.

    At a terminal: Enter sends, Esc-Enter or a backslash before Enter begins a new line, Ctrl-C stops the answer,
    Ctrl-D leaves. From a pipe each line is one message.
    """
    if no_input:
        raise click.UsageError("A chat reads what it sends; for one question without input use fermix ask.")
    terminal = this_terminal()
    with ExitStack() as opened:
        options = ChatOptions(
            session=session, files=read_files(files, opened), folder=folder_for_files(save_to)
        )
        return run_chat(options, terminal, GatewayForeground(terminal.environ))


def run_chat(options: ChatOptions, terminal: Terminal, foreground: Foreground) -> int:
    """Chat until the input ends or the user leaves, and give back the exit status.

    Raises:
        CommandFailed: the home cannot be reached or owned at all.
    """

    def note(text: str) -> None:
        terminal.out.flush()
        terminal.err.write(f"fermix: {visible(text)}\n")
        terminal.err.flush()

    home = home_folder(terminal.environ)
    with HomeLink(home, foreground, note=note) as link:
        _greet(link)
        conversation = Conversation(
            link,
            options,
            home=home,
            environ=terminal.environ,
            note=note,
            output=pipe_of(terminal.out),
        )
        if _is_terminal(terminal.input) and terminal.out.isatty():
            from fermix.entrypoints.cli.chat.interactive import chat_at_terminal

            return chat_at_terminal(conversation, terminal, home=home, session=options.session, note=note)
        from fermix.entrypoints.cli.chat.piped import chat_over_pipe

        return chat_over_pipe(conversation, terminal, note=note)


def _greet(link: HomeLink) -> None:
    """Find out at once whether anybody can answer, not after the first message has been typed."""
    try:
        link.connect().close()
    except ClientError as error:
        raise command_failed(error) from error
    except KeyboardInterrupt:
        raise CommandFailed("Interrupted.", code="interrupted", exit_code=ExitCode.INTERRUPTED) from None


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False
