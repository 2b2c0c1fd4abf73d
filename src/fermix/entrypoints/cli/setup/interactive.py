"""The questions at a real terminal: before them the home is looked at, after them a summary is agreed to."""

from pathlib import Path

from fermix.application.operations.doctor.report import RowStatus
from fermix.entrypoints.cli.chat.keyboard import quiet_keyboard
from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.setup.answers import Answers
from fermix.entrypoints.cli.setup.changes import plan
from fermix.entrypoints.cli.setup.keyboard import Keyboard
from fermix.entrypoints.cli.setup.present import Present
from fermix.entrypoints.cli.setup.questions import Asker, Questions
from fermix.entrypoints.cli.setup.report import summary
from fermix.entrypoints.cli.setup.state import answering_name
from fermix.entrypoints.cli.setup.wizard import Wizard
from fermix.entrypoints.cli.terminal import Terminal
from fermix.entrypoints.doctor_rows import places
from fermix.entrypoints.doctor_rows.situation import gather
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.settings.model import Settings

_GREETING = (
    "Setting up Fermix in {home}.\n"
    "Enter keeps what stands in brackets; Ctrl-C or Ctrl-D leaves everything as it was."
)


def ask_at_terminal(
    terminal: Terminal, home: Path, present: Present, settings: Settings, *, again: bool
) -> Answers | None:
    """Ask; `None` when there is nothing to save, or the summary was not agreed to.

    Raises:
        CommandFailed: nothing can be saved there, or the person has left.
    """
    found = places.home(gather(home, terminal.environ))
    if found.status is RowStatus.FAIL:
        text = f"{found.sentence}. {found.remedy or ''}".rstrip()
        raise CommandFailed(text, code="home_unusable", exit_code=ExitCode.FAILURE)
    keyboard = Keyboard(terminal.err, environ=terminal.environ)
    keyboard.say(_GREETING.format(home=home))
    questions = Questions(keyboard)
    wizard = Wizard(questions=questions, present=present, answering=answering_name(settings), again=again)
    try:
        # A secret that is typed before its question stands there must not be echoed.
        with quiet_keyboard(terminal.input):
            answers = wizard.run()
            return answers if agreed(answers, present, questions, keyboard) else None
    except (KeyboardInterrupt, EOFError):
        raise CommandFailed(
            "Interrupted; nothing was saved.", code="interrupted", exit_code=ExitCode.INTERRUPTED
        ) from None


def agreed(answers: Answers, present: Present, questions: Questions, asker: Asker) -> bool:
    """Show what would change, and ask."""
    lines = list(summary(plan(answers, present)))
    if not lines:
        asker.say("\nThere is nothing to change; everything stays as it is.")
        return False
    asker.say("\nThis is what changes:")
    for line in lines:
        asker.say(f"  {line}")
    if questions.agrees("Save it", usual=True):
        return True
    asker.say("Nothing was saved.")
    return False
