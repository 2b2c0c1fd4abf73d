"""The strict server itself: pictures that no provider would take are refused by it too."""

import base64
from typing import Any

import httpx
import pytest

from fermix.testing.sample_pictures import png
from fermix.testing.servers.openai_strict.rules import LARGEST_PICTURE
from fermix.testing.servers.openai_strict.server import StrictServer, strict_server

RIGHT = png(1, 2, 3)
HEADERS = {"Authorization": "Bearer test-key"}


def url(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def chat(part: Any) -> tuple[str, dict[str, Any]]:
    message = {"role": "user", "content": [part]}
    return "/chat/completions", {"model": "strict-1", "stream": True, "messages": [message]}


def responses(part: Any) -> tuple[str, dict[str, Any]]:
    item = {"type": "message", "role": "user", "content": [part]}
    return "/responses", {"model": "strict-1", "stream": True, "store": False, "input": [item]}


def post(server: StrictServer, request: tuple[str, dict[str, Any]]) -> httpx.Response:
    path, body = request
    return httpx.post(server.base_url + path, json=body, headers=HEADERS, timeout=10)


def requests_with(data_url: object) -> list[tuple[str, dict[str, Any]]]:
    return [
        chat({"type": "image_url", "image_url": {"url": data_url}}),
        responses({"type": "input_image", "image_url": data_url}),
    ]


def test_a_right_picture_is_taken_on_both_wires_and_can_be_looked_at() -> None:
    with strict_server() as server:
        for request in requests_with(url(RIGHT)):
            assert post(server, request).status_code == 200
    assert [request.pictures for request in server.requests] == [[RIGHT], [RIGHT]]


@pytest.mark.parametrize(
    ("data_url", "reason"),
    [
        ("https://example.invalid/cat.png", "must be a data URL"),
        (url(RIGHT, "image/svg+xml"), "must be a data URL"),
        (url(RIGHT, "application/octet-stream"), "must be a data URL"),
        ("data:image/png;base64,", "must be a data URL"),
        ("data:image/png;base64,AAA", "is no base64"),
        (url(RIGHT, "image/jpeg"), "is no image/jpeg"),
        (url(RIGHT[:-20]), "is no image/png"),
        (url(bytes(LARGEST_PICTURE)), "exceeds"),
        (None, "must be a data URL"),
    ],
)
def test_a_wrong_picture_is_refused_with_its_place_and_the_reason(data_url: object, reason: str) -> None:
    with strict_server() as server:
        for request in requests_with(data_url):
            refused = post(server, request)
            assert refused.status_code == 400
            assert "body." in refused.text
            assert reason in refused.text


@pytest.mark.parametrize(
    "request_",
    [
        chat({"type": "input_image", "image_url": url(RIGHT)}),
        responses({"type": "image_url", "image_url": {"url": url(RIGHT)}}),
        chat({"type": "image_url", "image_url": {"url": url(RIGHT), "detail": "best"}}),
        responses({"type": "input_image", "image_url": url(RIGHT), "detail": "best"}),
        chat({"type": "text", "text": ""}),
    ],
)
def test_a_part_of_the_other_wire_or_with_an_unknown_detail_is_refused(
    request_: tuple[str, dict[str, Any]],
) -> None:
    with strict_server() as server:
        assert post(server, request_).status_code == 400


def test_a_server_that_sees_nothing_refuses_pictures_and_answers_words() -> None:
    with strict_server() as server:
        server.sees = False
        for request in requests_with(url(RIGHT)):
            assert "image_url is only supported by certain models" in post(server, request).text
        assert post(server, chat({"type": "text", "text": "hello"})).status_code == 200
