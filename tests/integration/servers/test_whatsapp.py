"""The fake Cloud API refuses what Meta refuses, with its codes; asked by the plainest client."""

from collections.abc import Iterator
from typing import Any

import pytest

from fermix.testing.servers.whatsapp_api.server import (
    ACCESS_TOKEN,
    PHONE_NUMBER_ID,
    WhatsAppServer,
    whatsapp_server,
)
from fermix.testing.servers.whatsapp_api.world import LARGEST, LARGEST_DOCUMENT, MAX_CAPTION, MAX_TEXT
from tests.integration.servers.plain import Answer, ask, form

OLGA = "15551230001"
AUTHORISED = {"Authorization": f"Bearer {ACCESS_TOKEN}"}


@pytest.fixture
def server() -> Iterator[WhatsAppServer]:
    with whatsapp_server() as opened:
        yield opened


def send(server: WhatsAppServer, kind: str, content: Any, **more: Any) -> Answer:
    body = {"messaging_product": "whatsapp", "to": OLGA, "type": kind, kind: content, **more}
    return ask(f"{server.root}/v22.0/{PHONE_NUMBER_ID}/messages", json_body=body, headers=AUTHORISED)


def upload(server: WhatsAppServer, mime_type: str, content: bytes) -> Answer:
    body, headers = form(
        {"messaging_product": "whatsapp", "type": mime_type}, ("file", "f", mime_type, content)
    )
    where = f"{server.root}/v22.0/{PHONE_NUMBER_ID}/media"
    return ask(where, data=body, headers={**headers, **AUTHORISED})


def code(answer: Answer) -> tuple[int, int]:
    return answer.status, answer.json["error"]["code"]


def test_the_longest_text_is_shown_and_no_longer_one(server: WhatsAppServer) -> None:
    assert send(server, "text", {"body": "x" * MAX_TEXT}).status == 200
    assert code(send(server, "text", {"body": "x" * (MAX_TEXT + 1)})) == (400, 100)
    assert code(send(server, "text", {"body": " "})) == (400, 100)
    assert len(server.sent(1)) == 1


@pytest.mark.parametrize(
    ("kind", "content", "more", "refusal"),
    [
        ("letter", {"body": "x"}, {}, (400, 100)),
        ("text", "x", {}, (400, 100)),
        ("text", {"body": "x"}, {"messaging_product": "letters"}, (400, 100)),
        ("text", {"body": "x"}, {"to": None}, (400, 100)),
        ("reaction", {"message_id": "wamid.NOBODY", "emoji": "👍"}, {}, (400, 131009)),
        ("image", {"id": "1"}, {}, (400, 131009)),
    ],
)
def test_what_is_wrong_is_refused_with_metas_code(
    server: WhatsAppServer, kind: str, content: Any, more: dict[str, Any], refusal: tuple[int, int]
) -> None:
    assert code(send(server, kind, content, **more)) == refusal
    assert server.sent(0) == []


def test_a_number_that_is_not_on_whatsapp_is_refused(server: WhatsAppServer) -> None:
    server.world.unknown_numbers.add(OLGA)
    assert code(send(server, "text", {"body": "x"})) == (400, 131030)


@pytest.mark.parametrize(
    "path", [f"{PHONE_NUMBER_ID}/messages", PHONE_NUMBER_ID, "900000", "download/900000"]
)
def test_a_bad_token_is_let_in_nowhere(server: WhatsAppServer, path: str) -> None:
    server.world.store(b"secret", "text/plain")
    for headers in ({}, {"Authorization": "Bearer another"}):
        refused = ask(f"{server.root}/v22.0/{path}", headers=headers)
        assert code(refused) == (401, 190)
        assert b"secret" not in refused.body


@pytest.mark.parametrize(
    ("mime_type", "cap"),
    [
        ("image/jpeg", LARGEST["image"]),
        ("audio/ogg", LARGEST["audio"]),
        ("video/mp4", LARGEST["video"]),
        ("application/pdf", LARGEST_DOCUMENT),
    ],
)
def test_the_largest_file_is_taken_and_no_larger_one(
    server: WhatsAppServer, mime_type: str, cap: int
) -> None:
    assert upload(server, mime_type, bytes(cap)).status == 200
    assert code(upload(server, mime_type, bytes(cap + 1))) == (400, 131053)


def test_an_upload_that_is_no_form_is_refused(server: WhatsAppServer) -> None:
    where = f"{server.root}/v22.0/{PHONE_NUMBER_ID}/media"
    assert code(ask(where, data=b"data", headers=AUTHORISED)) == (400, 100)
    assert code(ask(where, data=b"data", headers={**AUTHORISED, "Content-Type": "multipart/form-data"})) == (
        400,
        100,
    )


def test_captions_and_kinds_of_pictures_are_checked(server: WhatsAppServer) -> None:
    picture = upload(server, "image/png", b"png").json["id"]
    moving = upload(server, "image/gif", b"gif").json["id"]
    voice = upload(server, "audio/ogg", b"ogg").json["id"]
    assert send(server, "image", {"id": picture, "caption": "c" * MAX_CAPTION}).status == 200
    assert code(send(server, "image", {"id": picture, "caption": "c" * (MAX_CAPTION + 1)})) == (400, 131009)
    assert code(send(server, "image", {"id": moving})) == (400, 131053)
    assert code(send(server, "audio", {"id": voice, "caption": "c"})) == (400, 100)


def test_a_file_is_had_in_two_steps_and_both_want_the_token(server: WhatsAppServer) -> None:
    media = server.world.store(b"picture", "image/png")
    told = ask(f"{server.root}/v22.0/{media}", headers=AUTHORISED).json
    assert (told["mime_type"], told["file_size"]) == ("image/png", 7)
    assert ask(told["url"], headers=AUTHORISED).body == b"picture"
    assert code(ask(told["url"])) == (401, 190)
    assert code(ask(f"{server.root}/v22.0/123", headers=AUTHORISED)) == (400, 100)


def test_a_redirect_and_a_broken_line_are_what_they_are(server: WhatsAppServer) -> None:
    server.fault("messages", to="http://127.0.0.1:1/elsewhere")
    redirected = send(server, "text", {"body": "x"})
    assert (redirected.status, redirected.headers["location"]) == (302, "http://127.0.0.1:1/elsewhere")
    for drop, shown in (("before", 0), ("after", 1)):
        server.fault("messages", drop=drop)
        with pytest.raises(ConnectionError):
            send(server, "text", {"body": "x"})
        assert len(server.sent(0)) == shown
    server.fault("messages", status=400, code=130429, retry_after=7)
    limited = send(server, "text", {"body": "x"})
    assert (code(limited), limited.headers["retry-after"]) == ((400, 130429), "7")
