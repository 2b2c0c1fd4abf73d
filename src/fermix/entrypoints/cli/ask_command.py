"""`fermix ask` as click reads it: help, mistakes, and every spelling of an option."""

import click

from fermix.entrypoints.cli.ask_options import AskOptions, contradicted, valid_timeout, wrong_session
from fermix.entrypoints.cli.ask_run import run_ask
from fermix.entrypoints.cli.foreground import GatewayForeground
from fermix.entrypoints.cli.terminal import this_terminal


def _not_blank(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and not value.strip():
        raise click.BadParameter("it must not be blank.")
    return value


def _session(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    wrong = None if value is None else wrong_session(value)
    if wrong is not None:
        raise click.BadParameter(wrong)
    return value


def _seconds(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    seconds = valid_timeout(value)
    if seconds is None:
        raise click.BadParameter("it must be a number of seconds above 0.")
    return seconds


@click.command()
@click.argument("text", required=False)
@click.option("-f", "--file", "files", multiple=True, metavar="FILE", help="Send this file along.")
@click.option("--session", metavar="ID", callback=_session, help="Continue this conversation (default: cli).")
@click.option("--new", is_flag=True, help="Begin a new conversation.")
@click.option("--model", metavar="MODEL", callback=_not_blank, help="Ask this model, as provider/model.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--stream-json", is_flag=True, help="Print a JSON object a line for each thing that happens.")
@click.option(
    "--timeout", metavar="SECONDS", callback=_seconds, help="Give up after this long (exit status 8)."
)
@click.option("-v", "--verbose", is_flag=True, help="Tell on stderr what happens.")
@click.option("--save-to", metavar="DIR", help="Save files that come with the answer there.")
@click.option("--no-input", is_flag=True, help="Do not read standard input.")
def ask(  # noqa: PLR0913 - one parameter for each option
    *,
    text: str | None,
    files: tuple[str, ...],
    session: str | None,
    new: bool,
    model: str | None,
    as_json: bool,
    stream_json: bool,
    timeout: float | None,
    verbose: bool,
    no_input: bool,
    save_to: str | None,
) -> int:
    """Ask one question and print the answer.

    TEXT is the request; a pipe is its context. Without TEXT, or with -, the request is read from standard input.
    """
    options = AskOptions(
        text=text,
        files=files,
        session=session,
        new=new,
        model=model,
        json=as_json,
        stream_json=stream_json,
        timeout=timeout,
        verbose=verbose,
        no_input=no_input,
        save_to=save_to,
    )
    mistake = contradicted(options)
    if mistake is not None:
        raise click.UsageError(mistake)
    terminal = this_terminal()
    return run_ask(options, terminal, GatewayForeground(terminal.environ))
