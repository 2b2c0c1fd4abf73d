"""The fake Slack as tests use it: `with slack_server() as server:`, its people and their signed calls."""

import json
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer
from itertools import count
from typing import Any, TypeVar
from urllib.parse import urlencode

import anyio
from slack_sdk.signature import SignatureVerifier

from tests.servers.slack_api.endpoint import listening
from tests.servers.slack_api.methods import described
from tests.servers.slack_api.world import Fault, Sent, World

TOKEN = "xoxb-1111-2222-test-of-nobody"
SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
BOT = "U0BOT"
_LOOK = 0.005
_LIMIT = 10.0
_T = TypeVar("_T")


def signed(body: bytes, *, at: float, secret: str = SIGNING_SECRET, form: bool = False) -> dict[str, str]:
    """The headers of a call, signed by Slack's own signer."""
    stamp = str(int(at))
    signature = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body)
    assert signature is not None
    return {
        "content-type": "application/x-www-form-urlencoded" if form else "application/json",
        "x-slack-request-timestamp": stamp,
        "x-slack-signature": signature,
    }


def encoded(payload: object) -> bytes:
    """As it goes over the wire; halves of surrogate pairs are escaped."""
    return json.dumps(payload).encode()


def command(text: str, *, user: str = "U0OWN", channel: str = "D0OWN", **more: str) -> bytes:
    """The form that a native slash command comes as."""
    fields = {
        "command": "/fermix",
        "text": text,
        "user_id": user,
        "user_name": "olga",
        "channel_id": channel,
        "channel_name": "general",
        "team_id": "T0ACME",
        "trigger_id": f"13345224609.738474920.{abs(hash(text))}",
        "response_url": "https://hooks.slack.com/commands/1234",
        **more,
    }
    return urlencode(fields).encode()


class SlackServer:
    """A running server.

    Attributes:
        root: the address that `/<method>` follows.
        world: what it knows.
    """

    def __init__(self, world: World, port: int) -> None:
        self.world = world
        self._port = port
        self._http: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self._numbers = count(1)
        self.comes_back()
        self.host = f"127.0.0.1:{self._port}"
        self.root = f"http://{self.host}/api"

    def event(self, text: str | None = "hello", *, channel: str = "D0OWN", **more: Any) -> dict[str, Any]:
        """What happened, as Slack tells it: a message, unless `type` says otherwise."""
        number = next(self._numbers)
        kind = {"D": "im", "G": "group"}.get(channel[0], "channel")
        event = {
            "type": "message",
            "channel": channel,
            "channel_type": kind,
            "user": "U0OWN",
            "text": text,
            "ts": f"1790000000.{number:06d}",
            "team": "T0ACME",
            "client_msg_id": f"c{number}",
            **more,
        }
        event.setdefault("event_ts", event.get("ts"))
        with self.world.changed:
            self.world.known.add((channel, str(event["ts"])))
        return event

    def callback(self, event: object, **more: Any) -> dict[str, Any]:
        """The whole of a call about an event."""
        return {
            "token": "z",
            "team_id": "T0ACME",
            "api_app_id": "A0FERMIX",
            "type": "event_callback",
            "event_id": f"Ev{next(self._numbers):08d}",
            "event_time": 1790000000,
            "event": event,
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": "T0ACME",
                    "user_id": self.world.bot_user,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
            "is_ext_shared_channel": False,
            "event_context": "4-abc",
            **more,
        }

    def notification(self, event: object, **more: Any) -> bytes:
        """The body of a call about an event."""
        return encoded(self.callback(event, **more))

    def file(
        self, data: bytes, name: str = "plan.pdf", mime_type: str = "application/pdf", **more: Any
    ) -> dict[str, Any]:
        """Somebody's file, as a message tells of it."""
        file = self.world.store(data, name, mime_type=mime_type, **more)
        return described(self.world.files[file], file, self.host)

    def fault(self, where: str, **what: Any) -> None:
        """What becomes of the next such request."""
        with self.world.changed:
            self.world.faults.append(Fault(where=where, **what))

    def revoke_token(self) -> None:
        """From now on no token is good."""
        self.world.token = "xoxb-another"

    def called(self, *methods: str) -> int:
        """How often methods were called."""
        with self.world.changed:
            return sum(method in methods for method, _given in self.world.calls)

    def sent(self, amount: int, *, seconds: float = _LIMIT) -> Sequence[Sent]:
        """Wait until so many messages are shown; all that are."""
        return self._when(lambda: len(self.shown()) >= amount, self.shown, seconds)

    def shown(self) -> Sequence[Sent]:
        """Every message of ours that people see."""
        return [each for each in self.world.sent if not each.gone]

    async def until_sent(self, amount: int) -> Sequence[Sent]:
        """As `sent`, without holding up the event loop."""
        return await _beside(lambda: self.sent(amount))

    async def until_reacted(self, amount: int) -> Sequence[str]:
        """Wait until so many reactions stand on messages; all that do."""

        def all_of_them() -> list[str]:
            return [name for names in self.world.reactions.values() for name in names]

        return await _beside(lambda: self._when(lambda: len(all_of_them()) >= amount, all_of_them, _LIMIT))

    async def until_hanging(self) -> None:
        """Wait until a request gets no answer."""
        await _beside(lambda: self._when(lambda: self.world.hanging > 0, lambda: None, _LIMIT))

    async def until_connections(self, most: int, *, seconds: float) -> int:
        """Wait until no more lines are open than that, if they ever are; how many are."""

        def wait() -> int:
            with self.world.changed:
                self.world.changed.wait_for(lambda: len(self.world.connections) <= most, seconds)
                return len(self.world.connections)

        return await _beside(wait)

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

    def _when(self, is_so: Callable[[], bool], then: Callable[[], _T], seconds: float) -> _T:
        with self.world.changed:
            assert self.world.changed.wait_for(is_so, seconds), "it did not come to that"
            return then()


async def _beside(wait: Callable[[], _T]) -> _T:
    return await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)


@contextmanager
def slack_server(*, port: int = 0) -> Generator[SlackServer]:
    """Run a server on the loopback interface until left."""
    world = World(token=TOKEN)
    server = SlackServer(world, port)
    try:
        yield server
    finally:
        world.closing = True
        server.goes_away()
