"""`fermix ask` with a daemon: the answer on stdout, everything else on stderr, and what is asked of whom."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from fermix.application.ports.control import AskAccepted, AskEnd, AskEnded, AskPart, AskRequest
from fermix.entrypoints.cli.composition import MAX_CHARACTERS
from tests.integration.cli.command_line import LIMIT_SECONDS, PROGRAM, Done, environment, fermix
from tests.integration.local_socket.scripted_control import ScriptedControl, Step, answer


@pytest.mark.requirement("channel.cli.whole_answer")
def test_the_whole_answer_stands_on_stdout_and_nothing_else(home: Path, daemon: ScriptedControl) -> None:
    assert fermix(home, "ask", "two\nlines") == Done(0, "two\nlines\n", "")


@pytest.mark.requirement("channel.cli.whole_answer")
def test_a_command_with_several_parts_is_answered_whole(home: Path, daemon: ScriptedControl) -> None:
    def parts(request: AskRequest) -> list[Step]:
        return [
            AskAccepted(turn=None),
            AskPart(text="One."),
            AskPart(text="Two."),
            AskEnded(end=AskEnd.ANSWERED, text="One.\n\nTwo."),
        ]

    daemon.script = parts
    assert fermix(home, "ask", "/help").out == "One.\n\nTwo.\n"


def test_the_options_reach_the_gateway(home: Path, daemon: ScriptedControl, tmp_path: Path) -> None:
    fermix(home, "ask", "--session", "notes", "--model", "openai/gpt", "hello", cwd=tmp_path, USER="ada")
    fermix(home, "ask", "--new", "again", USER="")
    first, second = daemon.asked
    assert (first.session, first.new, first.model) == ("notes", False, "openai/gpt")
    assert (first.cwd, first.user) == (str(tmp_path), "ada")
    assert (second.session, second.new, second.model, second.user) == ("cli", True, None, "operator")
    assert first.request != second.request


def test_options_that_only_click_understands_work_as_well(home: Path, daemon: ScriptedControl) -> None:
    assert fermix(home, "ask", "--session=notes", "-v", "hello").status == 0
    assert daemon.asked[0].session == "notes"


def test_a_pipe_alone_is_the_request(home: Path, daemon: ScriptedControl) -> None:
    assert fermix(home, "ask", text=b"from a pipe\n").out == "from a pipe\n"
    assert fermix(home, "ask", "-", text="ü".encode()).out == "ü\n"


def test_with_an_argument_the_pipe_is_its_context(home: Path, daemon: ScriptedControl) -> None:
    fermix(home, "ask", "Sum up.", text=b"a b c\n")
    assert daemon.asked[0].text == "Sum up.\n\nStandard input:\n```\na b c\n```"


def test_an_empty_pipe_adds_nothing(home: Path, daemon: ScriptedControl) -> None:
    assert fermix(home, "ask", "hello", text=b"") == Done(0, "hello\n", "")


def test_a_file_as_standard_input_is_context_too(home: Path, daemon: ScriptedControl, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("from a file")
    with (tmp_path / "notes").open("rb") as notes:
        run_with_input(home, notes.fileno())
    assert "from a file" in daemon.asked[0].text


def run_with_input(home: Path, descriptor: int, *arguments: str) -> Done:
    done = subprocess.run(
        [*PROGRAM, "ask", "hello", *arguments],
        check=False,
        capture_output=True,
        env=environment(home),
        stdin=descriptor,
        timeout=LIMIT_SECONDS,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_socket_as_standard_input_is_not_waited_for(home: Path, daemon: ScriptedControl) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert run_with_input(home, theirs.fileno()) == Done(0, "hello\n", "")


def test_an_open_pipe_is_not_waited_for_when_no_input_is_wanted(home: Path, daemon: ScriptedControl) -> None:
    reader, writer = os.pipe()
    try:
        assert run_with_input(home, reader, "--no-input") == Done(0, "hello\n", "")
    finally:
        os.close(reader)
        os.close(writer)


def test_an_open_pipe_is_waited_for_no_longer_than_the_time_limit(
    home: Path, daemon: ScriptedControl
) -> None:
    reader, writer = os.pipe()
    try:
        done = run_with_input(home, reader, "--timeout", "0.3")
    finally:
        os.close(reader)
        os.close(writer)
    assert (done.status, done.out) == (8, "")
    assert "standard input" in done.err


def test_a_closed_standard_input_is_no_input(home: Path, daemon: ScriptedControl) -> None:
    command = f"{' '.join(PROGRAM)} ask hello <&-"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        check=False,
        capture_output=True,
        env=environment(home),
        timeout=LIMIT_SECONDS,
    )
    assert done.stdout == b"hello\n"


def test_files_go_along_under_their_names(home: Path, daemon: ScriptedControl, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\ufeffone\n")
    (tmp_path / "b.md").write_text("two")
    fermix(home, "ask", "Compare.", "-f", "a.txt", "--file", "b.md", text=b"three", cwd=tmp_path)
    assert daemon.asked[0].text == (
        "Compare.\n\nStandard input:\n```\nthree\n```\n\nFile a.txt:\n```\none\n```\n\nFile b.md:\n```\ntwo\n```"
    )


def test_a_file_that_is_not_there_is_refused_by_name(
    home: Path, daemon: ScriptedControl, tmp_path: Path
) -> None:
    done = fermix(home, "ask", "Read it.", "-f", "data.bin", cwd=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert "data.bin cannot be read: No such file" in done.err
    assert daemon.asked == []


def test_a_folder_is_refused_by_name(home: Path, daemon: ScriptedControl, tmp_path: Path) -> None:
    done = fermix(home, "ask", "Read it.", "-f", str(tmp_path))
    assert done.status == 2
    assert f"{tmp_path} is a folder" in done.err


def test_bytes_in_a_pipe_that_are_no_utf_8_are_replaced_and_told(home: Path, daemon: ScriptedControl) -> None:
    done = fermix(home, "ask", text=b"gr\xfc\xdfe")
    assert done.out == "gr\ufffd\ufffde\n"
    assert "not valid UTF-8" in done.err


def test_nul_bytes_in_a_pipe_are_replaced_and_told(home: Path, daemon: ScriptedControl) -> None:
    done = fermix(home, "ask", text=b"a\x00b")
    assert done.out == "a\ufffdb\n"
    assert "NUL" in done.err


def test_an_argument_that_is_no_utf_8_is_asked_readably(home: Path, daemon: ScriptedControl) -> None:
    assert fermix(home, "ask", b"gr\xfc\xdfe").out == "gr\ufffd\ufffde\n"


def test_one_megabyte_of_text_works(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda request: answer(f"{len(request.text)}")
    assert fermix(home, "ask", "-", text=b"x" * MAX_CHARACTERS) == Done(0, f"{MAX_CHARACTERS}\n", "")
    assert fermix(home, "ask", text="ü\U0001f600\n".encode() * 333_333).out == "999999\n"


@pytest.mark.parametrize("text", [b"x" * (MAX_CHARACTERS + 1), "\U0001f600".encode() * (MAX_CHARACTERS + 1)])
def test_more_text_than_that_is_refused_with_the_limit(
    home: Path, daemon: ScriptedControl, text: bytes
) -> None:
    done = fermix(home, "ask", text=text)
    assert (done.status, done.out) == (2, "")
    assert "1,000,000 characters" in done.err


def test_text_that_grows_too_long_on_the_way_is_refused(home: Path, daemon: ScriptedControl) -> None:
    done = fermix(home, "ask", text=b"\x01" * 900_000)
    assert done.status == 2
    assert "limit" in done.err


@pytest.mark.parametrize("arguments", [[], [""], [" \n"], ["--no-input"], ["-f", "README.md"]])
def test_nothing_asked_is_a_mistake_that_shows_how(
    home: Path, daemon: ScriptedControl, arguments: list[str]
) -> None:
    done = fermix(home, "ask", *arguments)
    assert (done.status, done.out) == (2, "")
    assert 'fermix ask "' in done.err


def test_a_blank_pipe_asks_nothing(home: Path, daemon: ScriptedControl) -> None:
    assert fermix(home, "ask", text=b" \n\n").status == 2


def test_the_answer_of_the_local_model_is_noted_on_stderr(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda _: answer("hi", provider="local", model="SmolLM2")
    done = fermix(home, "ask", "hello")
    assert done.out == "hi\n"
    assert done.err.count("\n") == 1
    assert "no agent" in done.err
    assert str(home / "config.toml") in done.err
    assert fermix(home, "ask", "--json", "hello").err == ""


def test_two_at_once_are_both_answered(home: Path, daemon: ScriptedControl) -> None:
    running = [
        subprocess.Popen(
            [*PROGRAM, "ask", word],
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        for word in ("one", "two")
    ]
    assert [process.communicate(timeout=LIMIT_SECONDS)[0] for process in running] == [b"one\n", b"two\n"]


def test_json_is_one_document(home: Path, daemon: ScriptedControl) -> None:
    done = fermix(home, "ask", "--json", "h\x1b\u202eü")
    assert (done.status, done.err) == (0, "")
    assert done.document == {
        "ok": True,
        "text": "h\x1b\u202eü",
        "session": "cli",
        "turn": 7,
        "provider": "openai",
        "model": "gpt-test",
    }
    assert done.out.isascii()
    assert done.out.count("\n") == 1


def test_into_a_pipe_text_goes_raw(home: Path, daemon: ScriptedControl) -> None:
    assert fermix(home, "ask", "\x1b[1mbold").out == "\x1b[1mbold\n"


def test_an_encoding_without_a_character_gets_a_question_mark(home: Path, daemon: ScriptedControl) -> None:
    assert fermix(home, "ask", "1 € = 1 €", PYTHONIOENCODING="ascii").out == "1 ? = 1 ?\n"


def test_more_is_told_to_those_who_want_to_know(home: Path, daemon: ScriptedControl) -> None:
    assert fermix(home, "ask", "-v", "hi").err == "fermix: asking openai (gpt-test)\n"
