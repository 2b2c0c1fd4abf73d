"""A real daemon with Slack where something is odd: waits, errors dressed as success, escapes, files, a token."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from fermix.testing.servers.openai_strict.script import Say
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.slack_api.server import BOT, TOKEN, SlackServer, slack_server
from tests.e2e.harness.homes import Daemon, FermixHome, until
from tests.e2e.test_slack import Caller, asked, configure, listens
from tests.unit.infrastructure.pictures.files import saved, scene

ROOM = "C0A"


@pytest.fixture
def server() -> Iterator[SlackServer]:
    with slack_server() as opened:
        yield opened


def begun(home: FermixHome, server: SlackServer) -> Caller:
    daemon: Daemon = home.daemon().ready()
    listens(home)
    return Caller(daemon, server)


@pytest.fixture
def slack(home: FermixHome, model: StrictServer, server: SlackServer) -> Caller:
    configure(home, model, server)
    config = home.path / "config.toml"
    config.write_text(config.read_text().replace("default_model", "vision = true\ndefault_model"))
    return begun(home, server)


def test_a_wait_that_slack_asks_for_is_kept_and_the_rest_waits_behind_it(
    slack: Caller, server: SlackServer, model: StrictServer
) -> None:
    model.will(Say(text="word " * 12_000))
    server.fault("chat.postMessage", status=429, error="ratelimited", retry_after=3)
    slack.writes("go")
    until(lambda: server.called("chat.postMessage") == 1, what="the first try")
    refused = time.monotonic()
    first, second = server.sent(2, seconds=15)
    assert time.monotonic() - refused > 2.5
    assert len(first.text) > len(second.text)
    assert server.called("chat.postMessage") == 3


def test_an_error_in_an_answer_with_status_200_is_a_failure_and_is_told_with_its_code(
    slack: Caller, home: FermixHome, server: SlackServer
) -> None:
    server.fault("chat.postMessage", error="msg_too_long")
    slack.writes("hi")
    until(lambda: "msg_too_long" in home.log(), what="the warning")
    until(lambda: home.rows("SELECT state FROM outbox") == [("failed",)], what="the end of the part")
    slack.writes("and now?")
    assert len(server.sent(1)) == 1


def test_what_people_wrote_reaches_the_model_without_its_escapes(
    slack: Caller, server: SlackServer, model: StrictServer
) -> None:
    slack.writes(
        "if a &lt; b &amp;&amp; c &gt; d see <https://x.test/?a=1&amp;b=2|docs> and literal &amp;lt; <@U0BOT>"
    )
    server.sent(1)
    assert asked(model) == ["if a < b && c > d see docs (https://x.test/?a=1&b=2) and literal &lt;"]


def test_every_way_to_write_to_us_is_a_question(
    slack: Caller, server: SlackServer, model: StrictServer
) -> None:
    file = server.file(b"%PDF-1.7 the plan", "plan.pdf", "application/pdf")
    ways: tuple[dict[str, Any], ...] = (
        {},
        {"files": [file]},
        {"subtype": "thread_broadcast"},
        {"subtype": "me_message"},
    )
    for number, how in enumerate(ways):
        slack.writes(f"question {number}", **how)
    slack.writes("question 4", subtype="file_share")
    server.sent(5)
    assert [question.splitlines()[0] for question in asked(model)] == [f"question {n}" for n in range(5)]


def test_a_picture_behind_a_redirect_within_slack_reaches_the_model(
    slack: Caller, server: SlackServer, model: StrictServer
) -> None:
    file = server.file(saved(scene(40, 40), "PNG"), "cat.png", "image/png")
    server.fault("download", to=f"http://{server.host}/files-tmb/{file['id']}/cat.png")
    slack.writes("what is this?", subtype="file_share", files=[file])
    server.sent(1)
    assert [len(request.pictures) for request in model.requests] == [1]
    assert [token for where, token in server.world.tokens_seen if where == "download"] == [
        f"Bearer {TOKEN}"
    ] * 2


def test_a_login_page_in_place_of_a_picture_is_none_and_never_reaches_the_model(
    slack: Caller, home: FermixHome, server: SlackServer, model: StrictServer
) -> None:
    file = server.file(saved(scene(40, 40), "PNG"), "cat.png", "image/png")
    server.fault("download", page=True)
    slack.writes("what is this?", subtype="file_share", files=[file])
    until(lambda: "media.failed" in home.log(), what="the failure")
    slack.writes("hello")
    server.sent(1)
    assert [request.pictures for request in model.requests] == [[]]
    assert "<html" not in str(model.requests[-1].body)


def test_a_token_that_was_pasted_with_its_line_break_is_used_without_it(
    home: FermixHome, model: StrictServer, server: SlackServer
) -> None:
    configure(home, model, server)
    config = home.path / "config.toml"
    config.write_text(config.read_text().replace(f'bot_token = "{TOKEN}"\n', ""))
    home.environ["SLACK_BOT_TOKEN"] = f"{TOKEN}\n"
    slack = begun(home, server)
    slack.writes(f"<@{BOT}> hi", channel=ROOM)
    server.sent(1)
    assert {token for _, token in server.world.tokens_seen} == {f"Bearer {TOKEN}"}
    assert TOKEN not in home.log()
