"""What has to be entered at each messenger's platform, as its page in `docs/` tells at length."""

from collections.abc import Sequence

from fermix.entrypoints.messengers import WEBHOOK_PATHS
from fermix.infrastructure.settings.channels import (
    ChannelSettings,
    DiscordSettings,
    SlackSettings,
    WhatsAppSettings,
)
from fermix.infrastructure.settings.web import WebSettings

SLACK_EVENTS = ("app_mention", "message.im", "message.channels", "message.groups", "message.mpim")
SLACK_SCOPES = (
    "app_mentions:read",
    "channels:history",
    "groups:history",
    "im:history",
    "mpim:history",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "reactions:write",
)
DISCORD_PERMISSIONS = (
    "View Channels",
    "Send Messages",
    "Send Messages in Threads",
    "Read Message History",
    "Attach Files",
    "Add Reactions",
)
WHATSAPP_PERMISSIONS = ("whatsapp_business_messaging", "whatsapp_business_management")


def to_enter(own: ChannelSettings, web: WebSettings) -> Sequence[str]:
    """What the owner of these settings has to enter, a sentence each; nothing where the settings are all.

    Args:
        own: the channel's.
        web: where the daemon listens; an HTTPS address of the owner's has to lead there.
    """
    match own:
        case WhatsAppSettings():
            return _whatsapp(web)
        case SlackSettings(mode="socket"):
            return _slack(
                "leave the request URL empty",
                "Socket Mode: on, with an app-level token for connections:write",
            )
        case SlackSettings():
            url = _url("slack")
            return _slack(f"request URL {url}", _leads(url, web))
        case DiscordSettings():
            permissions = ", ".join(DISCORD_PERMISSIONS)
            return (
                "Discord, Bot, Privileged Gateway Intents: Message Content Intent on",
                f"invite the bot with the scopes bot and applications.commands and the permissions {permissions}",
            )
        case _:
            return ()


def _whatsapp(web: WebSettings) -> Sequence[str]:
    url = _url("whatsapp")
    return (
        f"WhatsApp, Configuration, Webhook: callback URL {url}, the word of verify_token, the field messages",
        f"permissions of the token's system user: {' and '.join(WHATSAPP_PERMISSIONS)}",
        _leads(url, web),
    )


def _slack(how: str, more: str) -> Sequence[str]:
    return (
        f"Slack, Event Subscriptions: {how}, bot events {', '.join(SLACK_EVENTS)}",
        f"OAuth & Permissions, bot scopes: {', '.join(SLACK_SCOPES)}",
        f"Slash Commands: /fermix, {how}",
        "App Home, Messages Tab: on, and sending allowed",
        more,
    )


def _url(name: str) -> str:
    return f"https://YOUR-HOST{WEBHOOK_PATHS[name]}"


def _leads(url: str, web: WebSettings) -> str:
    port = "its port, which is another one at each start" if web.port == 0 else str(web.port)
    return f"{url} must lead to {web.bind}:{port}, bodies unchanged"
