"""Slash commands over the channel and over `ask`, and who may use them; one daemon for all of it."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from fermix.testing.servers.openai_strict.script import Hang
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import Daemon, FermixHome, open_home, until
from tests.e2e.harness.people import GUEST, HELPER, OWNER, STRANGER, People, far_side

_numbers = count()


@pytest.fixture(scope="module")
def people() -> Iterator[People]:
    with far_side() as opened:
        yield opened


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, shared_model: StrictServer) -> Iterator[FermixHome]:
    folder: Path = tmp_path_factory.mktemp("commands")
    with open_home(folder) as opened:
        opened.use(shared_model.base_url)
        yield opened


@pytest.fixture(scope="module")
def daemon(home: FermixHome, people: People) -> Daemon:
    return home.daemon(far=people).ready()


@pytest.fixture
def chat(daemon: Daemon) -> str:
    """A chat that nobody has used yet."""
    return f"chat-{next(_numbers)}"


def test_help_lists_what_the_owner_may_use(people: People, chat: str) -> None:
    people.write(chat, "/help")
    (reply,) = people.answer(chat)
    for name in ("/help", "/whoami", "/new", "/clear", "/stop", "/discard", "/retry"):
        assert name in reply
    assert "owner only" not in reply


@pytest.mark.requirement("gate.any_authorised")
def test_help_tells_a_guest_what_is_the_owners(people: People, chat: str) -> None:
    people.write(chat, "/help", user=GUEST)
    (reply,) = people.answer(chat)
    mine, _, others = reply.partition("For the owner only:")
    assert "/whoami" in mine
    assert "/stop" not in mine
    assert "/stop" in others


@pytest.mark.parametrize(("user", "role"), [(OWNER, "the operator"), (GUEST, "a guest")])
def test_whoami_names_the_id_and_the_role(people: People, chat: str, user: str, role: str) -> None:
    people.write(chat, "/whoami", user=user)
    (reply,) = people.answer(chat)
    assert user in reply
    assert role in reply


def test_whoami_over_ask_is_the_operator(home: FermixHome, daemon: Daemon) -> None:
    run = home.fermix("ask", "/whoami")
    assert run.code == 0
    assert "operator" in run.out


def test_help_over_ask_prints_the_list_and_asks_no_model(
    home: FermixHome, daemon: Daemon, model: StrictServer
) -> None:
    run = home.fermix("ask", "/help")
    assert run.code == 0
    assert "/stop" in run.out
    assert not model.requests


@pytest.mark.parametrize("command", ["/new", "/clear"])
def test_new_makes_the_model_forget_what_was_said(
    people: People, chat: str, model: StrictServer, command: str
) -> None:
    people.write(chat, "remember me")
    people.answer(chat)
    people.write(chat, command)
    people.answer(chat, count=2)
    people.write(chat, "what did I say?")
    people.answer(chat, count=3)
    contents = [message["content"] for message in model.requests[-1].body["messages"]]
    assert not any("remember me" in content for content in contents)


def test_ask_new_begins_a_new_conversation(home: FermixHome, daemon: Daemon, model: StrictServer) -> None:
    assert home.fermix("ask", "remember me").code == 0
    run = home.fermix("ask", "--new", "what did I say?")
    assert run.out == "You said: what did I say?\n"
    assert [message["role"] for message in model.requests[-1].body["messages"]] == ["system", "user"]


@pytest.mark.requirement(
    "command.ahead_of_queue",
    "settle.stopped_turn_says_nothing",
    "lane.new_message_waits",
    "limits.commands_pass",
)
def test_stop_ends_the_turns_of_all_chats_and_counts_them_ahead_of_the_queue(
    people: People, chat: str, model: StrictServer
) -> None:
    other = f"{chat}-other"
    model.left.clear()
    model.will(Hang(stage="middle"))
    people.write(chat, "hang")
    until(lambda: model.requests, what="the model's turn")
    people.acknowledged(offset=people.write_all([(chat, "wait 1"), (chat, "wait 2")]))
    people.write(other, "/stop")
    (reply,) = people.answer(other)
    assert reply.startswith("Stopped 1 running request and 2 waiting messages")
    assert model.left.wait(10), "the model is not waited for any longer"
    people.write(chat, "and now?")
    (answer,) = people.answer(chat)
    assert answer.endswith("and now?")
    assert len(model.requests) == 2


def test_stop_over_ask_ends_the_turn_of_another_ask(
    home: FermixHome, daemon: Daemon, model: StrictServer
) -> None:
    model.will(Hang(stage="middle"))
    hanging = home.start("ask", "--session", "one", "hang")
    until(lambda: model.requests, what="the model's turn")
    stop = home.fermix("ask", "--session", "two", "/stop")
    assert stop.code == 0
    assert stop.out.startswith("Stopped 1 running request")
    ended = hanging.end()
    assert ended.code == 1
    assert "stopped" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.requirement("command.unknown_is_ordinary_text")
def test_an_unknown_word_goes_to_the_model_unchanged(people: People, chat: str) -> None:
    people.write(chat, "/teapot short and stout")
    assert people.answer(chat) == ["You said: /teapot short and stout"]


@pytest.mark.requirement("gate.owner_or_allowlist.refuses", "gate.owner_or_allowlist.passes")
def test_a_guest_may_not_stop_unless_the_owner_listed_them(people: People, chat: str) -> None:
    people.write(chat, "/stop", user=GUEST)
    assert people.answer(chat) == ["Only the owner may use this command."]
    people.write(chat, "/stop", user=HELPER)
    assert people.answer(chat, count=2)[1] == "Nothing was running and nothing was waiting."


@pytest.mark.requirement("gate.strict_operator")
@pytest.mark.parametrize("command", ["/discard", "/retry"])
def test_a_listed_guest_may_not_use_the_strict_commands(people: People, chat: str, command: str) -> None:
    people.write(chat, command, user=HELPER)
    assert people.answer(chat) == ["Only the owner may use this command."]
    people.write(chat, command)
    assert people.answer(chat, count=2)[1].startswith("No lost")


@pytest.mark.requirement(
    "ingress.authorise.denied_is_silent",
    "ingress.authorise.denied_is_warned",
    "ingress.authorise.denied_leaves_nothing",
)
def test_a_stranger_is_met_with_silence_and_one_warning(
    home: FermixHome, people: People, chat: str, model: StrictServer
) -> None:
    before = len(people.seen())
    offset = people.write(chat, "let me in", user=f"{STRANGER}\nforged line", name="Eve\nforged line")
    people.acknowledged(offset=offset)
    people.write(f"{chat}-mine", "hello")
    people.answer(f"{chat}-mine")
    assert people.in_chat(chat) == []
    assert len(people.seen()) == before + 1
    assert len(model.requests) == 1
    (warning,) = [line for line in home.log().splitlines() if "sender_refused" in line and chat in line]
    assert "warning" in warning
    assert repr(f"{STRANGER}\nforged line")[1:-1].replace("\\", "") in warning.replace("\\", "")
    assert not any(line.startswith("forged line") for line in home.log().splitlines())
    assert home.rows("SELECT count(*) FROM messages WHERE sender LIKE ?", f"%{STRANGER}%") == [(0,)]


@pytest.mark.requirement("ingress.empty.reply_text", "ingress.empty.no_turn")
def test_an_empty_message_is_told_so(people: People, chat: str, model: StrictServer) -> None:
    people.write(chat, " \n\t ")
    assert people.answer(chat) == ["Your message looks empty — send some text or media I can read."]
    assert not model.requests


@pytest.mark.requirement("ingress.normalise.dropped_with_one_error_line")
def test_a_message_without_text_is_dropped_with_one_error_line(
    home: FermixHome, people: People, chat: str
) -> None:
    before = home.log().count("message_invalid")
    people.acknowledged(offset=people.offer(chat=chat, user=OWNER, name="Ada", text=7))
    assert people.in_chat(chat) == []
    assert home.log().count("message_invalid") == before + 1
    line = next(line for line in home.log().splitlines() if "message_invalid" in line)
    assert "error" in line
    assert "field=content" in line


@pytest.mark.requirement("lane.conversations_are_independent")
def test_a_hanging_turn_holds_up_no_other_chat(people: People, chat: str, model: StrictServer) -> None:
    model.will(Hang(stage="headers"))
    people.write(chat, "hang")
    until(lambda: model.requests, what="the model's turn")
    people.write(f"{chat}-other", "quick?")
    assert people.answer(f"{chat}-other") == ["You said: quick?"]
    people.write(f"{chat}-other", "/stop")
    people.answer(f"{chat}-other", count=2)


@pytest.mark.requirement("deliver.not_left_is_tried_longer")
def test_a_part_the_platform_did_not_take_is_sent_again_unmarked(people: People, chat: str) -> None:
    people.rate_limit_next(0.2)
    people.write(chat, "too fast?")
    assert people.answer(chat) == ["You said: too fast?"]


def test_a_part_that_found_nobody_is_sent_again_unmarked(people: People, chat: str) -> None:
    people.be_unreachable_once()
    people.write(chat, "anybody?")
    assert people.answer(chat) == ["You said: anybody?"]


@pytest.mark.requirement("deliver.waits_for_the_older_part", "deliver.in_order")
def test_a_part_whose_answer_was_lost_leaves_once_more_marked_before_the_next_one(
    people: People, chat: str
) -> None:
    people.drop_next_answer()
    people.write_all([(chat, "one"), (chat, "two")])
    parts = people.answer(chat, count=3)
    assert parts == ["You said: one", "(possibly sent before)\nYou said: one", "You said: two"]


def test_a_refused_part_is_not_tried_again_and_holds_up_nothing(
    home: FermixHome, people: People, chat: str
) -> None:
    people.refuse_next()
    people.write_all([(chat, "one"), (chat, "two")])
    assert people.answer(chat) == ["You said: two"]
    assert "delivery.failed" in home.log()
