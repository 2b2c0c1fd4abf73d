"""`[fermix_channels.<channel>]`: the places people write from, and who may."""

import re
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field
from typing_extensions import override

from fermix.domain.phone_numbers import digits_of
from fermix.infrastructure.settings.section import (
    Credential,
    Identifier,
    Identifiers,
    PlatformId,
    Secret,
    Section,
    SocketAddress,
    Text,
    WebAddress,
)

RESERVED_CHANNEL_KEYS = frozenset({"groups", "guilds", "channels", "defaults", "dm_policy", "accounts"})
"""Keys of the group policy that is still to come; under any channel they are refused as not yet supported."""

ALLOWLIST_ALIAS = "allow_from"
"""Another name for a channel's allowlist key, whichever that is."""


def _off_is_false(value: Any) -> Any:
    return "off" if value is False else value


def _polling_instead(value: Any) -> Any:
    return "polling" if isinstance(value, str) and value.strip() == "webhook" else value


Streaming: TypeAlias = Annotated[Literal["off", "draft", "block"], BeforeValidator(_off_is_false)]
AlbumDebounce: TypeAlias = Annotated[int, Field(ge=-60_000, le=60_000)]


class ChannelSettings(Section):
    """What every channel has.

    A channel from another package subclasses this, adds its credentials, and says with the alias of `allowlist`
    which key lists the people that may write. Validators raise `section.refused`; the text of any other error
    is not shown, since it may repeat a secret. `plausible_id` is the pattern an id of that platform has; entries
    that do not fit it can match nobody and are reported by `odd_entries`.
    """

    plausible_id: ClassVar[re.Pattern[str]] = re.compile(r"[^\s,;|*]+")

    enabled: bool = False
    """Whether the channel is served."""
    owner_user_id: Identifier | None = None
    """The owner: may do everything."""
    allowlist: Identifiers = Field(default=(), alias="allowed_user_ids")
    """Others who may write, as guests; `allow_from` is another name for this key."""
    command_allowlist: Identifiers = ()
    """Others who may use commands that change something."""
    streaming: Streaming = "off"
    """Showing an answer while it is written: as a `draft` that is edited, or in `block`s; `false` is `off`."""
    bot_name: Text | None = None
    """What the bot is called here."""

    @property
    def owner(self) -> str | None:
        """The owner's id; `None` also when it is odd, since an odd id matches nobody."""
        owner = self.owner_user_id
        return self.canonical(owner) if owner and self._plausible(owner) else None

    @property
    def allowed_ids(self) -> frozenset[str]:
        """Ids of the allowlist that can match somebody, trimmed, without the owner unless listed."""
        return frozenset(self.canonical(entry) for entry in self.allowlist if self._plausible(entry))

    @property
    def command_ids(self) -> frozenset[str]:
        """Ids of the command allowlist that can match somebody."""
        return frozenset(self.canonical(entry) for entry in self.command_allowlist if self._plausible(entry))

    @property
    def has_access(self) -> bool:
        """Whether anybody at all may write; an enabled channel without it serves nobody."""
        return self.owner is not None or bool(self.allowed_ids)

    @property
    def odd_entries(self) -> tuple[str, ...]:
        """What stands in the id keys and can match nobody, in the order of the file: for doctor to name."""
        owner = () if self.owner_user_id is None else (self.owner_user_id,)
        entries = (*owner, *self.allowlist, *self.command_allowlist)
        return tuple(entry for entry in entries if not self._plausible(entry))

    @staticmethod
    def canonical(entry: str) -> str:
        """A plausible id as the channel spells it, by which it is compared."""
        return entry

    def _plausible(self, entry: str) -> bool:
        return self.plausible_id.fullmatch(entry) is not None


class TelegramSettings(ChannelSettings):
    """A Telegram bot, read by long polling."""

    plausible_id: ClassVar[re.Pattern[str]] = re.compile(
        r"(?!(?:777000|136817688|1087968824)\Z)-?[1-9]\d*", re.ASCII
    )
    """Not the three accounts that stand for whoever writes as a channel or as an anonymous admin."""

    enabled: bool = True
    """Whether the channel is served; it needs a token and an owner or allowlist too."""
    mode: Annotated[Literal["polling"], BeforeValidator(_polling_instead)] = "polling"
    """Only `polling`; a left-over `webhook` is read as `polling`, with a warning."""
    bot_token: Credential | None = None
    """The token from BotFather; no environment variable sets it."""
    api_base_url: WebAddress = "https://api.telegram.org"
    """Root of the Bot API, for a server of your own."""
    album_debounce_ms: AlbumDebounce = 3000
    """How long the pictures of one album are waited for; 0 or less: not at all."""


