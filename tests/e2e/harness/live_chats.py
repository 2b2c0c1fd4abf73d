"""One direct chat of each messenger, as its owner writes in it and sees what stands there."""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import httpx

from fermix.domain.caps import CAPS
from fermix.domain.ids import ChannelName
from fermix.infrastructure.system.clock import SystemClock
from fermix.testing.servers.discord_api.people_side import ANN, CHAT
from fermix.testing.servers.discord_api.server import DiscordServer, discord_server
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.signal_cli.server import SignalServer, signal_server
from fermix.testing.servers.slack_api import server as slack_api
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from fermix.testing.servers.whatsapp_api import server as whatsapp_api
from tests.e2e.harness.homes import LIMIT_SECONDS, Daemon, FermixHome, until

DISCORD_TOKEN = "OTAwMDAwMDAwMDAwMDAwMDAx.GaBcDe.secret-token-of-a-bot-0001"
_OLGA = 1001
_LOOK_EVERY_SECONDS = 0.01
_SELDOM = 10


class LiveChat(Protocol):
    """A messenger with its owner in front of it."""

    @property
    def name(self) -> str:
        """The channel."""
        ...

    @property
    def section(self) -> str:
        """Its section of the configuration, without `streaming`."""
        ...

    @property
    def environ(self) -> Mapping[str, str]:
        """What the daemon's environment needs for it."""
        ...

    def begins(self, daemon: Daemon) -> None:
        """Wait until the daemon hears it."""
        ...

    def writes(self, text: str) -> None:
        """The owner writes; a command is written as it is there."""
        ...

    def shown(self) -> Sequence[str]:
        """What stands in the chat from the bot now."""
        ...

    def opened(self) -> int:
        """How many messages the bot has sent, removed ones too."""
        ...


