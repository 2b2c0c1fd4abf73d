"""A real daemon whose agent asks for a folder: on Telegram by a button, at a terminal by a code."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from fermix.domain import approval_wording, wording
from fermix.domain.approvals import AnswerProblem
from fermix.testing.servers.openai_strict.script import Call, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.e2e.harness.homes import Daemon, FermixHome, until
from tests.e2e.harness.live_chats import EDITABLE, OTHERS, serve
from tests.e2e.harness.people import People
from tests.e2e.test_telegram import OWNER, SECRET, TOKEN, configure

GROUP = -100300
GUEST = 2002
STRANGER = 9999
CODE = re.compile(r"/confirm ([A-Z2-7]{8})")


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with telegram_server(token=TOKEN) as opened:
        yield opened


@pytest.fixture
def daemon(home: FermixHome, model: StrictServer, server: TelegramServer) -> Iterator[Daemon]:
    configure(home, model, server)
    started = home.daemon().ready()
    yield started
    assert SECRET not in home.log() + started.printed()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("the meeting is at nine")
    return folder


def asks_for(folder: Path) -> Say:
    wanted = json.dumps({"path": str(folder), "reason": "to read your notes"})
    return Say(calls=(Call(id="c1", name="request_directory_access", arguments=wanted),))


def reads(file: Path) -> Say:
    return Say(calls=(Call(id="c2", name="file_read", arguments=json.dumps({"path": str(file)})),))


def granted(home: FermixHome) -> list[str]:
    config = tomllib.loads((home.path / "config.toml").read_text())
    roots: list[str] = config.get("sandbox", {}).get("allowed_roots", [])
    return roots


def last_tool_result(model: StrictServer) -> str:
    return str(
        [entry for entry in model.requests[-1].body["messages"] if entry["role"] == "tool"][-1]["content"]
    )


@pytest.mark.requirement("approval.code_withheld_in_shared_chat", "approval.button.only_for_agent_requests")
def test_in_a_group_only_the_owners_tap_grants_the_folder_and_the_request_goes_on_by_itself(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer, project: Path
) -> None:
    model.will(
        asks_for(project), Say(text="I wait."), reads(project / "notes.txt"), Say(text="It is at nine.")
    )
    question = server.user_writes(GROUP, "when is the meeting?")
    prompt, waiting = server.sent(2)
    assert waiting.text == "I wait."
    assert str(project) in prompt.text
    assert "to read your notes" in prompt.text
    assert not CODE.search(prompt.text)
    assert server.buttons(GROUP, prompt.message_id) == ["Approve"]
    for user in (GUEST, STRANGER):
        server.user_taps(GROUP, prompt.message_id, user=user)
    refused = server.called("answerCallbackQuery", 2)
    assert {call.parameters["text"] for call in refused} == {approval_wording.TAP_REFUSED}
    assert granted(home) == []
    assert server.buttons(GROUP, prompt.message_id) == ["Approve"]

    for _ in range(2):
        server.user_taps(GROUP, prompt.message_id)
    texts = [one.text for one in server.sent(5, seconds=10)[2:]]
    assert granted(home) == [str(project)]
    assert sum(text.startswith("Done. ") for text in texts) == 1
    assert texts.count(approval_wording.not_taken(AnswerProblem.ANSWERED)) == 1
    assert texts.count("It is at nine.") == 1
    assert "the meeting is at nine" in last_tool_result(model)
    answer = next(one for one in server.sent() if one.text == "It is at nine.")
    assert answer.reply_to == question
    until(lambda: not server.buttons(GROUP, prompt.message_id), what="the end of the button")
    assert len(server.sent()) == 5
    assert home.rows("SELECT count(*) FROM messages WHERE key LIKE 'tap:%'") == [(2,)]


def test_a_folder_with_a_long_name_in_another_script_has_its_button_and_a_late_answer_spoils_no_tap(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer, tmp_path: Path
) -> None:
    folder = tmp_path.resolve() / ("папка" * 12) / ("папка" * 12)
    folder.mkdir(parents=True)
    model.will(asks_for(folder), Say(text="I wait."), Say(text="I can see it now."))
    server.user_writes(OWNER, "what is in there?")
    prompt, _waiting = server.sent(2)
    assert str(folder) in prompt.text
    server.fault("answerCallbackQuery", status=400, description="Bad Request: query is too old")
    for _ in range(2):
        server.user_taps(OWNER, prompt.message_id)
    texts = [one.text for one in server.sent(5, seconds=10)[2:]]
    assert granted(home) == [str(folder)]
    assert sum(text.startswith("Done. ") for text in texts) == 1
    assert texts.count("I can see it now.") == 1


def test_a_prompt_does_not_outlive_the_daemon_and_a_tap_on_it_says_so(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer, project: Path
) -> None:
    model.will(asks_for(project), Say(text="I wait."))
    server.user_writes(OWNER, "when is the meeting?")
    prompt = server.sent(2)[0]
    assert CODE.search(prompt.text)
    assert daemon.terminate() == 0
    server.user_taps(OWNER, prompt.message_id)
    again = home.daemon().ready()
    assert server.sent(3)[2].text == approval_wording.not_taken(AnswerProblem.UNKNOWN)
    assert granted(home) == []
    until(lambda: not server.buttons(OWNER, prompt.message_id), what="the end of the button")
    assert again.terminate() == 0


@pytest.mark.requirement("approval.button.only_for_agent_requests")
def test_the_code_may_be_typed_and_a_typed_proposal_has_no_button(
    daemon: Daemon, home: FermixHome, server: TelegramServer, project: Path
) -> None:
    server.user_writes(GROUP, f"/grant path {project}")
    (proposal,) = server.sent(1)
    code = CODE.search(proposal.text)
    assert code is not None
    assert server.buttons(GROUP, proposal.message_id) == []
    server.user_writes(OWNER, f"/confirm {code[1]}")
    assert server.sent(2)[1].text == approval_wording.not_taken(AnswerProblem.ELSEWHERE)
    server.user_writes(GROUP, f"/confirm {code[1].lower()}")
    assert server.sent(3)[2].text.startswith("Done. ")
    assert granted(home) == [str(project)]
    server.user_writes(GROUP, f"/revoke path {project}")
    server.sent(4)
    assert granted(home) == []


@pytest.mark.requirement("approval.text_surfaces")
@pytest.mark.parametrize("name", ["slack", "whatsapp", "signal"])
def test_where_there_are_no_buttons_the_prompt_shows_the_line_that_confirms_it(
    home: FermixHome, model: StrictServer, project: Path, name: str
) -> None:
    with {**EDITABLE, **OTHERS}[name]() as chat:
        serve(home, model, chat, "off")
        model.will(asks_for(project), Say(text="I wait."), reads(project / "notes.txt"), Say(text="At nine."))
        chat.writes("when is the meeting?")
        until(lambda: len(chat.shown()) == 2, what="the prompt and the answer")
        prompt, waiting = chat.shown()
        code = CODE.search(prompt)
        assert code is not None
        assert (waiting, "to read your notes" in prompt, granted(home)) == ("I wait.", True, [])
        chat.writes(f"/confirm {code[1]}")
        until(lambda: "At nine." in chat.shown(), what="the answer")
        assert granted(home) == [str(project)]


@pytest.mark.requirement("approval.text_surfaces")
def test_at_a_terminal_the_prompt_is_on_stderr_and_the_code_counts_in_the_session(
    home: FermixHome, model: StrictServer, project: Path
) -> None:
    model.will(asks_for(project), Say(text="I wait."))
    daemon = home.daemon().ready()
    asked = home.fermix("ask", "when is the meeting?")
    assert (asked.code, asked.out) == (0, "I wait.\n")
    code = CODE.search(asked.err)
    assert code is not None
    confirmed = home.fermix("ask", f"/confirm {code[1]}")
    assert confirmed.out.rstrip().endswith(approval_wording.ASK_ONCE_MORE)
    assert granted(home) == [str(project)]
    assert daemon.terminate() == 0


@pytest.mark.requirement("approval.local_ask_prints_grant")
def test_without_a_daemon_the_line_to_type_is_told_and_works(
    home: FermixHome, model: StrictServer, project: Path
) -> None:
    model.will(asks_for(project), Say(text="I need it."))
    asked = home.fermix("ask", "when is the meeting?")
    assert (asked.code, asked.out) == (0, "I need it.\n")
    assert f"\nfermix grant path {project}\n" in asked.err
    assert not CODE.search(asked.err)
    assert home.fermix("grant", "path", str(project)).code == 0
    assert granted(home) == [str(project)]


@pytest.mark.parametrize(
    ("kill", "is_done"),
    [("after:command:1", False), ("before:finish_command:1", True), ("after:finish_command:1", True)],
)
def test_a_command_that_is_killed_in_the_middle_is_reported_or_answered_and_never_run_again(
    home: FermixHome, people: People, kill: str, *, is_done: bool
) -> None:
    dying = home.daemon(far=people, kill=kill).ready()
    offset = people.write("1", "/sandbox mode strict")
    dying.died()
    if is_done:
        assert '"strict"' in (home.path / "config.toml").read_text()
        assert home.fermix("sandbox", "mode", "standard").code == 0
    again = home.daemon(far=people).ready()
    people.acknowledged(offset=offset)
    (told,) = people.answer("1")
    if kill == "after:finish_command:1":
        assert "Done. Set the sandbox to strict" in told
    else:
        assert told == wording.restarted_during("sandbox")
    people.write("1", "/help")
    people.answer("1", count=2)
    assert again.terminate() == 0
    assert '"strict"' not in (home.path / "config.toml").read_text()
    assert home.rows("SELECT count(*), sum(done) FROM messages WHERE kind='command'") == [(2, 2)]