class WhatsAppSettings(ChannelSettings):
    """The WhatsApp Cloud API, through a webhook."""

    plausible_id: ClassVar[re.Pattern[str]] = re.compile(
        r"\+?\d[\d ().-]*|[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}", re.ASCII
    )
    """A phone number, or the id by which a business knows somebody who hides theirs."""

    allowlist: Identifiers = Field(default=(), alias="allowed_sender_ids")
    """Phone numbers of others who may write, as guests; `allow_from` is another name for this key."""
    mode: Literal["webhook"] = "webhook"
    """Only `webhook`."""
    access_token: Credential | None = None
    """Token of the Cloud API."""
    phone_number_id: PlatformId | None = None
    """Id of the business phone number."""
    verify_token: Secret | None = None
    """The word that Meta repeats when the webhook is set up."""
    app_secret: Secret | None = None
    """Secret that requests are signed with."""
    graph_base_url: WebAddress = "https://graph.facebook.com"
    """Root of the Graph API."""
    graph_version: Annotated[Text, Field(pattern=r"^v\d{1,3}\.\d$")] = "v19.0"
    """Version of the Graph API."""
    album_debounce_ms: AlbumDebounce = 3000
    """How long the pictures of one album are waited for; 0 or less: not at all."""

    @staticmethod
    @override
    def canonical(entry: str) -> str:
        return digits_of(entry)


class SlackSettings(ChannelSettings):
    """A Slack app, through the Events API or Socket Mode."""

    mode: Literal["webhook", "socket"] = "webhook"
    """How Slack's calls come in: to an address of yours, or over a line that is opened from here."""
    bot_token: Credential | None = None
    """The bot's token (`xoxb-…`)."""
    signing_secret: Secret | None = None
    """Secret that requests are signed with; for `webhook`."""
    app_token: Credential | None = None
    """The app's own token (`xapp-…`); for `socket`."""
    api_base_url: WebAddress = "https://slack.com/api"
    """Root of the Web API."""


class DiscordSettings(ChannelSettings):
    """A Discord bot, on the gateway."""

    plausible_id: ClassVar[re.Pattern[str]] = re.compile(r"[1-9]\d*", re.ASCII)

    mode: Literal["gateway"] = "gateway"
    """Only `gateway`."""
    bot_token: Credential | None = None
    """The bot's token."""
    bot_user_id: PlatformId | None = None
    """The bot's own id, for a token that does not hold it."""
    api_base_url: WebAddress = "https://discord.com/api/v10"
    """Root of the REST API."""
    gateway_url: SocketAddress | None = None
    """Address of the gateway; unset: Discord is asked for it."""


class SignalSettings(ChannelSettings):
    """A Signal account, through signal-cli."""

    plausible_id: ClassVar[re.Pattern[str]] = re.compile(
        r"\+?\d[\d ().-]*|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII
    )

    allowlist: Identifiers = Field(default=(), alias="allowed_sender_ids")
    """Phone numbers or UUIDs of others who may write, as guests; `allow_from` is another name for this key."""
    mode: Literal["subprocess"] = "subprocess"
    """Only `subprocess`."""
    account: PlatformId | None = None
    """Phone number of the account, with its country code."""
    cli_path: Text = "signal-cli"
    """The program: a path, or a name that is looked up in PATH."""
    transport: Literal["jsonrpc", "receive"] = "jsonrpc"
    """How signal-cli is used: one lasting process, or one call after another."""

    @staticmethod
    @override
    def canonical(entry: str) -> str:
        return digits_of(entry).lower()


class Channels(Section):
    """All channels. Those of other packages stand beside the built-in ones, under their entry-point name."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, ChannelSettings] = Field(init=False)

    telegram: TelegramSettings = TelegramSettings()
    whatsapp: WhatsAppSettings = WhatsAppSettings()
    slack: SlackSettings = SlackSettings()
    discord: DiscordSettings = DiscordSettings()
    signal: SignalSettings = SignalSettings()

    def by_name(self) -> dict[str, ChannelSettings]:
        """Every channel's settings under its key in the file, built-in ones first."""
        built_in: dict[str, ChannelSettings] = {
            "telegram": self.telegram,
            "whatsapp": self.whatsapp,
            "slack": self.slack,
            "discord": self.discord,
            "signal": self.signal,
        }
        return built_in | self.__pydantic_extra__
