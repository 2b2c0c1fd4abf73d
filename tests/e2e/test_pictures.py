"""Pictures through a real daemon: from Telegram to what a provider sees, and the conversation that goes on."""

from collections.abc import Iterator

import pytest

from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.e2e.harness.homes import API_KEY, Daemon, FermixHome, until
from tests.unit.infrastructure.pictures.files import photographed, saved, scene

TOKEN = "999001:AAtesttokentesttokentesttoken00001"
OWNER = 1001
JPEG, PNG = b"\xff\xd8\xff", b"\x89PNG"


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with telegram_server(token=TOKEN) as opened:
        yield opened


@pytest.fixture
def model(shared_model: StrictServer) -> Iterator[StrictServer]:
    shared_model.script.clear()
    shared_model.requests.clear()
    shared_model.sees = True
    yield shared_model
    shared_model.sees = True


def configure(home: FermixHome, model: StrictServer, server: TelegramServer, *, vision: bool) -> None:
    home.configure(
        "[fermix_core.providers.strict]\n"
        f'base_url = "{model.base_url}"\napi_key = "{API_KEY}"\ndefault_model = "strict-1"\n'
        f"vision = {str(vision).lower()}\n"
        "[fermix_web]\nport = 0\n"
        "[fermix_channels.telegram]\n"
        f'bot_token = "{TOKEN}"\nowner_user_id = {OWNER}\napi_base_url = "{server.api_base_url}"\n'
        "album_debounce_ms = 300\n"
    )


@pytest.fixture
def daemon(home: FermixHome, model: StrictServer, server: TelegramServer) -> Daemon:
    configure(home, model, server, vision=True)
    return home.daemon().ready()


def sends(server: TelegramServer, content: bytes, caption: str = "", *, album: str | None = None) -> None:
    number = server.add_file(content, f"photos/file_{len(content)}.jpg")
    size = {"file_id": number, "file_unique_id": number, "width": 40, "height": 40, "file_size": len(content)}
    group = {} if album is None else {"media_group_id": album}
    server.user_writes(
        OWNER, raw={"text": None, "photo": [size], **({"caption": caption} if caption else {}), **group}
    )


def said(model: StrictServer) -> list[str]:
    """The words of the newest request that are a person's."""
    contents = [one["content"] for one in model.requests[-1].body["messages"] if one["role"] == "user"]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    words = [part["text"] for part in parts if part["type"] == "text"]
    return [*(content for content in contents if isinstance(content, str)), *words]


@pytest.mark.requirement("media.image.attached_as_content")
def test_a_photograph_reaches_the_model_and_a_later_question_can_be_about_it(
    daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    sends(server, photographed(scene(3000, 2000), 6), "What is this?")
    (first,) = server.sent(1)
    assert first.text == "You said: What is this?"
    (seen,) = model.requests[-1].pictures
    assert seen.startswith(JPEG)
    assert b"Exif" not in seen
    server.user_writes(OWNER, "And the left corner?")
    server.sent(2)
    assert model.requests[-1].pictures == [seen]
    server.user_writes(OWNER, "/new")
    server.sent(3)
    server.user_writes(OWNER, "And now?")
    server.sent(4)
    assert model.requests[-1].pictures == []


def test_an_album_is_one_turn_with_all_its_pictures_in_their_order(
    daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    for width in (40, 50, 60):
        sends(server, saved(scene(width, 40), "PNG"), "three" if width == 40 else "", album="g1")
    server.sent(1)
    (request,) = model.requests
    assert [int.from_bytes(picture[16:20], "big") for picture in request.pictures] == [40, 50, 60]


def test_a_picture_is_remembered_across_a_restart_with_its_conversation(
    home: FermixHome, daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    sends(server, saved(scene(40, 40), "PNG"), "look")
    server.sent(1)
    before = model.requests[-1].pictures
    until(lambda: home.rows("SELECT 1 FROM outbox WHERE state='sent'"), what="the reply's end")
    daemon.kill()
    home.daemon().ready()
    server.user_writes(OWNER, "and?")
    server.sent(2)
    assert model.requests[-1].pictures == before
    assert before[0].startswith(PNG)


def test_a_picture_that_the_provider_refuses_does_not_poison_the_conversation(
    daemon: Daemon, server: TelegramServer, model: StrictServer
) -> None:
    model.sees = False
    sends(server, saved(scene(40, 40), "PNG"), "What is this?")
    (refused,) = server.sent(1)
    assert refused.text.startswith("The model “strict-1” at strict cannot see pictures (")
    server.user_writes(OWNER, "hello")
    _, answered = server.sent(2)
    assert answered.text.endswith("hello")
    assert [len(request.pictures) for request in model.requests] == [1, 0]


@pytest.mark.requirement("media.image.model_without_vision")
def test_a_model_without_vision_fails_the_turn_with_its_name_and_the_remedy(
    home: FermixHome, server: TelegramServer, model: StrictServer
) -> None:
    configure(home, model, server, vision=False)
    home.daemon().ready()
    sends(server, saved(scene(40, 40), "PNG"), "What is this?")
    (told,) = server.sent(1)
    assert told.text.startswith(
        "The model “strict-1” at strict cannot see pictures. Choose a model with vision"
    )
    assert model.requests == []
    server.user_writes(OWNER, "hello")
    _, answered = server.sent(2)
    assert answered.text.endswith("hello")
    assert [request.pictures for request in model.requests] == [[]]
