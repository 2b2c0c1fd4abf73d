"""A real daemon with the real Discord client, over a fake REST and gateway and a fake model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from fermix.domain import approval_wording
from fermix.testing.servers.discord_api.people_side import ANN, CHAT, person
from fermix.testing.servers.discord_api.server import DiscordServer, discord_server
from fermix.testing.servers.discord_api.world import APPLICATION, BOT, GENERAL
from fermix.testing.servers.openai_strict.script import Hang, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import Daemon, FermixHome, until
from tests.e2e.test_approvals import asks_for, granted, reads

TOKEN = "OTAwMDAwMDAwMDAwMDAwMDAx.GaBcDe.secret-token-of-a-bot-0001"
SECRET = "secret-token"
STRANGER = person("700000000000000666", "mallory")


@pytest.fixture
def server() -> Iterator[DiscordServer]:
    with discord_server(token=TOKEN) as opened:
        yield opened


def configure(home: FermixHome, model: StrictServer, server: DiscordServer) -> None:
    home.use(
        model.base_url,
        core='[fermix_core.telemetry]\nlog_level = "debug"\n',
        more=(
            "[fermix_channels.discord]\nenabled = true\n"
            f'bot_token = "{TOKEN}"\nowner_user_id = {ANN}\n'
            f'api_base_url = "{server.api_base_url}"\n'
        ),
    )


@pytest.fixture
def daemon(home: FermixHome, model: StrictServer, server: DiscordServer) -> Iterator[Daemon]:
    configure(home, model, server)
    started = home.daemon().ready()
    server.online(seconds=15)
    yield started
    assert SECRET not in home.log() + started.printed()


def health(daemon: Daemon) -> dict[str, Any]:
    body = httpx.get(f"http://127.0.0.1:{daemon.http_port()}/health/ready", timeout=5).content
    found: list[dict[str, Any]] = orjson.loads(body)["channels"]
    return next(one for one in found if one["name"] == "discord")


def test_a_question_is_answered(daemon: Daemon, server: DiscordServer, model: StrictServer) -> None:
    model.will(Say(text="**Hello** @everyone"))
    asked = server.user_writes("hi")
    (reply,) = server.sent(1)
    assert (reply.chat, reply.text, reply.reply_to) == (CHAT, "**Hello** @everyone", asked)
    assert not reply.pings


def test_in_a_server_only_what_names_us_is_answered(
    daemon: Daemon, server: DiscordServer, model: StrictServer
) -> None:
    model.will(Say(text="roses"))
    server.user_writes("what grows here?", chat=GENERAL)
    server.user_writes(f"<@{BOT}> what grows here?", chat=GENERAL)
    (reply,) = server.sent(1)
    assert (reply.chat, reply.text) == (GENERAL, "roses")
    (asked,) = [entry for entry in model.requests[0].body["messages"] if entry["role"] == "user"]
    assert str(asked["content"]).endswith("what grows here?")


@pytest.mark.requirement("deliver.text_limits")
def test_a_long_answer_arrives_whole_in_pieces_that_discord_takes(
    daemon: Daemon, server: DiscordServer, model: StrictServer
) -> None:
    lines = [f"line_{number} = compute({number})" for number in range(300)]
    model.will(Say(text="Here:\n```py\n" + "\n".join(lines) + "\n```\nDone."))
    server.user_writes("go")
    shown = server.sent(4)
    said = "\n".join(one.text for one in shown).split("\n")
    assert all(len(one.text) <= 2000 and one.text.count("```") % 2 == 0 for one in shown)
    assert [line for line in said if line.startswith("line_")] == lines


def test_a_stranger_gets_nothing_and_the_log_names_their_id(
    daemon: Daemon, home: FermixHome, server: DiscordServer
) -> None:
    server.user_writes("let me in", user=STRANGER, chat="500000000000000666")
    command = server.user_commands("whoami", chat="500000000000000666", user=STRANGER)
    server.user_writes("/whoami")
    (reply,) = server.sent(1)
    assert ANN in reply.text
    until(lambda: STRANGER["id"] in home.log(), what="the warning")
    assert "let me in" not in home.log()
    assert server.answers[command] == {}


def test_a_command_from_discords_own_list_is_answered_at_once_and_carried_out(
    daemon: Daemon, server: DiscordServer, model: StrictServer
) -> None:
    listed = {command["name"] for command in until(lambda: server.commands, what="the commands")}
    assert {"help", "whoami", "new", "stop"} <= listed
    model.will(Hang(stage="headers"))
    server.user_writes("slow")
    until(lambda: len(model.requests) == 1, what="the question")
    asked = server.user_commands("whoami", chat=GENERAL)
    answer = server.answer(asked, seconds=3.0)
    assert answer["data"]["flags"] == 64
    (reply,) = server.sent(1)
    assert (reply.chat, reply.reply_to) == (GENERAL, None)
    assert ANN in reply.text


@pytest.mark.requirement("approval.button.stranger_is_refused", "approval.button.only_for_agent_requests")
def test_only_the_owners_tap_grants_a_folder(
    daemon: Daemon, home: FermixHome, server: DiscordServer, model: StrictServer, tmp_path: Path
) -> None:
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("the meeting is at nine")
    model.will(asks_for(folder), Say(text="I wait."), reads(folder / "notes.txt"), Say(text="At nine."))
    server.user_writes(f"<@{BOT}> when is the meeting?", chat=GENERAL)
    prompt, _waiting = server.sent(2)
    (button,) = prompt.buttons
    refused = server.user_taps(prompt.id, button, chat=GENERAL, user=STRANGER)
    answer = server.answer(refused)
    assert answer["data"] == {
        "content": approval_wording.TAP_REFUSED,
        "flags": 64,
        "allowed_mentions": {"parse": []},
    }
    assert granted(home) == []
    assert server.sent(2)[0].buttons == (button,)
    assert home.rows("SELECT count(*) FROM messages WHERE key LIKE 'tap:%'") == [(0,)]
    taken = server.user_taps(prompt.id, button, chat=GENERAL)
    assert server.answer(taken) == {"type": 6}
    until(lambda: granted(home) == [str(folder)], what="the grant")
    until(lambda: not server.sent(2)[0].buttons, what="the end of the button")
    until(lambda: server.sent(4)[-1].text == "At nine.", what="the answer")


@pytest.mark.requirement("channel.discord.catch_up", "channel.discord.enforced_nonce")
def test_what_was_written_while_nobody_listened_is_answered_after_the_start(
    home: FermixHome, server: DiscordServer, model: StrictServer
) -> None:
    configure(home, model, server)
    model.will(Say(text="one"), Say(text="two"), Say(text="three"))
    first = home.daemon().ready()
    server.online(seconds=15)
    server.user_writes("first")
    server.sent(1)
    first.kill()
    server.forgets_sessions()
    server.user_writes("second")
    server.user_writes("third")
    second = home.daemon().ready()
    assert [one.text for one in server.sent(3, seconds=15)] == ["one", "two", "three"]
    bodies = [call.body for call in server.called("POST messages")]
    assert all(body["enforce_nonce"] and 0 < len(body["nonce"]) <= 25 for body in bodies)
    assert second.terminate() == 0
    assert SECRET not in home.log()


def test_a_refused_token_is_told_once_and_nobody_knocks_again(
    home: FermixHome, server: DiscordServer, model: StrictServer
) -> None:
    configure(home, model, server)
    server.revoke_token()
    daemon = home.daemon().ready()
    until(lambda: health(daemon)["status"] == "degraded", what="a degraded channel")
    assert "developer portal" in str(health(daemon))
    until(lambda: "discord.waits_for_restart" in home.log(), what="the second run")
    assert len(server.called("GET users")) == 1
    assert daemon.terminate() == 0
    assert SECRET not in home.log()


def test_a_missing_intent_is_told_in_health(home: FermixHome, model: StrictServer) -> None:
    with discord_server(token=TOKEN, allowed_intents=1 | 1 << 9 | 1 << 12) as server:
        configure(home, model, server)
        daemon = home.daemon().ready()
        until(lambda: health(daemon)["status"] == "degraded", what="a degraded channel")
        assert "Message Content Intent" in str(health(daemon))
        until(lambda: "discord.waits_for_restart" in home.log(), what="the second run")
        assert len(server.opened(1)) == 1
        assert daemon.terminate() == 0


def test_the_list_of_commands_is_left_alone_when_it_is_right(
    home: FermixHome, server: DiscordServer, model: StrictServer
) -> None:
    configure(home, model, server)
    for _ in range(2):
        daemon = home.daemon().ready()
        server.online(seconds=15)
        until(lambda: server.commands, what="the commands")
        assert daemon.terminate() == 0
    assert [call.path for call in server.called("PUT commands")] == [f"/applications/{APPLICATION}/commands"]


@pytest.mark.requirement("approval.button.only_for_agent_requests")
def test_a_typed_proposal_has_no_button(daemon: Daemon, server: DiscordServer, tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    server.user_writes(f"/grant path {folder}")
    (proposal,) = server.sent(1)
    assert "/confirm" in proposal.text
    assert proposal.buttons == ()


@pytest.mark.requirement("deliver.unmarked_repeats")
def test_a_reply_whose_answer_was_lost_is_one_message_without_a_mark(
    daemon: Daemon, home: FermixHome, server: DiscordServer, model: StrictServer
) -> None:
    server.fault("POST messages", drop="after")
    model.will(Say(text="once and for all"))
    server.user_writes("hi")
    until(lambda: home.rows("SELECT 1 FROM outbox WHERE state='sent'"), what="the end of the reply")
    assert len(server.called("POST messages")) == 2
    assert [one.text for one in server.sent(1)] == ["once and for all"]
