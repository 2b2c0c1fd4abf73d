"""After the answers: save them, say so, try them, and end with the status that belongs to it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from fermix.application.ports.control import OwnerKind
from fermix.entrypoints.cli.chat.keyboard import Interruptions
from fermix.entrypoints.cli.command_failed import CommandFailed, write_document
from fermix.entrypoints.cli.setup import report
from fermix.entrypoints.cli.setup.answers import Answers
from fermix.entrypoints.cli.setup.platforms import Looked
from fermix.entrypoints.cli.setup.present import Present
from fermix.entrypoints.cli.setup.saving import SavedSetup, save
from fermix.entrypoints.cli.setup.trying import try_answers
from fermix.entrypoints.cli.terminal import Terminal
from fermix.entrypoints.cli.terminal_text import visible
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket import queries
from fermix.infrastructure.local_socket.client import ClientError, connect
from fermix.infrastructure.settings.loading import load_settings


class Outcome:
    """Saves and tells."""

    def __init__(self, terminal: Terminal, home: Path, *, as_json: bool, tries: bool) -> None:
        self._terminal = terminal
        self._home = home
        self._as_json = as_json
        self._tries = tries
        self._notes: list[str] = []

    def note_exposed(self, flags: Sequence[str]) -> None:
        """Say that secrets stood on the command line."""
        if flags:
            self._note(
                f"other users could see {' and '.join(flags)} among the running commands; with - in place of a "
                "secret it is read from standard input"
            )

    def save(self, answers: Answers, present: Present, *, is_shown: bool = False) -> int:
        """Save, tell, try.

        Args:
            answers: what was told.
            present: what stood there before.
            is_shown: the changes have been shown already.

        Raises:
            CommandFailed: interrupted; what is saved stays.
            ConfigError, EditRefused, FileBusy, HomeUnusable, SecretStoreError, OSError: nothing was saved.
        """
        saved = self._saved(answers)
        daemon = self._daemon_runs()
        applies = report.applies(saved.changes, daemon=daemon)
        for note in report.notes(answers, present, saved):
            self._note(note)
        settings = load_settings(self._home, self._terminal.environ).settings
        steps = tuple(report.next_steps(answers, settings, applies_when=applies, daemon=daemon))
        self._say([] if is_shown else report.summary(saved.changes))
        self._say([report.saved_sentence(saved.path, saved.changes)])
        looked = self._tried(answers)
        self._say(report.tried_lines(looked))
        self._say(f"next: {step}" for step in steps)
        if self._as_json:
            write_document(
                self._terminal.out,
                report.document(saved, looked, applies_when=applies, noted=self._notes, steps=steps),
            )
        return report.status_of(looked)

    def moved(self, saved: SavedSetup) -> int:
        """Tell what was moved to the secret store."""
        applies = report.applies(saved.changes, daemon=self._daemon_runs())
        for note in report.notes(Answers(), Present(), saved):
            self._note(note)
        names = [line.partition(" = ")[0] for line in report.summary(saved.changes)]
        places = sorted({each.place for each in saved.kept.values()})
        self._say(f"{name} is in {' and '.join(places)} now" for name in names)
        self._say(["no secret stands there as plain text"] if not names else [f"saved in {saved.path}"])
        if self._as_json:
            write_document(
                self._terminal.out,
                report.document(saved, (), applies_when=applies, noted=self._notes, steps=()),
            )
        return ExitCode.OK

    def _saved(self, answers: Answers) -> SavedSetup:
        saved: SavedSetup | None = None
        try:
            with Interruptions() as interruptions, interruptions.held():
                saved = save(self._home, self._terminal.environ, answers)
        except KeyboardInterrupt:
            what = "nothing was saved" if saved is None else "what was entered is saved"
            raise CommandFailed(
                f"Interrupted; {what}.",
                code="interrupted",
                exit_code=ExitCode.INTERRUPTED,
                facts={"saved": saved is not None},
            ) from None
        return saved

    def _tried(self, answers: Answers) -> tuple[Looked, ...]:
        if not self._tries:
            return ()
        try:
            if not self._as_json:
                self._terminal.err.write("fermix: trying what was entered …\n")
                self._terminal.err.flush()
            return try_answers(self._home, self._terminal.environ, answers)
        except KeyboardInterrupt:
            raise CommandFailed(
                "Interrupted; what was entered is saved and was not tried.",
                code="interrupted",
                exit_code=ExitCode.INTERRUPTED,
                facts={"saved": True},
            ) from None

    def _daemon_runs(self) -> bool:
        try:
            with connect(self._home) as client:
                return queries.identify(client).kind is OwnerKind.DAEMON
        except ClientError:
            return False

    def _say(self, lines: Iterable[str]) -> None:
        if not self._as_json:
            self._terminal.out.write("".join(f"{visible(line)}\n" for line in lines))
            self._terminal.out.flush()

    def _note(self, text: str) -> None:
        self._notes.append(text)
        if not self._as_json:
            self._terminal.err.write(f"fermix: {visible(text)}\n")
