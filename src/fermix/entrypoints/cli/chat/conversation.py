"""One message of a chat, from the terminal to its answer."""

from collections.abc import Callable, Mapping
from pathlib import Path

from fermix.entrypoints.cli.answer_writer import LOCAL_PROVIDER, local_model_note
from fermix.entrypoints.cli.ask_run import MOST_TRIES, new_question, unanswered
from fermix.entrypoints.cli.attachment import HANDOVER_SECONDS, outlasted
from fermix.entrypoints.cli.chat.link import HomeLink
from fermix.entrypoints.cli.client_failures import command_failed
from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.composition import MAX_CHARACTERS
from fermix.entrypoints.cli.foreground import Note
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket.asking import Accepted, AskEvent, Ended, Ending, Question
from fermix.infrastructure.local_socket.client import ClientError, ConnectionLost

Show = Callable[[AskEvent], None]


class Conversation:
    """Sends messages of one session, one after another."""

    def __init__(
        self,
        link: HomeLink,
        *,
        home: Path,
        session: str,
        environ: Mapping[str, str],
        note: Note,
        output: int | None = None,
    ) -> None:
        self._link = link
        self._home = home
        self._session = session
        self._environ = environ
        self._note = note
        self._output = output
        self._told_of_local_model = False

    def say(self, text: str, show: Show) -> Ended:
        """Send a message, show what happens and give back the end, which is an answer.

        Leaving early, by an interrupt for example, cancels the turn in the owner of the home too.

        Raises:
            CommandFailed: there is no answer; the message is a sentence for a person.
        """
        if len(text) > MAX_CHARACTERS:
            raise CommandFailed(
                f"The message is longer than {MAX_CHARACTERS:,} characters, the limit.",
                code="usage",
                exit_code=ExitCode.USAGE,
            )
        question = new_question(text, environ=self._environ, session=self._session)
        try:
            ended = self._asked(question, show)
        except ClientError as error:
            raise command_failed(error) from error
        if ended.end is not Ending.ANSWERED:
            raise unanswered(ended)
        return ended

    def after(self, ended: Ended) -> None:
        """What a person should know once the answer stands there."""
        if ended.provider == LOCAL_PROVIDER and not self._told_of_local_model:
            self._told_of_local_model = True
            self._note(local_model_note(self._home))

    def _asked(self, question: Question, show: Show) -> Ended:
        for tries_left in reversed(range(MOST_TRIES)):
            following = _Following(show)
            try:
                with self._link.connect() as client:
                    for event in client.ask(question, output=self._output):
                        following.note(event)
                    ended = following.end()
                    if ended.end is not Ending.UNAVAILABLE or not tries_left:
                        return ended
                    if not outlasted(client, patience=HANDOVER_SECONDS, note=self._note):
                        return ended
            except ConnectionLost:
                # What an owner did not take may be asked again: the request keeps its id, so it cannot run twice.
                if following.is_accepted or not tries_left:
                    raise
        raise ConnectionLost("Nobody who answers for this home took the message.")


class _Following:
    """What has come of one try so far."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._ended: Ended | None = None
        self.is_accepted = False

    def note(self, event: AskEvent) -> None:
        if isinstance(event, Ended):
            self._ended = event
            return
        self.is_accepted = self.is_accepted or isinstance(event, Accepted)
        self._show(event)

    def end(self) -> Ended:
        if self._ended is None:
            raise ConnectionLost("The daemon closed the connection before it had answered.")
        return self._ended
