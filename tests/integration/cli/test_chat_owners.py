"""Who answers a chat while daemons come, restart, die and leave."""

import io
import os
import threading
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from typing_extensions import override

from fermix.application.ports.control import (
    AskAccepted,
    AskEnd,
    AskEnded,
    Identity,
    OwnerKind,
    Status,
)
from fermix.domain.ids import TurnId
from fermix.entrypoints.cli.ask_options import AskOptions
from fermix.entrypoints.cli.ask_run import run_ask
from fermix.entrypoints.cli.chat.command import run_chat
from fermix.entrypoints.cli.chat.conversation import ChatOptions
from fermix.entrypoints.cli.chat.link import HomeLink
from fermix.entrypoints.cli.foreground import HomeTaken, Note
from fermix.entrypoints.cli.terminal import Terminal
from tests.integration.cli.command_line import fermix
from tests.integration.cli.pseudo_terminal import chatting
from tests.integration.local_socket.scripted_control import (
    PATIENCE_SECONDS,
    Hold,
    ScriptedControl,
    served,
)

RESTARTED = "fermix: The daemon was restarted; the chat goes on."


class Instance(ScriptedControl):
    """A gateway with a name of its own."""

    name = "another"

    @override
    def identify(self) -> Identity:
        return replace(super().identify(), instance=self.name, pid=1)


class Ending(Instance):
    """A gateway that is draining: it takes nothing, and ends once it has said so."""

    name = "ending"

    def __init__(self) -> None:
        super().__init__(script=lambda _: [AskEnded(end=AskEnd.UNAVAILABLE, text="", notice="Restarting.")])
        self.told = threading.Event()

    @override
    async def status(self) -> Status:
        self.told.set()
        return replace(await super().status(), draining=True)


@contextmanager
def served_by_an_owner_that_ends(home: Path, successor: ScriptedControl) -> Iterator[Ending]:
    """An owner that ends as soon as it has said that it is ending; then `successor` serves the home."""
    ending = Ending()
    replaced = threading.Event()
    over = threading.Event()

    def change() -> None:
        with served(home / "daemon.sock", ending):
            listening.set()
            ending.told.wait(PATIENCE_SECONDS)
            replaced.set()
        with served(home / "daemon.sock", successor):
            over.wait(PATIENCE_SECONDS)

    listening = threading.Event()
    thread = threading.Thread(target=change)
    thread.start()
    assert listening.wait(PATIENCE_SECONDS)
    try:
        yield ending
    finally:
        over.set()
        thread.join(PATIENCE_SECONDS)


class StillOwned:
    """A foreground that finds the home owned for as long as somebody starts in it."""

    @contextmanager
    def own(self, home: Path, *, verbose: bool, note: Note) -> Generator[None]:
        raise HomeTaken("The home is in use.")
        yield


def test_a_daemon_that_restarts_between_two_messages_is_told_and_the_chat_goes_on(home: Path) -> None:
    with ExitStack() as stack:
        with served(home / "daemon.sock", ScriptedControl()):
            chat = stack.enter_context(chatting(home))
            chat.say("one")
            chat.wait_for("> one\none\n>")
        stack.enter_context(served(home / "daemon.sock", Instance()))
        chat.say("two")
        chat.wait_for(f"> two\n{RESTARTED}\ntwo\n>")
        chat.say("three")
        chat.wait_for("> three\nthree\n>")


def test_a_daemon_that_dies_while_it_answers_is_told_and_nothing_is_asked_twice(home: Path) -> None:
    dying = ScriptedControl(script=lambda _: [AskAccepted(turn=TurnId(7)), Hold.FOREVER])
    next_one = Instance()
    with ExitStack() as stack:
        with served(home / "daemon.sock", dying):
            chat = stack.enter_context(chatting(home))
            chat.say("one")
            assert dying.holding.wait(PATIENCE_SECONDS)
        chat.wait_for("> one\nfermix: The daemon closed the connection before it had answered.\n>")
        stack.enter_context(served(home / "daemon.sock", next_one))
        chat.say("two")
        chat.wait_for(f"> two\n{RESTARTED}\ntwo\n>")
    assert [asked.text for asked in next_one.asked] == ["two"]


