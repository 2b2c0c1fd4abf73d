"""A real daemon with real child processes, which run the fake signal-cli, and a fake model."""

from collections.abc import Iterator

import httpx
import orjson
import pytest

from fermix.testing.servers.openai_strict.script import Hang, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.signal_cli.records import ACCOUNT, OLGA, uuid_of
from fermix.testing.servers.signal_cli.server import SignalServer, signal_server
from tests.e2e.harness.homes import Daemon, FermixHome, until

BEN = "+15552002"
CARA = "+15553003"
GROUP = "R3JvdXBHcm91cEdyb3VwR3JvdXBHcm91cEdyb3VwMTI="


@pytest.fixture
def server() -> Iterator[SignalServer]:
    with signal_server() as opened:
        yield opened


def configure(home: FermixHome, model: StrictServer, server: SignalServer, *, more: str = "") -> None:
    home.environ.update(
        server.environment, WHATSAPP_ACCESS_TOKEN="sk-never-for-others", GITHUB_TOKEN="ghp-never"
    )
    home.use(
        model.base_url,
        core='[fermix_core.telemetry]\nlog_level = "debug"\n',
        more=(
            "[fermix_channels.telegram]\nenabled = false\n"
            f'[fermix_channels.signal]\nenabled = true\naccount = "+1 555 000-0001"\n'
            f'cli_path = "{server.program}"\n'
            f'owner_user_id = "+1 (555) 1001"\nallowed_sender_ids = ["{uuid_of(BEN).upper()}"]\n{more}'
        ),
    )


@pytest.fixture
def daemon(home: FermixHome, model: StrictServer, server: SignalServer) -> Daemon:
    configure(home, model, server)
    return home.daemon().ready()


def health(daemon: Daemon) -> dict[str, str]:
    body = httpx.get(f"http://127.0.0.1:{daemon.http_port()}/health/ready", timeout=5).content
    return next(one for one in orjson.loads(body)["channels"] if one["name"] == "signal")


def texts(server: SignalServer, count: int) -> list[tuple[str, str]]:
    sent = server.until(lambda: len(server.sent_as("send")) >= count and server.sent_as("send"))
    assert sent
    return [(one.place, one.text) for one in sent]


def test_a_question_is_answered_in_plain_words(
    daemon: Daemon, server: SignalServer, model: StrictServer
) -> None:
    model.will(Say(text="**Hello** [Olga](https://example.org)"))
    server.writes("hi")
    assert texts(server, 1) == [(OLGA, "Hello Olga: https://example.org")]
    assert health(daemon)["status"] == "ready"


def test_who_has_no_number_is_known_and_reached_by_the_id_of_the_user(
    daemon: Daemon, server: SignalServer, model: StrictServer
) -> None:
    model.will(Say(text="first"), Say(text="second"))
    for number in (None, BEN):
        when = server.stamp()
        server.envelope(
            BEN,
            when,
            source=uuid_of(BEN),
            sourceNumber=number,
            dataMessage={"timestamp": when, "message": "who am I?"},
        )
    assert texts(server, 2) == [(uuid_of(BEN), "first"), (BEN, "second")]
    assert len(model.requests[-1].body["messages"]) > len(model.requests[0].body["messages"])
    assert daemon.home.rows("SELECT count(*) FROM lanes WHERE channel='signal'") == [(1,)]


def test_a_group_is_one_conversation_and_gets_its_answers(
    daemon: Daemon, server: SignalServer, model: StrictServer
) -> None:
    model.will(Say(text="one"), Say(text="two"))
    server.writes("first", group=GROUP)
    server.writes("second", group=GROUP, sender=BEN)
    assert texts(server, 2) == [(GROUP, "one"), (GROUP, "two")]
    assert daemon.home.rows("SELECT count(*) FROM lanes WHERE channel='signal'") == [(1,)]


