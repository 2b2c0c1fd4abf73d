"""A real daemon whose agent sends files and reacts: on Telegram and Slack, and across deaths."""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from fermix.domain import wording
from fermix.domain.caps import SLACK_REACTIONS, TELEGRAM_REACTIONS
from fermix.testing.servers.openai_strict.script import Call, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.slack_api.server import slack_server
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.e2e.harness.homes import Daemon, FermixHome, until
from tests.e2e.test_slack import Caller, listens
from tests.e2e.test_slack import configure as configure_slack

TOKEN = "999001:AAtesttokentesttokentesttoken00001"
OWNER = 1001
PNG = b"\x89PNG\r\n\x1a\n" + bytes(3000)


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with telegram_server(token=TOKEN) as opened:
        yield opened


@pytest.fixture
def daemon(home: FermixHome, model: StrictServer, server: TelegramServer) -> Daemon:
    home.use(
        model.base_url,
        more=(
            "[fermix_channels.telegram]\n"
            f'bot_token = "{TOKEN}"\nowner_user_id = {OWNER}\napi_base_url = "{server.api_base_url}"\n'
        ),
    )
    workspace = home.path / "workspace"
    workspace.mkdir(mode=0o700)
    (workspace / "chart.png").write_bytes(PNG)
    return home.daemon().ready()


def calls(name: str, **arguments: object) -> Say:
    return Say(calls=(Call(id="call_1", name=name, arguments=json.dumps(arguments)),))


def offered(model: StrictServer) -> dict[str, Any]:
    """The tools of the last request, by name."""
    tools = model.requests[-1].body.get("tools", [])
    return {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}


def all_delivered(home: FermixHome, parts: int) -> None:
    """Wait until so many parts are delivered and no turn is open."""

    def done() -> bool:
        states = home.rows("SELECT state FROM outbox")
        return states == [("sent",)] * parts and not home.rows("SELECT 1 FROM turns WHERE state='started'")

    until(done, what=f"the delivery of {parts} parts")


@pytest.mark.requirement("outbound_media.through_the_reply_port")
def test_a_file_of_the_workspace_arrives_before_the_words_about_it(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    model.will(
        calls("send_attachment", path="chart.png", kind="image", caption="**Sales**"),
        Say(text="Anything else?"),
    )
    server.user_writes(OWNER, "send me the chart")
    picture, words = server.sent(2)
    assert picture.file is not None
    assert (picture.file.kind, picture.file.content, picture.text) == ("photo", PNG, "Sales")
    assert words.text == "Anything else?"
    assert "chart.png" in model.requests[-1].body["messages"][-1]["content"]
    all_delivered(home, 2)
    assert daemon.terminate() == 0


def test_a_caption_that_is_too_long_goes_on_behind_its_file_and_nothing_is_lost(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    caption = " ".join(f"word{number:03}" for number in range(188))[:1500]
    model.will(calls("send_attachment", path="chart.png", caption=caption), Say(text="Anything else?"))
    server.user_writes(OWNER, "send me the chart")
    file, rest, words = server.sent(3)
    assert file.file is not None
    assert len(file.text) <= 1024
    assert (rest.file, f"{file.text} {rest.text}") == (None, caption)
    assert words.text == "Anything else?"
    all_delivered(home, 3)


@pytest.mark.requirement(
    "reaction.instead_of_filler", "turn.blank_completion.marker", "reaction.allowed_sets"
)
def test_thanks_are_answered_by_a_reaction_and_the_next_turn_knows_of_it(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    model.will(calls("react", emoji="👍"))
    thanks = server.user_writes(OWNER, "thanks!")
    (call,) = server.called("setMessageReaction", 1)
    assert (call.chat, call.parameters["message_id"]) == (OWNER, thanks)
    assert "👍" in json.dumps(call.parameters["reaction"], ensure_ascii=False)
    assert offered(model)["react"]["properties"]["emoji"]["enum"] == list(TELEGRAM_REACTIONS.names)
    all_delivered(home, 1)
    model.will(Say(text="Yes."))
    server.user_writes(OWNER, "did you see that?")
    assert [shown.text for shown in server.sent(1)] == ["Yes."]
    said = json.dumps(model.requests[-1].body["messages"], ensure_ascii=False)
    assert "You answered the message above with the reaction 👍" in said
    assert len(model.requests) == 2


def test_a_reaction_that_a_chat_does_not_allow_becomes_words(
    daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    server.fault("setMessageReaction", status=400, description="Bad Request: REACTION_INVALID")
    model.will(calls("react", emoji="👍"), Say(text="You are welcome."))
    server.user_writes(OWNER, "thanks!")
    assert [shown.text for shown in server.sent(1)] == ["You are welcome."]


@pytest.mark.requirement("effects.send_is_effect_and_part", "deliver.repeat_is_marked")
def test_a_death_between_commit_and_upload_delivers_the_file_once_and_marked(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    server.fault("sendDocument", hang=math.inf, times=1)
    model.will(calls("send_attachment", path="chart.png", caption="Sales"))
    server.user_writes(OWNER, "send me the chart")
    until(lambda: home.rows("SELECT state FROM outbox") == [("sending",)], what="the commit")
    daemon.kill()
    server.clear_faults()
    home.daemon().ready()
    file, notice = server.sent(2)
    assert file.file is not None
    assert (file.file.kind, file.file.content) == ("document", PNG)
    assert file.text == "(possibly sent before)\nSales"
    assert notice.text == wording.PAUSED
    assert len([one for one in server.sent() if one.file is not None]) == 1
    assert len(model.requests) == 1


def test_a_death_after_a_reaction_runs_the_turn_again_and_one_reaction_stands(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    server.fault("setMessageReaction", hang=math.inf, times=1)
    model.will(calls("react", emoji="👀"), calls("react", emoji="👍"))
    server.user_writes(OWNER, "thanks!")
    until(lambda: home.rows("SELECT state FROM outbox") == [("sending",)], what="the commit")
    daemon.kill()
    server.clear_faults()
    home.daemon().ready()
    all_delivered(home, 2)
    answered = [call for call in server.called("setMessageReaction") if call.status == 200]
    assert "👍" in json.dumps(answered[-1].parameters["reaction"], ensure_ascii=False)
    assert server.sent() == []
    assert home.rows("SELECT outcome FROM turns") == [("completed",)]


@pytest.mark.requirement("reaction.allowed_sets", "reaction.offered_where_supported")
def test_on_slack_reactions_are_names(home: FermixHome, model: StrictServer) -> None:
    with slack_server() as slack:
        configure_slack(home, model, slack)
        daemon = home.daemon().ready()
        listens(home)
        model.will(calls("react", emoji="tada"))
        thanks = Caller(daemon, slack).writes("it works, thanks")
        until(lambda: slack.world.reactions, what="the reaction")
        assert slack.world.reactions == {("D0OWN", thanks["ts"]): ["tada"]}
        assert offered(model)["react"]["properties"]["emoji"]["enum"] == list(SLACK_REACTIONS.names)
        all_delivered(home, 1)
        assert slack.shown() == []


@pytest.mark.requirement("reaction.cli_answers_in_text", "reaction.offered_where_supported")
def test_at_a_terminal_nobody_reacts(home: FermixHome, model: StrictServer) -> None:
    home.use(model.base_url)
    model.will(Say(text="You are welcome."))
    assert home.fermix("ask", "thanks!").out == "You are welcome.\n"
    assert "react" not in offered(model)
    assert "one brief" in model.requests[-1].body["messages"][0]["content"]
