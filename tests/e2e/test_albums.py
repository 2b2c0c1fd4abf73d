"""Albums of Telegram through a real daemon: in the order of their pictures, whatever comes first or dies."""

from collections.abc import Iterator

import pytest

from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.e2e.harness.homes import Daemon, FermixHome, until
from tests.e2e.test_pictures import OWNER, TOKEN, configure, said
from tests.unit.infrastructure.pictures.files import saved, scene


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with telegram_server(token=TOKEN) as opened:
        yield opened


@pytest.fixture
def daemon(home: FermixHome, model: StrictServer, server: TelegramServer) -> Daemon:
    configure(home, model, server, vision=True)
    return home.daemon().ready()


def sends(server: TelegramServer, number: int, caption: str = "") -> None:
    """The owner's picture of that number, whose width tells which one it is."""
    width = number - 60
    content = saved(scene(width, 40), "PNG")
    file = server.add_file(content, f"photos/file_{number}.jpg")
    size = {"file_id": file, "file_unique_id": file, "width": width, "height": 40, "file_size": len(content)}
    words = {"caption": caption} if caption else {}
    server.user_writes(
        OWNER, raw={"message_id": number, "text": None, "photo": [size], "media_group_id": "g1", **words}
    )


def widths(model: StrictServer) -> list[int]:
    (request,) = model.requests
    return [int.from_bytes(picture[16:20], "big") for picture in request.pictures]


@pytest.mark.usefixtures("daemon")
@pytest.mark.requirement("media.album.is_one_turn")
def test_pictures_that_come_out_of_order_are_shown_in_order_with_the_words_of_all(
    server: TelegramServer, model: StrictServer
) -> None:
    sends(server, 102, "before")
    sends(server, 101)
    sends(server, 103, "after")
    server.sent(1)
    assert widths(model) == [41, 42, 43]
    assert said(model) == ["before\n\nafter"]


def test_an_album_is_whole_after_a_death_while_more_of_it_was_waited_for(
    home: FermixHome, daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    config = home.path / "config.toml"
    assert daemon.terminate() == 0
    config.write_text(config.read_text().replace("album_debounce_ms = 300", "album_debounce_ms = 5000"))
    first = home.daemon().ready()
    sends(server, 101, "before")
    sends(server, 102)
    until(lambda: home.rows("SELECT count(*) FROM messages") == [(2,)], what="the admission of two")
    first.kill()
    assert model.requests == []
    sends(server, 103, "after")
    home.daemon().ready()
    server.sent(1, seconds=20)
    assert widths(model) == [41, 42, 43]
    assert said(model) == ["before\n\nafter"]
