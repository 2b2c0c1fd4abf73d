"""The fake Slack as tests use it: `with slack_server() as server:`, its people and their signed calls."""

import hashlib
import hmac
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import urlencode

from fermix.testing.servers.loopback import PATIENCE, Served
from fermix.testing.servers.slack_api.endpoint import WebApi
from fermix.testing.servers.slack_api.methods import described
from fermix.testing.servers.slack_api.world import Fault, Sent, World

TOKEN = "xoxb-1111-2222-test-of-nobody"
APP_TOKEN = "xapp-1-A0FERMIX-test-of-nobody"
SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
BOT = "U0BOT"
_FAILED = 1011


def signed(body: bytes, *, at: float, secret: str = SIGNING_SECRET, form: bool = False) -> dict[str, str]:
    """The headers of a call; the signature as https://docs.slack.dev/authentication/verifying-requests-from-slack."""
    stamp = str(int(at))
    digest = hmac.new(secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {
        "content-type": "application/x-www-form-urlencoded" if form else "application/json",
        "x-slack-request-timestamp": stamp,
        "x-slack-signature": f"v0={digest}",
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


class SlackServer(Served[World]):
    """A running server.

    Attributes:
        host: its name and port.
        root: the address that `/<method>` follows.
    """

    def __init__(self, world: World, port: int) -> None:
        super().__init__(world, WebApi, port)
        self._numbers = count(1)
        self.host = self.address.removeprefix("http://")
        self.root = f"{self.address}/api"

    @property
    def world(self) -> World:
        """What it knows; whoever changes it holds its `changed`."""
        return self._world

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

    def sent(self, amount: int, *, seconds: float = PATIENCE) -> Sequence[Sent]:
        """Wait until so many messages are shown; all that are."""
        return self.wait(self.shown, lambda all_: len(all_) >= amount, f"{amount} messages", seconds)

    def shown(self) -> Sequence[Sent]:
        """Every message of ours that people see."""
        with self.world.changed:
            return [each for each in self.world.sent if not each.gone]

    async def until_sent(self, amount: int) -> Sequence[Sent]:
        """As `sent`, beside the event loop."""
        return await self.until(partial(self.sent, amount))

    async def until_reacted(self, amount: int) -> Sequence[str]:
        """Wait until so many reactions stand on messages; all that do."""

        def all_of_them() -> list[str]:
            return [name for names in self.world.reactions.values() for name in names]

        found = partial(self.wait, all_of_them, lambda all_: len(all_) >= amount, f"{amount} reactions")
        return await self.until(found)

    def says(self, kind: str, **fields: Any) -> None:
        """Send an envelope over the line of Socket Mode that was opened last."""
        self.says_text(json.dumps({"type": kind, **fields}))

    def says_text(self, text: str) -> None:
        """Send any text over that line."""
        with self.world.changed:
            self.world.lines[-1].send(text)

    def breaks_line(self) -> None:
        """Close that line as a server does that fails."""
        with self.world.changed:
            self.world.lines[-1].close(_FAILED)

    def refuses_lines(self, code: str | None) -> None:
        """Open no line from now on, and say this code."""
        self.world.refuses_lines = code

    async def until_opened(self, amount: int) -> None:
        """Wait until so many lines were opened."""
        await self.until(
            partial(self.wait, lambda: self.world.opened, lambda all_: all_ >= amount, f"{amount} lines")
        )

    async def until_acknowledged(self, amount: int) -> Sequence[str]:
        """Wait until so many envelopes were acknowledged; all that were."""
        found = partial(
            self.wait,
            lambda: list(self.world.acknowledged),
            lambda all_: len(all_) >= amount,
            f"{amount} acknowledgements",
        )
        return await self.until(found)


@contextmanager
def slack_server(*, port: int = 0) -> Generator[SlackServer]:
    """Run a server on the loopback interface until left."""
    world = World(token=TOKEN, app_token=APP_TOKEN)
    server = SlackServer(world, port)
    try:
        yield server
    finally:
        server.close()
