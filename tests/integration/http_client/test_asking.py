"""One question, once: an answer whatever it is, or why there was none, and never an address in the words."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import anyio
import pytest

from fermix.infrastructure.http_client.asking import MAX_BYTES, NotReached, Question, Reply, ask

pytestmark = pytest.mark.anyio
SECRET = "secret-in-the-address"


@contextmanager
def server(answer: bytes | None, *, asked: list[bytes] | None = None) -> Iterator[str]:
    """Answers every connection with these bytes and closes it; `None`: says nothing until it is left."""
    listener = socket.create_server(("127.0.0.1", 0))
    left = threading.Event()

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                request = connection.recv(65_536)
                if asked is not None:
                    asked.append(request)
                if answer is None:
                    left.wait(20)
                else:
                    connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/{SECRET}"
    finally:
        left.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def http(status: str, body: bytes, *more: str) -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *more])
    return f"{head}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (http("200 OK", b'{"ok": true}'), Reply(status=200, body={"ok": True})),
        (http("401 Unauthorized", b"no"), Reply(status=401, body={})),
        (http("200 OK", b"[1]"), Reply(status=200, body={})),
        (http("302 Found", b"", "Location: http://127.0.0.1:1/"), Reply(status=302, body={})),
    ],
)
async def test_whatever_comes_back_is_an_answer(answer: bytes, reply: Reply) -> None:
    asked: list[bytes] = []
    with server(answer, asked=asked) as url:
        question = Question(method="GET", url=url, headers={"Authorization": "Bearer t"})
        assert await ask(question, seconds=5) == reply
    assert len(asked) == 1
    assert b"authorization: bearer t" in asked[0].lower()


async def test_of_an_endless_answer_only_so_much_is_read() -> None:
    with server(http("200 OK", b"x" * (4 * MAX_BYTES))) as url:
        assert await ask(Question(method="GET", url=url), seconds=5) == Reply(status=200, body={})


async def test_no_answer_in_time_is_none() -> None:
    with server(None) as url, anyio.fail_after(5), pytest.raises(NotReached, match=r"no answer within 0.2 s"):
        await ask(Question(method="GET", url=url), seconds=0.2)


@pytest.mark.parametrize(
    "answer", [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"]
)
async def test_a_broken_connection_is_no_answer(answer: bytes) -> None:
    with server(answer) as url, pytest.raises(NotReached, match="the connection broke") as failed:
        await ask(Question(method="GET", url=url), seconds=5)
    assert SECRET not in str(failed.value)


async def test_nobody_there_is_said_plainly() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as closed:
        port = closed.getsockname()[1]
    question = Question(method="GET", url=f"http://127.0.0.1:{port}/{SECRET}")
    with pytest.raises(NotReached, match="no connection could be made"):
        await ask(question, seconds=5)
    assert SECRET not in repr(question)


@pytest.mark.parametrize(
    ("url", "proxy"),
    [("http://\0/", None), ("ftp://host/", None), ("http://127.0.0.1:1/", "nonsense://user:pw@host")],
)
async def test_an_address_that_is_none_is_told_without_it(url: str, proxy: str | None) -> None:
    with pytest.raises(NotReached) as failed:
        await ask(Question(method="GET", url=url), seconds=5, proxy=proxy)
    assert "pw" not in str(failed.value)


async def test_a_name_that_nobody_knows_is_said_plainly() -> None:
    with pytest.raises(NotReached, match="its name could not be looked up"):
        await ask(Question(method="GET", url="http://nobody.invalid/"), seconds=5)