def test_what_nobody_wrote_to_us_is_silent(daemon: Daemon, server: SignalServer, model: StrictServer) -> None:
    sent = {"destinationNumber": CARA, "timestamp": 2, "message": "dinner?"}
    to_self = {"destinationNumber": ACCOUNT, "timestamp": 3, "message": "note to self"}
    server.envelope(ACCOUNT, 2, syncMessage={"sentMessage": sent})
    server.envelope(ACCOUNT, 3, syncMessage={"sentMessage": to_self})
    server.envelope(OLGA, 4, receiptMessage={"when": 4, "isRead": True, "timestamps": [1]})
    server.envelope(OLGA, 5, typingMessage={"action": "STARTED", "timestamp": 5})
    server.writes(None, reaction={"emoji": "👍", "targetAuthor": ACCOUNT, "targetSentTimestamp": 1})
    server.writes(None)
    server.writes("let me in", sender=CARA)
    server.writes("hello")
    assert [place for place, _ in texts(server, 1)] == [OLGA]
    assert len(model.requests) == 1
    assert "dinner?" not in daemon.home.log()
    assert daemon.home.rows("SELECT count(*) FROM messages") == [(1,)]
    assert uuid_of(CARA) in until(daemon.home.log, what="the log")


def test_a_child_that_died_is_started_again_and_heard(
    daemon: Daemon, server: SignalServer, model: StrictServer
) -> None:
    model.will(Say(text="one"), Say(text="two"))
    server.writes("before")
    until(lambda: daemon.home.rows("SELECT 1 FROM outbox WHERE state='sent'"), what="the delivery")
    server.dies()
    server.writes("behind")
    assert texts(server, 2)[1] == (OLGA, "two")
    until(lambda: health(daemon)["status"] == "ready", what="health")
    assert len({one.pid for one in server.started}) == 2


def test_the_child_gets_no_secret_of_ours(daemon: Daemon, server: SignalServer) -> None:
    server.until(lambda: server.started)
    child = server.started[0]
    given = repr(child.environ)
    assert "sk-never" not in given
    assert "ghp-never" not in given
    assert not [name for name in child.environ if name.startswith("FERMIX")]
    assert child.environ["XDG_DATA_HOME"] == str(server.data)
    daemon.terminate()
    server.until(lambda: not server.processes)


def test_an_accepted_message_outlives_the_daemon_and_its_child_does_not(
    home: FermixHome, daemon: Daemon, server: SignalServer, model: StrictServer
) -> None:
    server.until(lambda: any(one.receives for one in server.processes))
    server.writes("zq1c1s1zq")
    until(lambda: home.rows("SELECT count(*) FROM messages")[0][0], what="the admission")
    daemon.kill()
    server.until(lambda: not server.processes)
    home.daemon().ready()
    replies = texts(server, 1)
    assert len([text for _, text in replies if "(possibly sent before)" not in text]) == 1


@pytest.mark.requirement("channel.signal.transport")
def test_without_json_rpc_each_thing_is_a_call(
    home: FermixHome, server: SignalServer, model: StrictServer
) -> None:
    server.speaks_rpc = False
    configure(home, model, server)
    home.daemon().ready()
    model.will(Say(text="by a call"))
    server.writes("hi")
    assert texts(server, 1) == [(OLGA, "by a call")]
    assert not [one for one in server.started if "by a call" in repr(one.argv)]
    assert "signal.falls_back" in home.log()


@pytest.mark.requirement("channel.signal.transport")
def test_the_owner_can_choose_calls(home: FermixHome, server: SignalServer, model: StrictServer) -> None:
    configure(home, model, server, more='transport = "receive"\n')
    home.daemon().ready()
    model.will(Say(text="by a call"))
    server.writes("hi")
    assert texts(server, 1) == [(OLGA, "by a call")]
    assert "jsonRpc" not in {one.command for one in server.started}


def test_an_account_that_signal_cli_does_not_know_is_told(
    home: FermixHome, server: SignalServer, model: StrictServer
) -> None:
    server.is_registered = False
    configure(home, model, server)
    daemon = home.daemon().ready()
    until(lambda: "register or link it" in (health(daemon)["detail"] or ""), what="the health")


def test_what_is_written_while_the_daemon_ends_waits_with_signal_for_the_next_start(
    daemon: Daemon, home: FermixHome, server: SignalServer, model: StrictServer
) -> None:
    model.will(Hang(stage="headers"), Say(text="the first"), Say(text="the second"))
    server.writes("slow")
    until(lambda: len(model.requests) == 1, what="the question")
    daemon.process.terminate()
    until(lambda: "gateway.stopping" in home.log(), what="the drain")
    server.writes("while it restarts")
    daemon.kill()
    home.daemon().ready()
    assert texts(server, 2) == [(OLGA, "the first"), (OLGA, "the second")]