class EditableChat(LiveChat, Protocol):
    """One in which the bot can change its messages."""

    def refuses_edits(self, *, wait: float) -> None:
        """The next change of a message is refused as too fast."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramChat:
    """See `LiveChat`."""

    server: TelegramServer
    name: str = "telegram"
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def section(self) -> str:
        return (
            f'bot_token = "{self.server.token}"\nowner_user_id = {_OLGA}\n'
            f'api_base_url = "{self.server.api_base_url}"\n'
        )

    def begins(self, daemon: Daemon) -> None:
        until(lambda: self.server.is_polled, what="the first poll")

    def writes(self, text: str) -> None:
        self.server.user_writes(_OLGA, text)

    def shown(self) -> Sequence[str]:
        return [each.text for each in self.server.sent()]

    def opened(self) -> int:
        return len(self.server.called("sendMessage"))

    def refuses_edits(self, *, wait: float) -> None:
        self.server.fault("editMessageText", retry_after=round(wait))


@dataclass(slots=True, kw_only=True)
class SlackChat:
    """See `LiveChat`."""

    server: slack_api.SlackServer
    name: str = "slack"
    environ: Mapping[str, str] = field(default_factory=dict)
    url: str = ""

    @property
    def section(self) -> str:
        return (
            f'bot_token = "{slack_api.TOKEN}"\nsigning_secret = "{slack_api.SIGNING_SECRET}"\n'
            f'owner_user_id = "U0OWN"\napi_base_url = "{self.server.root}"\n'
        )

    def begins(self, daemon: Daemon) -> None:
        until(lambda: "slack.listens" in daemon.home.log(), what="the channel")
        self.url = f"http://127.0.0.1:{daemon.http_port()}/webhook/slack"

    def writes(self, text: str) -> None:
        body = self.server.notification(self.server.event(text.replace("/", " /")))
        headers = slack_api.signed(body, at=SystemClock().now().timestamp())
        assert httpx.post(self.url, content=body, headers=headers, timeout=10).status_code == 200

    def shown(self) -> Sequence[str]:
        return [each.text for each in self.server.shown()]

    def opened(self) -> int:
        return self.server.called("chat.postMessage")

    def refuses_edits(self, *, wait: float) -> None:
        self.server.fault("chat.update", status=429, error="ratelimited", retry_after=round(wait))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordChat:
    """See `LiveChat`."""

    server: DiscordServer
    name: str = "discord"
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def section(self) -> str:
        return (
            f'bot_token = "{DISCORD_TOKEN}"\nowner_user_id = {ANN}\n'
            f'api_base_url = "{self.server.api_base_url}"\n'
        )

    def begins(self, daemon: Daemon) -> None:
        self.server.online(seconds=LIMIT_SECONDS)

    def writes(self, text: str) -> None:
        self.server.user_writes(text, chat=CHAT)

    def shown(self) -> Sequence[str]:
        return [each.text for each in self.server.sent(0)]

    def opened(self) -> int:
        return len(self.server.called("POST messages"))

    def refuses_edits(self, *, wait: float) -> None:
        self.server.fault("PATCH messages", retry_after=wait)


@dataclass(slots=True, kw_only=True)
class WhatsAppChat:
    """See `LiveChat`; messages cannot be changed there."""

    server: whatsapp_api.WhatsAppServer
    name: str = "whatsapp"
    environ: Mapping[str, str] = field(default_factory=dict)
    url: str = ""

    @property
    def section(self) -> str:
        return (
            f'access_token = "{whatsapp_api.ACCESS_TOKEN}"\nphone_number_id = "{whatsapp_api.PHONE_NUMBER_ID}"\n'
            f'app_secret = "{whatsapp_api.APP_SECRET}"\nverify_token = "{whatsapp_api.VERIFY_TOKEN}"\n'
            f'graph_base_url = "{self.server.root}"\nowner_user_id = "15551230001"\n'
        )

    def begins(self, daemon: Daemon) -> None:
        until(lambda: "whatsapp.listens" in daemon.home.log(), what="the channel")
        self.url = f"http://127.0.0.1:{daemon.http_port()}/webhook/whatsapp"

    def writes(self, text: str) -> None:
        body = self.server.notification(self.server.message(text=text))
        headers = dict(whatsapp_api.signed(body))
        assert httpx.post(self.url, content=body, headers=headers, timeout=10).status_code == 200

    def shown(self) -> Sequence[str]:
        return [each.text for each in self.server.sent(0)]

    def opened(self) -> int:
        return len(self.shown())


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalChat:
    """See `LiveChat`; messages are not changed there."""

    server: SignalServer
    name: str = "signal"

    @property
    def section(self) -> str:
        return (
            f'account = "+15550000001"\ncli_path = "{self.server.program}"\nowner_user_id = "+1 (555) 1001"\n'
        )

    @property
    def environ(self) -> Mapping[str, str]:
        return self.server.environment

    def begins(self, daemon: Daemon) -> None:
        until(lambda: any(one.receives for one in self.server.processes), what="signal-cli")

    def writes(self, text: str) -> None:
        self.server.writes(text)

    def shown(self) -> Sequence[str]:
        with self.server.changed:
            return [each.text for each in self.server.sent_as("send")]

    def opened(self) -> int:
        return len(self.shown())


@contextmanager
def _telegram() -> Generator[EditableChat]:
    with telegram_server() as server:
        yield TelegramChat(server=server)


@contextmanager
def _slack() -> Generator[EditableChat]:
    with slack_api.slack_server() as server:
        yield SlackChat(server=server)


@contextmanager
def _discord() -> Generator[EditableChat]:
    with discord_server(token=DISCORD_TOKEN) as server:
        yield DiscordChat(server=server)


@contextmanager
def _whatsapp() -> Generator[LiveChat]:
    with whatsapp_api.whatsapp_server() as server:
        yield WhatsAppChat(server=server)


@contextmanager
def _signal() -> Generator[LiveChat]:
    with signal_server() as server:
        yield SignalChat(server=server)


EDITABLE: Mapping[str, Callable[[], AbstractContextManager[EditableChat]]] = {
    "telegram": _telegram,
    "slack": _slack,
    "discord": _discord,
}
OTHERS: Mapping[str, Callable[[], AbstractContextManager[LiveChat]]] = {
    "whatsapp": _whatsapp,
    "signal": _signal,
}


def max_text(chat: LiveChat) -> int:
    """The longest text of one message."""
    longest = CAPS[ChannelName(chat.name)].max_text
    assert longest is not None
    return longest


def serve(
    home: FermixHome,
    model: StrictServer,
    chat: LiveChat,
    streaming: str,
    *,
    core: str = "",
    provider: str = "",
    ear: Path | None = None,
    clock: Path | None = None,
) -> Daemon:
    """A daemon that serves this chat and no other, once it hears it; `ear`, `clock`: see `FermixHome.daemon`."""
    home.environ.update(chat.environ)
    off = "" if chat.name == "telegram" else "[fermix_channels.telegram]\nenabled = false\n"
    home.use(
        model.base_url,
        core=core,
        more=f'{off}[fermix_channels.{chat.name}]\nenabled = true\nstreaming = "{streaming}"\n{chat.section}',
    )
    if provider:
        path = home.path / "config.toml"
        path.write_text(path.read_text().replace("default_model", f"{provider}\ndefault_model", 1))
    daemon = home.daemon(ear=ear, clock=clock).ready()
    chat.begins(daemon)
    return daemon


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the chat showed from some moment on, until it changed."""

    at: float
    texts: tuple[str, ...]


def watch(chat: LiveChat, home: FermixHome) -> list[Seen]:
    """Everything the chat shows while its turn runs and its reply is delivered, in order."""
    seen = [Seen(at=time.monotonic(), texts=tuple(chat.shown()))]
    end = time.monotonic() + LIMIT_SECONDS
    looks, over = 0, False
    while True:
        looks += 1
        texts = tuple(chat.shown())
        if texts != seen[-1].texts:
            seen.append(Seen(at=time.monotonic(), texts=texts))
        if over:
            return seen
        over = looks % _SELDOM == 0 and is_over(home)
        assert time.monotonic() < end, f"the turn did not end; seen: {seen!r:.500}"
        time.sleep(_LOOK_EVERY_SECONDS)


def is_over(home: FermixHome) -> bool:
    """Whether every turn is settled and nothing is to be sent any more."""
    turns = home.rows("SELECT state FROM turns")
    return bool(turns) and {*turns} == {("settled",)} and not home.rows(_OPEN)


_OPEN = "SELECT 1 FROM outbox WHERE state IN('pending','sending')"
