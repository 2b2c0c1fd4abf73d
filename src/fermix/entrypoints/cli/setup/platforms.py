"""What each platform is asked to see whether it knows the credentials, and what its answer means. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from fermix.application.operations.doctor.report import Finding, fail, ok
from fermix.infrastructure.http_client.asking import Question, Reply
from fermix.infrastructure.settings.channels import (
    ChannelSettings,
    DiscordSettings,
    SlackSettings,
    TelegramSettings,
    WhatsAppSettings,
)

_EXPIRED_TOKEN = 190
_OF_SLACK = frozenset(
    {
        "invalid_auth",
        "not_authed",
        "account_inactive",
        "token_revoked",
        "token_expired",
        "not_allowed_token_type",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """One thing that was tried.

    Attributes:
        name: as doctor calls its row.
        refused: whether credentials were refused, or are missing.
    """

    name: str
    finding: Finding
    refused: bool = False


def questions_of(own: ChannelSettings) -> tuple[Question, ...]:
    """What to ask; nothing for a messenger without a service of its own. Each only reads who we are."""
    match own:
        case TelegramSettings(bot_token=token) if token is not None:
            return (Question(method="GET", url=f"{own.api_base_url}/bot{token.get_secret_value()}/getMe"),)
        case DiscordSettings(bot_token=token) if token is not None:
            bot = {"Authorization": f"Bot {token.get_secret_value()}"}
            return (Question(method="GET", url=f"{own.api_base_url}/users/@me", headers=bot),)
        case WhatsAppSettings(access_token=token) if token is not None:
            url = (
                f"{own.graph_base_url}/{own.graph_version}/{own.phone_number_id}"
                "?fields=id,display_phone_number,verified_name"
            )
            return (Question(method="GET", url=url, headers=_bearer(token.get_secret_value())),)
        case SlackSettings(bot_token=token) if token is not None:
            asked = [Question(method="POST", url=_slack(own, "auth.test"), headers=_bearer(_text(own)))]
            if own.mode == "socket" and own.app_token is not None:
                line = _bearer(own.app_token.get_secret_value())
                asked.append(Question(method="POST", url=_slack(own, "apps.connections.open"), headers=line))
            return tuple(asked)
        case _:
            return ()


def judge(channel: str, reply: Reply) -> Looked:
    """What an answer means."""
    name, label = f"channel {channel}", channel.capitalize()
    if is_refusal(channel, reply):
        sentence = f"{label} refused the credentials"
        return Looked(
            name=name, finding=fail(sentence, remedy="`fermix setup` once more, with new ones"), refused=True
        )
    if reply.status >= 300 or reply.body.get("ok") is False or "error" in reply.body:
        sentence = f"{label} answered with an error (status {reply.status})"
        return Looked(name=name, finding=fail(sentence, remedy="`fermix doctor` and the log say more later"))
    return Looked(name=name, finding=ok(f"{label} knows the credentials{_called(reply.body)}"))


def is_refusal(channel: str, reply: Reply) -> bool:
    """Whether the platform does not know the credentials."""
    error = reply.body.get("error")
    if channel == "slack":
        return error in _OF_SLACK
    if channel == "whatsapp" and isinstance(error, Mapping) and error.get("code") == _EXPIRED_TOKEN:
        return True
    return reply.status == 401 or (channel == "telegram" and reply.status == 404)


def _called(body: Mapping[str, object]) -> str:
    inner = body.get("result")
    facts = inner if isinstance(inner, Mapping) else body
    for key in ("username", "user", "display_phone_number"):
        if isinstance(name := facts.get(key), str) and name:
            return f", and calls us {name[:64]}"
    return ""


def _bearer(token: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _text(own: SlackSettings) -> str:
    return "" if own.bot_token is None else own.bot_token.get_secret_value()


def _slack(own: SlackSettings, method: str) -> str:
    return f"{own.api_base_url}/{method}"
