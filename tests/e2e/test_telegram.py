"""A real daemon with the real Telegram client, over a fake Bot API server and a fake model."""

from collections.abc import Iterator

import httpx
import orjson
import pytest

from fermix.testing.servers.openai_strict.script import Frames, Hang, Refuse, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.telegram_api.entities import units
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.e2e.harness.homes import Daemon, FermixHome, until

TOKEN = "999001:AAtesttokentesttokentesttoken00001"
SECRET = "AAtesttoken"
OWNER = 1001
FORUM = -100700


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with telegram_server(token=TOKEN) as opened:
        yield opened


def configure(
    home: FermixHome, model: StrictServer, server: TelegramServer, *, log_level: str = "debug"
) -> None:
    home.use(
        model.base_url,
        core=f'[fermix_core.telemetry]\nlog_level = "{log_level}"\n',
        more=(
            "[fermix_channels.telegram]\n"
            f'bot_token = "{TOKEN}"\nowner_user_id = {OWNER}\nallowed_user_ids = [2002]\n'
            f'api_base_url = "{server.api_base_url}"\n'
        ),
    )


@pytest.fixture
def daemon(home: FermixHome, model: StrictServer, server: TelegramServer) -> Iterator[Daemon]:
    configure(home, model, server)
    started = home.daemon().ready()
    yield started
    assert SECRET not in home.log() + started.printed()


def channel_health(daemon: Daemon) -> dict[str, str]:
    body = httpx.get(f"http://127.0.0.1:{daemon.http_port()}/health/ready", timeout=5).content
    found = orjson.loads(body)["channels"]
    return next(one for one in found if one["name"] == "telegram")


def test_a_question_is_answered(daemon: Daemon, server: TelegramServer, model: StrictServer) -> None:
    model.will(Say(text="**Hello** Olga"))
    server.user_writes(OWNER, "hi")
    (reply,) = server.sent(1)
    assert (reply.chat, reply.text, reply.reply_to) == (OWNER, "Hello Olga", None)
    assert [one["type"] for one in reply.entities] == ["bold"]


