"""A real daemon and groups of Telegram: one that changes its id, one that a stranger writes in."""

from collections.abc import Iterator

import pytest

from fermix.testing.servers.openai_strict.script import Say
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.e2e.harness.homes import Daemon, FermixHome, until
from tests.e2e.test_telegram import OWNER, SECRET, TOKEN, channel_health, configure

GROUP, SUPERGROUP = -300, -100300
STRANGER = 9999


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


def questions(model: StrictServer) -> list[str]:
    """What people had said in the conversation of the last request, without the lines that say who did."""
    messages = model.requests[-1].body["messages"]
    return [entry["content"].splitlines()[-1] for entry in messages if entry["role"] == "user"]


def test_a_group_that_becomes_a_supergroup_goes_on_with_its_history_also_after_a_restart(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    model.will(Say(text="first"), Say(text="second answer " * 10, pause=0.02))
    server.user_writes(GROUP, "one")
    server.sent(1)
    server.user_writes(GROUP, "two")
    until(lambda: len(model.requests) == 2, what="the turn that runs while the group moves")
    server.upgrade(GROUP, SUPERGROUP)
    server.user_writes(SUPERGROUP, "three")
    shown = server.sent(3, seconds=10)
    assert [one.chat for one in shown] == [GROUP, SUPERGROUP, SUPERGROUP]
    assert shown[1].text.startswith("second answer")
    assert questions(model) == ["one", "two", "three"]
    assert daemon.terminate() == 0
    again = home.daemon().ready()
    server.user_writes(SUPERGROUP, "four")
    assert server.sent(4, seconds=10)[-1].chat == SUPERGROUP
    assert questions(model) == ["one", "two", "three", "four"]
    assert len(server.sent()) == 4
    assert again.terminate() == 0


def test_a_move_that_only_a_refused_send_tells_of_takes_the_conversation_along(
    daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    server.user_writes(GROUP, "one")
    server.sent(1)
    server.fault(
        "sendMessage",
        status=400,
        body=f'{{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup '
        f'chat","parameters":{{"migrate_to_chat_id":{SUPERGROUP}}}}}',
    )
    server.knows(SUPERGROUP)
    server.user_writes(GROUP, "two")
    assert [one.chat for one in server.sent(2)] == [GROUP, SUPERGROUP]
    server.user_writes(SUPERGROUP, "three")
    server.sent(3)
    assert questions(model) == ["one", "two", "three"]


def test_a_group_that_a_stranger_moves_lets_nobody_in(
    daemon: Daemon, home: FermixHome, server: TelegramServer
) -> None:
    server.user_writes(GROUP, "let me in", user=STRANGER)
    server.user_writes(GROUP, raw={"migrate_to_chat_id": SUPERGROUP}, user=STRANGER)
    server.user_writes(SUPERGROUP, raw={"migrate_from_chat_id": GROUP}, user=STRANGER)
    server.user_writes(SUPERGROUP, "and now?", user=STRANGER)
    server.user_writes(OWNER, "/whoami")
    (only,) = server.sent(1)
    assert only.chat == OWNER
    assert home.rows("SELECT count(*) FROM moves") == [(0,)]
    assert home.rows("SELECT count(*) FROM messages") == [(1,)]


@pytest.mark.requirement("ingress.authorise.doctor_shows_refused")
def test_doctor_shows_who_was_refused_and_status_what_could_not_be_read(
    daemon: Daemon, home: FermixHome, server: TelegramServer
) -> None:
    assert "unreadable" not in channel_health(daemon)
    for user in (STRANGER, 4004):
        server.user_writes(user, "let me in", user=user)
    server.update({"message": {"message_id": "x"}})
    server.user_writes(OWNER, "/whoami")
    server.sent(1)
    (row,) = [row for row in home.fermix("doctor", "--json").document["rows"] if row["name"] == "refused"]
    assert row["status"] == "ok"
    assert ["'4004'" in row["details"][0], "'9999'" in row["details"][1]] == [True, True]
    assert str(channel_health(daemon)["unreadable"]) == "1"
    assert "telegram: ready, 1 unreadable" in home.fermix("status").out
