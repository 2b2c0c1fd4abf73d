"""A real daemon that shows its answers on Telegram while a slow model writes them."""

import math
from collections.abc import Iterator

import pytest

from fermix.domain import wording
from fermix.testing.servers.openai_strict.script import Frames, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.telegram_api.records import Shown
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.e2e.harness.homes import Daemon, FermixHome, until

TOKEN = "999001:AAtesttokentesttokentesttoken00001"
OWNER = 1001
GROUP = -100700
SLOW = " ".join(f"word{number}" for number in range(40))
ANSWER = Say(text=SLOW, piece=10, pause=0.12)
"""About 280 characters in three and a half seconds."""


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with telegram_server(token=TOKEN) as opened:
        yield opened


def configure(home: FermixHome, model: StrictServer, server: TelegramServer, *, core: str = "") -> None:
    home.use(
        model.base_url,
        core=core,
        more=(
            "[fermix_channels.telegram]\n"
            f'bot_token = "{TOKEN}"\nowner_user_id = {OWNER}\nstreaming = "draft"\n'
            f'api_base_url = "{server.api_base_url}"\n'
        ),
    )


@pytest.fixture
def daemon(home: FermixHome, model: StrictServer, server: TelegramServer) -> Daemon:
    configure(home, model, server)
    return home.daemon().ready()


def ended(server: TelegramServer, home: FermixHome, *, text: str = SLOW) -> Shown:
    """The one message of the chat, once it reads as the whole answer and nothing is to be sent any more."""

    def delivered() -> bool:
        return home.rows("SELECT state FROM outbox") == [("sent",)]

    until(delivered, what="the whole answer")
    (shown,) = server.sent()
    assert shown.text == text
    return shown


def chunk(text: str) -> str:
    """One event of a model's stream that writes these words."""
    return f'data: {{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}\n\n'


def test_in_a_group_the_answer_points_at_its_question(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    model.will(ANSWER)
    asked = server.user_writes(GROUP, "hi", thread=77)
    shown = ended(server, home)
    assert (shown.thread, shown.reply_to, shown.previews) == (77, asked, False)


def test_a_stop_of_the_daemon_in_mid_stream_gives_the_turn_back_and_leaves_one_message(
    home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    configure(home, model, server, core="[fermix_core.queue]\ndrain_seconds = 0\n")
    daemon = home.daemon().ready()
    model.will(ANSWER, ANSWER)
    server.user_writes(OWNER, "hi")
    server.sent(1)
    assert daemon.terminate() == 0
    assert home.rows("SELECT state, attempts FROM turns") == [("queued", 0)]
    home.daemon().ready()
    ended(server, home)
    assert len(model.requests) == 2


def test_a_provider_that_breaks_off_leaves_an_apology_and_no_draft(
    daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    model.will(Frames(frames=(chunk("The answer is on its way, and it is long"),), end="close"))
    server.user_writes(OWNER, "hi")
    server.called("deleteMessage", 1)
    (apology,) = server.sent(1)
    assert "The answer" not in apology.text


def test_a_draft_that_somebody_deleted_is_followed_by_the_answer(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    model.will(ANSWER)
    server.user_writes(OWNER, "hi")
    server.sent(1)
    server.fault(
        "editMessageText", status=400, description="Bad Request: message to edit not found", times=99
    )
    shown = ended(server, home)
    assert shown.edits == 0
    assert len(server.called("sendMessage")) == 2


def test_an_edit_that_changes_nothing_ends_the_answer_and_posts_no_second_one(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    model.will(ANSWER)
    same = "Bad Request: message is not modified: specified new message content is exactly the same"
    server.fault("editMessageText", status=400, description=same, times=math.inf)
    server.user_writes(OWNER, "hi")
    until(lambda: home.rows("SELECT state FROM outbox") == [("sent",)], what="the end of the answer")
    assert len(server.called("sendMessage")) == 1
    assert home.rows("SELECT outcome FROM turns") == [("completed",)]
    server.clear_faults()
    server.user_writes(OWNER, "and?")
    server.sent(2)
    kept = [entry["content"] for entry in model.requests[-1].body["messages"] if entry["role"] == "assistant"]
    assert kept == [SLOW]


@pytest.mark.requirement("streaming.off_by_default")
def test_without_the_setting_nothing_is_shown_before_the_answer(
    home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    configure(home, model, server)
    path = home.path / "config.toml"
    path.write_text(path.read_text().replace('streaming = "draft"\n', ""))
    home.daemon().ready()
    model.will(ANSWER)
    server.user_writes(OWNER, "hi")
    (reply,) = server.sent(1, seconds=15)
    assert (reply.text, reply.edits) == (SLOW, 0)


@pytest.mark.requirement("streaming.any_streaming_provider")
@pytest.mark.parametrize("wire", ["chat_completions", "responses"])
@pytest.mark.parametrize("mode", ["draft", "block"])
def test_both_modes_work_over_every_wire(
    home: FermixHome, server: TelegramServer, model: StrictServer, wire: str, mode: str
) -> None:
    configure(home, model, server)
    path = home.path / "config.toml"
    text = path.read_text().replace('"draft"', f'"{mode}"')
    path.write_text(text.replace("default_model", f'wire = "{wire}"\ndefault_model'))
    home.daemon().ready()
    model.will(Say(text="word " * 400, piece=100, pause=0.1))
    server.user_writes(OWNER, "hi")
    server.sent(1)
    assert home.rows("SELECT state FROM turns") == [("started",)]
    until(lambda: home.rows("SELECT state FROM turns") == [("settled",)], what="the end")
    until(lambda: not home.rows("SELECT 1 FROM outbox WHERE state<>'sent'"), what="the delivery")
    assert " ".join(one.text for one in server.sent()).split() == ["word"] * 400


def in_blocks(home: FermixHome, model: StrictServer, server: TelegramServer) -> Daemon:
    configure(home, model, server)
    path = home.path / "config.toml"
    path.write_text(path.read_text().replace('"draft"', '"block"'))
    return home.daemon().ready()


@pytest.mark.requirement("streaming.block.chunks")
def test_in_blocks_what_is_finished_arrives_while_the_rest_is_written(
    home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    in_blocks(home, model, server)
    text = "\n\n".join(f"Paragraph {number}. " + "word " * 90 for number in range(6))
    model.will(Say(text=text, piece=200, pause=0.15))
    server.user_writes(OWNER, "hi")
    (first,) = server.sent(1)
    assert 800 <= len(first.text) <= 1200
    until(lambda: home.rows("SELECT 1 FROM turns WHERE state='settled'"), what="the end")
    until(lambda: not home.rows("SELECT 1 FROM outbox WHERE state<>'sent'"), what="the delivery")
    shown = server.sent()
    assert len(shown) >= 3
    assert " ".join(one.text for one in shown).split() == text.split()
    assert server.called("editMessageText") == []


def test_a_kill_after_a_block_is_told_and_nothing_is_said_twice(
    home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    daemon = in_blocks(home, model, server)
    model.will(Frames(frames=(chunk("Only this sentence. "),), end="hang"))
    server.user_writes(OWNER, "hi")
    server.sent(1)
    until(lambda: home.rows("SELECT 1 FROM outbox WHERE state='sent'"), what="the block's end")
    daemon.kill()
    home.daemon().ready()
    block, told = server.sent(2)
    assert block.text.startswith("Only this")
    assert told.text == wording.CUT_OFF