def test_a_message_that_an_ending_owner_did_not_take_goes_to_the_next_one(home: Path) -> None:
    successor = Instance()
    reader, writer = os.pipe()
    os.write(writer, b"one\n")
    os.close(writer)
    with served_by_an_owner_that_ends(home, successor) as ending:
        out, err = io.StringIO(), io.StringIO()
        terminal = Terminal(environ={"FERMIX_HOME": str(home)}, input=reader, out=out, err=err)
        status = run_chat(ChatOptions(session="cli"), terminal, StillOwned())
    os.close(reader)
    assert (status, out.getvalue()) == (0, "one\n")
    assert "just ending" in err.getvalue()
    assert RESTARTED in err.getvalue()
    (asked,) = successor.asked
    assert asked.request == ending.asked[0].request


def test_an_ask_that_an_ending_owner_did_not_take_goes_to_the_next_one(home: Path) -> None:
    successor = Instance()
    with served_by_an_owner_that_ends(home, successor) as ending:
        out, err = io.StringIO(), io.StringIO()
        terminal = Terminal(environ={"FERMIX_HOME": str(home)}, input=-1, out=out, err=err)
        status = run_ask(AskOptions(text="hello", no_input=True), terminal, StillOwned())
    assert (status, out.getvalue()) == (0, "hello\n")
    (asked,) = successor.asked
    assert asked.request == ending.asked[0].request


def test_an_ask_whose_owner_takes_nothing_and_does_not_end_says_so(home: Path) -> None:
    full = ScriptedControl(script=lambda _: [AskEnded(end=AskEnd.UNAVAILABLE, text="", notice="Full.")])
    with served(home / "daemon.sock", full):
        done = fermix(home, "ask", "hello")
    assert (done.status, done.out, done.err) == (1, "", "fermix: Full.\n")
    assert len(full.asked) == 1


class Owned:
    """A foreground that serves a scripted gateway and remembers whether the home was given back."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.times = 0
        self.is_owned = False

    @contextmanager
    def own(self, home: Path, *, verbose: bool, note: Note) -> Generator[None]:
        self.times += 1
        self.is_owned = True
        try:
            with served(home / "daemon.sock", ScriptedControl(kind=OwnerKind.IN_PROCESS)):
                yield
        finally:
            self.is_owned = False


def test_without_a_daemon_the_home_is_owned_for_the_whole_chat(home: Path) -> None:
    foreground, notes = Owned(home), list[str]()
    with HomeLink(home, foreground, note=notes.append) as link:
        for _ in range(3):
            link.connect().close()
            assert foreground.is_owned
    assert (foreground.times, foreground.is_owned, notes) == (1, False, [])


def test_a_daemon_that_takes_over_is_told_and_the_home_is_let_go(home: Path) -> None:
    foreground, notes = Owned(home), list[str]()
    with HomeLink(home, foreground, note=notes.append) as link, ExitStack() as stack:
        link.connect().close()
        (home / "daemon.sock").unlink()
        stack.enter_context(served(home / "daemon.sock", Instance()))
        with closing(link.connect()):
            assert not foreground.is_owned
    assert notes == ["A daemon has started and has taken over; the chat goes on through it."]


def test_a_daemon_that_leaves_is_replaced_by_the_chat_itself(home: Path) -> None:
    foreground, notes = Owned(home), list[str]()
    with HomeLink(home, foreground, note=notes.append) as link:
        with served(home / "daemon.sock", Instance()):
            link.connect().close()
        link.connect().close()
        assert foreground.is_owned
    assert len(notes) == 1


def test_a_home_that_cannot_be_used_is_told_at_once_with_its_status(home: Path) -> None:
    (home / "config.toml").write_text("nonsense = [")
    done = fermix(home, "chat", text=b"one\n")
    assert (done.status, done.out) == (7, "")
    with chatting(home) as chat:
        assert chat.end() == 7
        assert chat.shown.startswith("fermix: ")
