"""One message of a chat, from the terminal to its answer."""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from fermix.entrypoints.cli.answer_writer import LOCAL_PROVIDER, local_model_note
from fermix.entrypoints.cli.ask_run import MOST_TRIES, new_question, unanswered
from fermix.entrypoints.cli.attachment import HANDOVER_SECONDS, outlasted
from fermix.entrypoints.cli.chat.link import HomeLink
from fermix.entrypoints.cli.client_failures import command_failed
from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.composition import MAX_CHARACTERS, TooLong, compose
from fermix.entrypoints.cli.foreground import Note
from fermix.entrypoints.cli.given_files import NO_FILES, GivenFiles, bring
from fermix.entrypoints.cli.received_file import ReceivedFile, ShownEvent
from fermix.entrypoints.cli.receiving import with_files_saved
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket.asking import Accepted, Ended, Ending, Question
from fermix.infrastructure.local_socket.client import ClientError, ConnectionLost, Hangs

Show = Callable[[ShownEvent], None]


class ChatOptions(NamedTuple):
    """What a chat was told.

    Attributes:
        session: the conversation.
        files: what goes with the first message that is no command.
        folder: where files that come with answers go.
    """

    session: str
    files: GivenFiles = NO_FILES
    folder: Path = Path()


class Conversation:
    """Sends messages of one session, one after another.

    Attributes:
        lost_files: whether a file of the last answer could not be saved.
    """

    def __init__(
        self,
        link: HomeLink,
        options: ChatOptions,
        *,
        home: Path,
        environ: Mapping[str, str],
        note: Note,
        output: int | None = None,
    ) -> None:
        self._link = link
        self._home = home
        self._session = options.session
        self._waiting = options.files
        self._folder = options.folder
        self._environ = environ
        self._note = note
        self._output = output
        self._told_of_local_model = False
        self.lost_files = False

    def say(self, text: str, show: Show) -> Ended:
        """Send a message, show what happens and give back the end, which is an answer.

        Leaving early, by an interrupt for example, cancels the turn in the owner of the home too.

        Raises:
            CommandFailed: there is no answer; the message is a sentence for a person.
        """
        files = NO_FILES if text.startswith("/") else self._waiting
        question = new_question(_composed(text, files), environ=self._environ, session=self._session)
        self.lost_files = False
        try:
            ended = self._asked(question, files, show)
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

    def _asked(self, question: Question, files: GivenFiles, show: Show) -> Ended:
        for tries_left in reversed(range(MOST_TRIES)):
            following = _Following(show)
            try:
                with self._link.connect() as client:
                    names = bring(client, files.others)
                    asked = client.ask(question._replace(files=names), output=self._output)
                    with closing(with_files_saved(asked, self._folder)) as events:
                        for event in events:
                            self._note_way(event, following, files)
                    ended = following.end()
                    if ended.end is not Ending.UNAVAILABLE or not tries_left:
                        return ended
                    if not outlasted(client, patience=HANDOVER_SECONDS, note=self._note):
                        return ended
            except ConnectionLost as lost:
                # What an owner did not take may be asked again: the request keeps its id, so it cannot run twice.
                if following.is_accepted or not tries_left or isinstance(lost, Hangs):
                    raise
        raise ConnectionLost("Nobody who answers for this home took the message.")

    def _note_way(self, event: ShownEvent, following: "_Following", files: GivenFiles) -> None:
        following.note(event)
        if isinstance(event, Accepted) and files is self._waiting:
            self._waiting = NO_FILES  # they lie with whoever answers now
        if isinstance(event, ReceivedFile) and event.path is None:
            self.lost_files = True


def _composed(text: str, files: GivenFiles) -> str:
    try:
        return compose(text, files.texts)
    except TooLong as error:
        alone = f"The message is longer than {MAX_CHARACTERS:,} characters, the limit."
        raise CommandFailed(
            str(error) if files.texts else alone, code="usage", exit_code=ExitCode.USAGE
        ) from None


class _Following:
    """What has come of one try so far."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._ended: Ended | None = None
        self.is_accepted = False

    def note(self, event: ShownEvent) -> None:
        if isinstance(event, Ended):
            self._ended = event
            return
        self.is_accepted = self.is_accepted or isinstance(event, Accepted)
        self._show(event)

    def end(self) -> Ended:
        if self._ended is None:
            raise ConnectionLost("The daemon closed the connection before it had answered.")
        return self._ended
