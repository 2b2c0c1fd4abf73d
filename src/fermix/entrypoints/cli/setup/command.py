"""`fermix setup`: who answers, which messengers, who listens; asked for at a terminal, or told by flags."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from fermix.application.ports.secrets import SecretStoreError
from fermix.entrypoints.cli.command_failed import CommandFailed, write_document
from fermix.entrypoints.cli.config_failures import explained, wrong_usage
from fermix.entrypoints.cli.home import home_folder
from fermix.entrypoints.cli.setup.flags import answers_of
from fermix.entrypoints.cli.setup.given import read_given
from fermix.entrypoints.cli.setup.interactive import ask_at_terminal
from fermix.entrypoints.cli.setup.migration import migrate
from fermix.entrypoints.cli.setup.options import ANSWERS, with_answer_flags
from fermix.entrypoints.cli.setup.outcome import Outcome
from fermix.entrypoints.cli.setup.present import Present
from fermix.entrypoints.cli.setup.reading import read_present
from fermix.entrypoints.cli.setup.state import state_document, state_text
from fermix.entrypoints.cli.setup.values import Unfit
from fermix.entrypoints.cli.terminal import Terminal, this_terminal
from fermix.entrypoints.cli.terminal_text import visible
from fermix.entrypoints.exit_codes import ExitCode
from fermix.entrypoints.transcribers import local_installed
from fermix.infrastructure.settings.home import CONFIG_FILE
from fermix.infrastructure.settings.loading import LoadedSettings

_NOTHING_TOLD = (
    "Nobody can be asked here. Give the answers as flags, such as --provider openai --openai-api-key - ; "
    "fermix setup --help lists them."
)


@click.command()
@click.option("--print-state", is_flag=True, help="Say what is set up and what is missing; change nothing.")
@click.option("--reconfigure", is_flag=True, help="Ask about everything, also what is set already.")
@click.option(
    "--migrate-secrets", is_flag=True, help="Move plain secrets of config.toml to the secret store."
)
@with_answer_flags
@click.option("--skip-probe", is_flag=True, help="Do not try what was entered.")
@click.option("--no-input", is_flag=True, help="Ask nothing, also on a terminal.")
@click.option("--cli", "--terminal", "--no-browser", "_terminal", is_flag=True, hidden=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def setup(context: click.Context, /, *, print_state: bool, migrate_secrets: bool, **options: Any) -> int:
    """Choose who answers, the messengers and the transcription.

    Asks on a terminal, step by step; Enter keeps what stands there, and nothing is saved before the end. With
    answers as flags it asks nothing. In place of a secret, - reads it from standard input: one line each, in the
    order of the flags.
    """
    terminal = this_terminal()
    home = home_folder(terminal.environ)
    told = {name: options[name] for name in ANSWERS if options[name] is not None}
    if print_state + migrate_secrets + bool(told) > 1:
        raise wrong_usage("--print-state, --migrate-secrets and answers are three different things.")
    run = _Run(terminal, home, as_json=options["as_json"], tries=not options["skip_probe"])
    with _explained(home / CONFIG_FILE):
        present, loaded = read_present(home, terminal.environ, with_secrets=not told and not migrate_secrets)
        if print_state:
            return run.show(present, loaded)
        if migrate_secrets:
            return run.migrate()
        if told:
            given = read_given(context, told)
            run.outcome.note_exposed(given.exposed)
            return run.outcome.save(answers_of(given.values, present), present)
        if options["no_input"] or not (_is_terminal(terminal.input) and terminal.err.isatty()):
            raise wrong_usage(_NOTHING_TOLD)
        answers = ask_at_terminal(terminal, home, present, loaded.settings, again=options["reconfigure"])
        return int(ExitCode.OK) if answers is None else run.outcome.save(answers, present, is_shown=True)


class _Run:
    """One run of the command."""

    def __init__(self, terminal: Terminal, home: Path, *, as_json: bool, tries: bool) -> None:
        self.outcome = Outcome(terminal, home, as_json=as_json, tries=tries)
        self._terminal = terminal
        self._home = home
        self._as_json = as_json

    def show(self, present: Present, loaded: LoadedSettings) -> int:
        """What is set up."""
        found = state_document(present, loaded.settings, local_speech=local_installed(loaded.settings))
        if self._as_json:
            head = {"ok": True, "home": str(self._home), "path": str(loaded.path), "exists": loaded.exists}
            write_document(self._terminal.out, {**head, **found, "warnings": list(loaded.warnings)})
            return ExitCode.OK
        self._terminal.out.write(visible(state_text(found)))
        return ExitCode.OK

    def migrate(self) -> int:
        """Move plain secrets."""
        return self.outcome.moved(migrate(self._home, self._terminal.environ))


@contextmanager
def _explained(path: Path) -> Generator[None]:
    with explained(path):
        try:
            yield
        except Unfit as error:
            raise wrong_usage(str(error)) from error
        except SecretStoreError as error:
            raise CommandFailed(str(error), code="not_kept", exit_code=ExitCode.FAILURE) from error


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False
