"""The fake Cloud API as tests use it: `with whatsapp_server() as server:`, its people and their signed calls."""

import hashlib
import hmac
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

from fermix.testing.servers.loopback import PATIENCE, Served
from fermix.testing.servers.whatsapp_api.endpoint import CloudApi
from fermix.testing.servers.whatsapp_api.world import Fault, Sent, World

PHONE_NUMBER_ID = "100200300"
ACCESS_TOKEN = "EAAtest-access-token-5b1f"
APP_SECRET = "test-app-secret-of-nobody"
VERIFY_TOKEN = "test-verify-token"
DISPLAY_NUMBER = "15551234567"


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


class WhatsAppServer(Served[World]):
    """A running server.

    Attributes:
        root: what stands before the version in an address.
    """

    def __init__(self, world: World, port: int) -> None:
        super().__init__(world, CloudApi, port)
        self._numbers = count(1)
        self.root = self.address

    @property
    def world(self) -> World:
        """What it knows; whoever changes it holds its `changed`."""
        return self._world

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

    def sent(self, amount: int, *, seconds: float = PATIENCE) -> Sequence[Sent]:
        """Wait until so many messages are shown; all that are."""
        return self.wait(
            lambda: list(self.world.sent), lambda all_: len(all_) >= amount, f"{amount} messages", seconds
        )

    async def until_sent(self, amount: int) -> Sequence[Sent]:
        """As `sent`, beside the event loop."""
        return await self.until(partial(self.sent, amount))

    async def until_reacted(self, amount: int) -> Sequence[str]:
        """Wait until reactions stand on so many messages; all of them."""
        found = partial(
            self.wait,
            lambda: list(self.world.reactions.values()),
            lambda all_: len(all_) >= amount,
            f"{amount} reactions",
        )
        return await self.until(found)


@contextmanager
def whatsapp_server(*, port: int = 0) -> Generator[WhatsAppServer]:
    """Run a server on the loopback interface until left."""
    world = World(phone_number_id=PHONE_NUMBER_ID, access_token=ACCESS_TOKEN)
    server = WhatsAppServer(world, port)
    try:
        yield server
    finally:
        server.close()