def test_two_topics_are_two_conversations_and_every_part_stays_in_its_own(
    daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    model.will(Say(text="long " * 1500), Say(text="long " * 1500))
    server.user_writes(FORUM, "one", thread=77)
    server.user_writes(FORUM, "two", thread=78)
    shown = server.sent(4)
    assert sorted(one.thread or 0 for one in shown) == [77, 77, 78, 78]
    assert all(units(one.text) <= 4096 for one in shown)
    said = [entry["content"] for entry in model.requests[-1].body["messages"] if entry["role"] == "user"]
    assert len(said) == 1


def test_apologies_and_typing_of_a_topic_stay_there_and_general_is_called_by_no_number(
    daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    def threads() -> list[object]:
        told = [call for call in server.calls if call.method in {"sendMessage", "sendChatAction"}]
        return [call.parameters.get("message_thread_id") for call in told]

    model.will(Frames(frames=(), end="close"), Say(text="long " * 1500, piece=500, pause=0.1))
    server.user_writes(FORUM, "one", thread=77)
    (apology,) = server.sent(1)
    assert apology.thread == 77
    in_the_topic = threads()
    assert set(map(str, in_the_topic)) == {"77"}
    server.user_writes(FORUM, "two")
    shown = server.sent(3)
    assert [one.thread for one in shown] == [77, None, None]
    in_general = threads()[len(in_the_topic) :]
    assert in_general == [None] * len(in_general)
    assert len(in_general) >= 3


def test_a_long_reply_in_letters_of_two_units_arrives_whole(
    daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    model.will(Say(text="🙂" * 3000))
    server.user_writes(OWNER, "smile")
    first, second = server.sent(2)
    assert first.text + second.text == "🙂" * 3000


def test_a_stranger_gets_nothing_and_the_log_names_their_id(
    daemon: Daemon, home: FermixHome, server: TelegramServer
) -> None:
    server.user_writes(666, "let me in", user=666)
    server.user_writes(OWNER, "/whoami")
    (reply,) = server.sent(1)
    assert reply.chat == OWNER
    until(lambda: "'666'" in home.log(), what="the warning")
    assert "let me in" not in home.log()


@pytest.mark.parametrize("command", ["/start", "/help", "/Help@Fermix_Test_Bot"])
def test_help_is_given_however_it_is_asked_for(daemon: Daemon, server: TelegramServer, command: str) -> None:
    server.user_writes(FORUM, command)
    (reply,) = server.sent(1)
    assert "/whoami" in reply.text


def test_an_edited_command_does_nothing(daemon: Daemon, server: TelegramServer, model: StrictServer) -> None:
    asked = server.user_writes(OWNER, "hello")
    server.sent(1)
    server.user_writes(OWNER, "/new", edit_of=asked)
    server.user_writes(FORUM, "/new@some_other_bot")
    server.user_writes(OWNER, "and now?")
    assert len(server.sent(2)) == 2
    said = [entry for entry in model.requests[-1].body["messages"] if entry["role"] == "user"]
    assert len(said) == 2


def test_stop_ends_everything_at_once(daemon: Daemon, server: TelegramServer, model: StrictServer) -> None:
    model.will(Hang(stage="headers"))
    for text in ("slow", "a", "b"):
        server.user_writes(OWNER, text)
    until(lambda: len(model.requests) == 1, what="the first question")
    server.user_writes(OWNER, "/stop")
    server.sent(1, seconds=2.0)
    model.will(Say(text="here"))
    server.user_writes(OWNER, "hi")
    assert server.sent(2)[-1].text == "here"
    assert len(model.requests) == 2


def test_a_wait_that_telegram_asks_for_is_kept_and_the_rest_waits_behind_it(
    daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    model.will(Say(text="long " * 1500))
    server.fault("sendMessage", retry_after=2)
    server.user_writes(OWNER, "hi")
    first, second = server.sent(2, seconds=10)
    refused = server.called("sendMessage")[0]
    assert first.at - refused.at >= 2
    assert len(first.text) > len(second.text)


def test_formatting_that_telegram_does_not_understand_costs_nothing(
    daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    model.will(Say(text="use **snake_case** and 2*3\n" * 300))
    server.fault("sendMessage", status=400, description="Bad Request: can't parse entities: x")
    server.user_writes(OWNER, "hi")
    first, second = server.sent(2)
    assert first.text.startswith("use **snake_case** and 2*3")
    assert second.text.startswith("use snake_case and 2*3")
    assert len(server.called("sendMessage")) == 3


def test_another_poller_is_told_and_the_message_is_answered_afterwards(
    daemon: Daemon, home: FermixHome, server: TelegramServer
) -> None:
    until(lambda: server.is_polled, what="the first poll")
    server.fault(
        "getUpdates", status=409, description="Conflict: terminated by other getUpdates request", times=2
    )
    server.cut()
    until(lambda: channel_health(daemon)["status"] == "degraded", what="a degraded channel")
    assert "another program" in str(channel_health(daemon))
    server.user_writes(OWNER, "still there?")
    server.sent(1, seconds=15)
    assert channel_health(daemon)["status"] == "ready"
    assert "another program reads this bot" in home.log()


def test_nothing_is_lost_or_doubled_when_the_process_is_killed(
    home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    configure(home, model, server)
    first = home.daemon().ready()
    for number in range(20):
        server.user_writes(OWNER + number, f"question {number}", user=OWNER)
    until(lambda: len(server.sent()) >= 3, what="a few answers")
    first.kill()
    second = home.daemon().ready()
    until(lambda: len({one.chat for one in server.sent()}) == 20, what="all answers")
    texts = [one.text for one in server.sent()]
    assert len(texts) <= 20 + 16
    assert all("(possibly sent before)" in text for text in texts if texts.count(text) > 1)
    assert second.terminate() == 0


@pytest.mark.parametrize("log_level", ["info", "debug"])
def test_the_secret_is_nowhere_after_everything_that_can_go_wrong(
    home: FermixHome, server: TelegramServer, model: StrictServer, log_level: str
) -> None:
    configure(home, model, server, log_level=log_level)
    daemon = home.daemon().ready()
    file = server.add_file(b"%PDF-1.7 minutes", "documents/file_7.pdf")
    about = {"file_id": file, "file_unique_id": file, "file_name": "minutes.pdf"}
    server.user_writes(OWNER, raw={"document": about})
    server.sent(1)
    model.will(Refuse(status=401))
    server.fault("sendMessage", status=404, description="Not Found")
    server.fault("getUpdates", hang=0.3, drop="before")
    server.user_writes(OWNER, "hi")
    server.sent(2, seconds=10)
    server.fault("getFile", status=404, description="Not Found")
    server.user_writes(OWNER, raw={"document": about})
    server.called("getFile", 2)
    server.cut()
    doctor = home.fermix("doctor")
    status = home.fermix("status")
    assert daemon.terminate() == 0
    printed = doctor.out + doctor.err + status.out + status.err + daemon.printed()
    assert SECRET not in printed + "".join(one.text for one in server.sent())
    (home.path / "config.toml").unlink()
    written = [path for path in home.path.rglob("*") if path.is_file()]
    assert home.path / "logs" / "fermix.log" in written
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []
