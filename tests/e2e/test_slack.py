"""A real daemon with Slack, over a fake Slack and a fake model, called as Slack calls it."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import orjson
import pytest

from fermix.infrastructure.system.clock import SystemClock
from fermix.testing.servers.openai_strict.script import Hang, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.slack_api.server import (
    BOT,
    SIGNING_SECRET,
    TOKEN,
    SlackServer,
    command,
    encoded,
    signed,
    slack_server,
)
from tests.e2e.harness.homes import Daemon, FermixHome, until

OWNER = "U0OWN"
GUEST = "U0GUEST"
ROOM = "C0A"
TOPIC = "1789999999.000100"
PEOPLE = f'owner_user_id = "{OWNER}"\nallowed_user_ids = ["{GUEST}"]\n'


@pytest.fixture
def server() -> Iterator[SlackServer]:
    with slack_server() as opened:
        yield opened


def now() -> float:
    """Seconds, as Slack signs them."""
    return SystemClock().now().timestamp()


def configure(home: FermixHome, model: StrictServer, server: SlackServer, more: str = PEOPLE) -> None:
    home.use(
        model.base_url,
        core='[fermix_core.telemetry]\nlog_level = "debug"\n',
        more=(
            "[fermix_channels.slack]\nenabled = true\n"
            f'bot_token = "{TOKEN}"\nsigning_secret = "{SIGNING_SECRET}"\n'
            f'api_base_url = "{server.root}"\n{more}'
        ),
    )


class Caller:
    """Calls the daemon's webhook as Slack does."""

    def __init__(self, daemon: Daemon, server: SlackServer) -> None:
        self.url = f"http://127.0.0.1:{daemon.http_port()}/webhook/slack"
        self._server = server

    def post(
        self, body: bytes, headers: Mapping[str, str] | None = None, *, form: bool = False
    ) -> httpx.Response:
        given = signed(body, at=now(), form=form) if headers is None else headers
        return httpx.post(self.url, content=body, headers=dict(given), timeout=10)

    def tells(self, event: Mapping[str, Any], **more: Any) -> httpx.Response:
        return self.post(self._server.notification(event), **more)

    def writes(self, text: str, **more: Any) -> dict[str, Any]:
        """Somebody writes, and Slack's call is taken."""
        event = self._server.event(text, **more)
        assert self.tells(event).status_code == 200
        return event


def listens(home: FermixHome) -> None:
    until(lambda: "slack.listens" in home.log(), what="the channel")


@pytest.fixture
def daemon(home: FermixHome, model: StrictServer, server: SlackServer) -> Iterator[Daemon]:
    configure(home, model, server)
    started = home.daemon().ready()
    yield started
    for secret in (TOKEN, SIGNING_SECRET):
        assert secret not in home.log() + started.printed()


@pytest.fixture
def slack(daemon: Daemon, home: FermixHome, server: SlackServer) -> Caller:
    listens(home)
    return Caller(daemon, server)


def channel_health(daemon: Daemon) -> dict[str, str]:
    body = httpx.get(f"http://127.0.0.1:{daemon.http_port()}/health/ready", timeout=5).content
    return next(one for one in orjson.loads(body)["channels"] if one["name"] == "slack")


def asked(model: StrictServer) -> list[str]:
    """What people said to the model so far, in the last request."""
    entries = model.requests[-1].body["messages"] if model.requests else []
    return [entry["content"] for entry in entries if entry["role"] == "user"]


def test_a_question_is_answered_in_slacks_own_marks_and_calls_nobody(
    slack: Caller, server: SlackServer, model: StrictServer
) -> None:
    model.will(Say(text="**Hello** <!channel>, see [here](https://x.test/?a=1&b=2)"))
    slack.writes("hi &amp; hello")
    (reply,) = server.sent(1)
    assert (reply.channel, reply.thread) == ("D0OWN", None)
    assert reply.text == "*Hello* &lt;!channel&gt;, see <https://x.test/?a=1&amp;b=2|here>"
    assert asked(model) == ["hi & hello"]


@pytest.mark.requirement("channel.slack.dm_keeps_thread")
def test_a_thread_of_a_direct_message_is_a_conversation_of_its_own(
    slack: Caller, server: SlackServer, model: StrictServer
) -> None:
    slack.writes("in the thread", thread_ts=TOPIC)
    assert server.sent(1)[0].thread == TOPIC
    slack.writes("at the root")
    assert server.sent(2)[1].thread is None
    assert asked(model) == ["at the root"]


@pytest.mark.requirement("ingress.admit_chat.slack_root_mention_opens_thread")
def test_a_mention_is_answered_in_its_thread_once_and_nothing_else_in_a_channel_is(
    slack: Caller, server: SlackServer, model: StrictServer
) -> None:
    """A mention comes as two events, in either order."""
    slack.writes("not for us", channel=ROOM)
    for number, kinds in enumerate((("app_mention", "message"), ("message", "app_mention")), 1):
        event = server.event(f"<@{BOT}> question {number}", channel=ROOM)
        for kind in kinds:
            assert slack.tells({**event, "type": kind}).status_code == 200
        replies = server.sent(number)
        assert (replies[-1].channel, replies[-1].thread) == (ROOM, event["ts"])
    slack.writes("and alone")
    assert len(server.sent(3)) == 3
    assert len(model.requests) == 3


@pytest.mark.requirement("channel.listeners_only_admit")
def test_slack_is_answered_at_once_whatever_the_model_does_and_its_retries_start_nothing(
    slack: Caller, server: SlackServer, model: StrictServer
) -> None:
    model.will(Hang(stage="headers"))
    body = server.notification(server.event("slow"), event_id="EvA24")
    for number in ("1", "2"):
        again = {"x-slack-retry-num": number, "x-slack-retry-reason": "http_timeout"}
        started = time.monotonic()
        assert slack.post(body, {**signed(body, at=now()), **again}).status_code == 200
        assert time.monotonic() - started < 1
    until(lambda: len(model.requests) == 1, what="the question")
    assert server.shown() == []


def test_commands_come_after_a_mention_with_a_leading_space_and_natively(
    slack: Caller, server: SlackServer, model: StrictServer
) -> None:
    slack.writes(f"<@{BOT}> /whoami", channel=ROOM)
    slack.writes(" /whoami")
    assert slack.post(command("whoami"), form=True).status_code == 200
    replies = server.sent(3)
    assert [OWNER in reply.text for reply in replies] == [True] * 3
    assert sorted(reply.channel for reply in replies) == [ROOM, "D0OWN", "D0OWN"]
    assert (
        slack.post(command("good morning", channel=ROOM, trigger_id="13.7.z"), form=True).status_code == 200
    )
    assert (server.sent(4)[3].channel, server.sent(4)[3].thread) == (ROOM, None)
    assert asked(model) == ['[from "olga"]\ngood morning']


def test_the_help_says_how_commands_are_written_here(slack: Caller, server: SlackServer) -> None:
    assert slack.post(command(""), form=True).status_code == 200
    (reply,) = server.sent(1)
    assert "/whoami" in reply.text
    for way in ("after my name (@… /help)", "in a direct message behind a space", "as /fermix help"):
        assert way in reply.text


def test_what_nobody_wrote_to_us_is_silent(
    slack: Caller, home: FermixHome, server: SlackServer, model: StrictServer
) -> None:
    for what in (
        {"subtype": "channel_join"},
        {"subtype": "message_deleted", "hidden": True, "user": None},
        {"subtype": "message_changed", "hidden": True, "user": None, "message": {"user": OWNER, "text": "x"}},
        {"subtype": "bot_message", "bot_id": "B0OTHER", "user": None},
        {"bot_id": server.world.bot},
        {"user": BOT},
    ):
        slack.writes("hi", **what)
    assert slack.writes("let me in", user="U0STRANGER")
    until(lambda: "'U0STRANGER'" in home.log(), what="the warning")
    slack.writes("/whoami ", user=GUEST)
    assert [GUEST in reply.text for reply in server.sent(1)] == [True]
    assert model.requests == []
    assert "let me in" not in home.log()


@pytest.mark.requirement("channel.slack.signature_and_age")
def test_what_is_not_signed_over_these_very_bytes_and_lately_is_turned_away_unread(
    slack: Caller, server: SlackServer, model: StrictServer
) -> None:
    body = server.notification(server.event("/stop"))
    wrong: tuple[dict[str, str], ...] = (
        {},
        signed(body, at=now(), secret="another secret"),
        signed(body + b" ", at=now()),
        signed(body, at=now() - 305),
    )
    assert [slack.post(body, headers).status_code for headers in wrong] == [401] * len(wrong)
    assert slack.post(encoded({"type": "url_verification", "challenge": "c1"})).json() == {"challenge": "c1"}
    assert slack.post(b"not json").status_code == 400
    assert httpx.get(slack.url, timeout=5).status_code == 405
    slack.writes("and now?")
    server.sent(1)
    assert len(model.requests) == 1


@pytest.mark.requirement("config.webhook_without_owner_stays_up")
def test_without_owner_or_allowlist_the_webhook_checks_answers_and_denies_everybody(
    home: FermixHome, server: SlackServer, model: StrictServer
) -> None:
    configure(home, model, server, more="")
    daemon = home.daemon().ready()
    listens(home)
    slack = Caller(daemon, server)
    slack.writes("hi")
    body = server.notification(server.event("hi"))
    assert slack.post(body, signed(body, at=now(), secret="another secret")).status_code == 401
    until(lambda: f"'{OWNER}'" in home.log(), what="the warning")
    assert channel_health(daemon)["status"] == "setup_required"
    assert (server.shown(), model.requests) == ([], [])


def test_an_answer_is_shown_while_it_is_written(
    home: FermixHome, server: SlackServer, model: StrictServer
) -> None:
    configure(home, model, server, more=f'{PEOPLE}streaming = "draft"\n')
    slack = Caller(home.daemon().ready(), server)
    listens(home)
    model.will(Say(text="a **long** answer that is written word by word, " * 3, piece=20, pause=0.4))
    slack.writes("tell me", thread_ts=TOPIC)
    until(lambda: server.called("chat.update") >= 1, what="an edit")
    until(lambda: server.shown() and server.shown()[0].text.count("*long*") == 3, what="the whole answer")
    assert [reply.thread for reply in server.shown()] == [TOPIC]
    assert server.called("chat.postMessage") == 1


def test_a_token_that_is_refused_later_shows_in_health_and_keeps_the_reply(
    daemon: Daemon, slack: Caller, server: SlackServer
) -> None:
    server.revoke_token()
    slack.writes("hi")
    until(lambda: channel_health(daemon)["status"] == "degraded", what="the failure")
    assert "bot token" in channel_health(daemon)["detail"]
    server.world.token = TOKEN
    server.sent(1)


@pytest.mark.requirement("restart.webhook_gets_503")
def test_a_call_during_a_restart_is_made_again_by_slack_and_answered_once(
    daemon: Daemon, slack: Caller, home: FermixHome, server: SlackServer, model: StrictServer
) -> None:
    model.will(Hang(stage="headers"))
    slack.writes("slow")
    until(lambda: len(model.requests) == 1, what="the question")
    body = server.notification(server.event("while it restarts"))
    daemon.process.terminate()
    until(lambda: "gateway.stopping" in home.log(), what="the drain")
    assert slack.post(body).status_code == 503
    daemon.kill()
    later = Caller(home.daemon().ready(), server)
    until(lambda: later.post(body).status_code == 200, what="the second call")
    assert later.post(body).status_code == 200
    until(lambda: asked(model)[-1:] == ["while it restarts"], what="its turn")
    assert not [reply for reply in server.shown() if "restarting" in reply.text]
