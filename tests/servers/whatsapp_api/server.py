"""The fake Cloud API as tests use it: `with whatsapp_server() as server:`, its people and their signed calls."""

import hashlib
import hmac
import json
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer
from itertools import count
from typing import Any

import anyio

from tests.servers.whatsapp_api.endpoint import listening
from tests.servers.whatsapp_api.world import Fault, Sent, World

PHONE_NUMBER_ID = "100200300"
ACCESS_TOKEN = "EAAtest-access-token-5b1f"
APP_SECRET = "test-app-secret-of-nobody"
VERIFY_TOKEN = "test-verify-token"
DISPLAY_NUMBER = "15551234567"
_LOOK = 0.005
_LIMIT = 10.0


def signed(body: bytes, secret: str = APP_SECRET) -> Mapping[str, str]:
    """The headers of a call of the webhook."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"content-type": "application/json", "x-hub-signature-256": f"sha256={digest}"}


def change(value: Mapping[str, Any], *, number: str = PHONE_NUMBER_ID) -> dict[str, Any]:
    """One change about our number."""
    metadata = {"display_phone_number": DISPLAY_NUMBER, "phone_number_id": number}
    return {"field": "messages", "value": {"messaging_product": "whatsapp", "metadata": metadata, **value}}


def envelope(*changes: Mapping[str, Any]) -> dict[str, Any]:
    """A notification with one entry."""
    return {"object": "whatsapp_business_account", "entry": [{"id": "WABA0", "changes": list(changes)}]}


def encoded(payload: object) -> bytes:
    """As it goes over the wire; halves of surrogate pairs are escaped, as Meta does."""
    return json.dumps(payload).encode()


class WhatsAppServer:
    """A running server.

    Attributes:
        root: what stands before the version in an address.
        world: what it knows.
    """

    def __init__(self, world: World, port: int) -> None:
        self.world = world
        self._port = port
        self._http: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self._numbers = count(1)
        self.comes_back()
        self.root = f"http://127.0.0.1:{self._port}"

    def message(self, *, sender: str = "15551230001", kind: str = "text", **content: Any) -> dict[str, Any]:
        """One message as Meta tells it; `text` is short for the content of a text."""
        if "text" in content and isinstance(content["text"], str):
            content["text"] = {"body": content["text"]}
        wamid = f"wamid.IN{next(self._numbers):06d}"
        self.world.received.add(wamid)
        return {
            "from": sender,
            "id": wamid,
            "timestamp": "1790000000",
            "type": kind,
            **content,
        }

    def notification(self, *messages: Mapping[str, Any], **more: Any) -> bytes:
        """The body of a call that tells these messages."""
        people = dict.fromkeys(str(one.get("from")) for one in messages)
        contacts = [{"wa_id": one, "profile": {"name": f"User {one}"}} for one in people]
        return encoded(envelope(change({"contacts": contacts, "messages": list(messages), **more})))

    def fault(self, where: str, **what: Any) -> None:
        """What becomes of the next such request."""
        with self.world.changed:
            self.world.faults.append(Fault(where=where, **what))

    def revoke_token(self) -> None:
        """From now on no token is good."""
        self.world.access_token = "another one"

    def called(self, end: str) -> int:
        """How often something was asked whose path ends so."""
        with self.world.changed:
            return sum(path.endswith(end) for _method, path in self.world.calls)

    def sent(self, amount: int, *, seconds: float = _LIMIT) -> Sequence[Sent]:
        """Wait until so many messages are shown; all that are."""
        with self.world.changed:
            done = self.world.changed.wait_for(lambda: len(self.world.sent) >= amount, seconds)
            assert done, f"{len(self.world.sent)} of {amount} messages were sent"
            return list(self.world.sent)

    async def until_sent(self, amount: int) -> Sequence[Sent]:
        """As `sent`, without holding up the event loop."""
        return await anyio.to_thread.run_sync(lambda: self.sent(amount), abandon_on_cancel=True)

    async def until_reacted(self, amount: int) -> Sequence[str]:
        """Wait until reactions stand on so many messages; all of them."""

        def wait() -> Sequence[str]:
            with self.world.changed:
                assert self.world.changed.wait_for(lambda: len(self.world.reactions) >= amount, _LIMIT)
                return list(self.world.reactions.values())

        return await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)

    async def until_hanging(self) -> None:
        """Wait until a request gets no answer."""

        def wait() -> None:
            with self.world.changed:
                assert self.world.changed.wait_for(lambda: self.world.hanging > 0, _LIMIT)

        await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)

    async def until_connections(self, most: int, *, seconds: float) -> int:
        """Wait until no more lines are open than that, if they ever are; how many are."""

        def wait() -> int:
            with self.world.changed:
                self.world.changed.wait_for(lambda: len(self.world.connections) <= most, seconds)
                return len(self.world.connections)

        return await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)

    def goes_away(self) -> None:
        """Break every connection and refuse new ones, until it comes back at the same address."""
        http, thread = self._http, self._thread
        self._http = self._thread = None
        if http is not None and thread is not None:
            http.shutdown()
            thread.join()
            http.server_close()
        with self.world.changed:
            for connection in self.world.connections:
                with suppress(OSError):
                    connection.shutdown(2)

    def comes_back(self) -> None:
        """Take connections again."""
        if self._http is not None:
            return
        self._http = listening(self.world, self._port)
        self._port = self._http.server_address[1]
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": _LOOK}, daemon=True
        )
        self._thread.start()


@contextmanager
def whatsapp_server(*, port: int = 0) -> Generator[WhatsAppServer]:
    """Run a server on the loopback interface until left."""
    world = World(phone_number_id=PHONE_NUMBER_ID, access_token=ACCESS_TOKEN)
    server = WhatsAppServer(world, port)
    try:
        yield server
    finally:
        world.closing = True
        server.goes_away()
