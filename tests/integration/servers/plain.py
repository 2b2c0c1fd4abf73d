"""The plainest client there is: one request a connection, by the standard library, reading what comes back."""

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

SECONDS = 15.0
BOUNDARY = "----a-boundary-of-ours"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    url: str,
    *,
    method: str | None = None,
    data: bytes | None = None,
    json_body: object = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One request; a POST when it has a body."""
    address = urlsplit(url)
    sent = dict(headers or {})
    if json_body is not None:
        data = json.dumps(json_body).encode()
        sent.setdefault("Content-Type", "application/json")
    connection = http.client.HTTPConnection(address.netloc, timeout=SECONDS)
    try:
        where = address.path + (f"?{address.query}" if address.query else "")
        connection.request(method or ("GET" if data is None else "POST"), where, body=data, headers=sent)
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(status=answer.status, headers=named, body=answer.read())
    finally:
        connection.close()


def form(
    values: Mapping[str, str], file: tuple[str, str, str, bytes] | None = None
) -> tuple[bytes, dict[str, str]]:
    """A form of several parts, and its header; a file is its field, name, type and content."""
    pieces = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in values.items()
    ]
    if file is not None:
        field, name, mime_type, content = file
        head = (
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n'
            f"Content-Type: {mime_type}\r\n\r\n"
        )
        pieces += [head.encode(), content, b"\r\n"]
    body = b"".join([*pieces, f"--{BOUNDARY}--\r\n".encode()])
    return body, {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
