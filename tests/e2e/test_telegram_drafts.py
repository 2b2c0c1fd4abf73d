"""A real daemon that shows its answers on Telegram while a slow model writes them."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from fermix.domain import wording
from tests.e2e.harness.homes import Daemon, FermixHome, until
from tests.servers.openai_strict.script import Call, Frames, Say
from tests.servers.openai_strict.server import StrictServer
from tests.servers.telegram_api.records import Shown
from tests.servers.telegram_api.server import TelegramServer, telegram_server

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


def edits(server: TelegramServer) -> list[float]:
    return [call.at for call in server.called("editMessageText")]


@pytest.mark.requirement("streaming.draft.opens_and_edits", "streaming.draft.ends")
def test_an_answer_is_one_message_that_grows_once_a_second_and_ends_whole(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    model.will(ANSWER)
    server.user_writes(OWNER, "hi")
    (first,) = server.sent(1)
    assert 30 <= len(first.text) < len(SLOW)
    assert SLOW.startswith(first.text)
    shown = ended(server, home)
    assert len(server.called("sendMessage")) == 1
    written = [first.at, *edits(server)]
    assert len(written) >= 4
    assert all(later - earlier > 0.9 for earlier, later in pairwise(written[:-1]))
    assert len(edits(server)) - 1 <= shown.edits <= len(edits(server))
    assert home.rows("SELECT content FROM entries WHERE role='assistant'")[0][0].count(SLOW) == 1


def test_in_a_group_the_answer_points_at_its_question(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    model.will(ANSWER)
    asked = server.user_writes(GROUP, "hi", thread=77)
    shown = ended(server, home)
    assert (shown.thread, shown.reply_to, shown.previews) == (77, asked, False)


@pytest.mark.requirement("streaming.draft.ends")
def test_stop_removes_the_draft_and_nothing_comes_after_it(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    model.will(ANSWER)
    server.user_writes(OWNER, "hi")
    (draft,) = server.sent(1)
    server.user_writes(OWNER, "/stop")
    until(lambda: draft.message_id not in {one.message_id for one in server.sent()}, what="its removal")
    until(lambda: len(server.sent()) == 1, what="the reply to /stop")
    before = len(edits(server))
    model.will(Say(text="here"))
    server.user_writes(OWNER, "and now?")
    assert server.sent(2)[-1].text == "here"
    assert len(edits(server)) == before


@pytest.mark.requirement("recovery.draft_is_adopted")
def test_a_kill_in_mid_stream_leaves_one_message_with_the_whole_answer(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    model.will(ANSWER, ANSWER)
    server.user_writes(OWNER, "hi")
    server.called("editMessageText", 1)
    daemon.kill()
    (draft,) = server.sent()
    assert draft.text != SLOW
    home.daemon().ready()
    shown = ended(server, home)
    assert shown.message_id == draft.message_id
    assert len(server.called("sendMessage")) == 1
    assert len(model.requests) == 2


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


def test_what_is_said_before_a_tool_runs_is_replaced_by_the_answer(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    commentary = "Let me look into the folder, that takes a moment. " * 2
    model.will(
        Say(
            text=commentary,
            piece=20,
            pause=0.1,
            calls=(Call(id="c1", name="list_directory", arguments="{}"),),
        ),
        ANSWER,
    )
    server.user_writes(OWNER, "what is there?")
    (first,) = server.sent(1)
    assert commentary.startswith(first.text)
    assert ended(server, home).message_id == first.message_id


def test_a_long_answer_fills_its_draft_and_goes_on_in_another_message(
    daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    text = "long " * 1500
    model.will(Say(text=text, piece=500, pause=0.1))
    server.user_writes(OWNER, "hi")
    until(lambda: len(server.sent()) == 2, what="both parts")
    until(
        lambda: "".join(one.text for one in server.sent()).replace(" ", "") == "long" * 1500,
        what="all of it",
    )
    assert len(server.called("sendMessage")) == 2


def test_edits_that_are_refused_as_too_fast_do_not_hold_the_answer(
    daemon: Daemon, home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    model.will(ANSWER)
    server.user_writes(OWNER, "hi")
    server.sent(1)
    server.fault("editMessageText", retry_after=60)
    ended(server, home)
    refused, sealed = server.called("editMessageText")
    assert sealed.at - refused.at < 10


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
