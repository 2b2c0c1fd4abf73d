"""What is asked about each messenger, and where its owner finds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fermix.entrypoints.cli.setup.answers import ChannelAnswer
from fermix.entrypoints.cli.setup.present import CHANNELS, Present
from fermix.entrypoints.cli.setup.questions import Questions
from fermix.entrypoints.cli.setup.values import NO_ID, OWNER, SECTIONS, fitting, is_secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One key of a messenger's section.

    Attributes:
        what: is asked for.
        where: one line that says where to get it.
        optional: what happens without it; `None`: it is needed.
    """

    key: str
    what: str
    where: str
    optional: str | None = None


_OR_LATER = "or leave it out, write to the bot once it runs, and `fermix doctor` names the id that it refused"
_LATER = "later; until then nobody is let in"


def _owner(channel: str) -> Field:
    return Field(key=OWNER, what="Your own id", where=f"{NO_ID[channel]}; {_OR_LATER}", optional=_LATER)


_SLACK_TOKEN = Field(
    key="bot_token",
    what="Bot token",
    where="api.slack.com/apps, your app, OAuth & Permissions: the token that begins with xoxb-",
)
SLACK_BY_SOCKET = (
    _SLACK_TOKEN,
    Field(
        key="app_token",
        what="App-level token",
        where="Basic Information, App-Level Tokens, with connections:write: it begins with xapp-",
    ),
    _owner("slack"),
)
FIELDS: Mapping[str, tuple[Field, ...]] = MappingProxyType(
    {
        "telegram": (
            Field(
                key="bot_token",
                what="Bot token",
                where="Write /newbot to @BotFather in Telegram; it answers with the token.",
            ),
            _owner("telegram"),
        ),
        "whatsapp": (
            Field(
                key="access_token",
                what="Access token",
                where="developers.facebook.com, your app, WhatsApp, API Setup (better: a system user's token).",
            ),
            Field(
                key="phone_number_id",
                what="Phone number id",
                where="The same page, under the number: an id, not the number itself.",
            ),
            Field(
                key="app_secret",
                what="App secret",
                where="The app's Settings, Basic: App secret.",
            ),
            Field(
                key="verify_token",
                what="Verify token",
                where="A word of your own choice; you enter it again where Meta sets the webhook up.",
            ),
            _owner("whatsapp"),
        ),
        "discord": (
            Field(
                key="bot_token",
                what="Bot token",
                where="discord.com/developers/applications, your application, Bot, Reset Token.",
            ),
            _owner("discord"),
        ),
        "slack": (
            _SLACK_TOKEN,
            Field(
                key="signing_secret",
                what="Signing secret",
                where="Basic Information, App Credentials: Signing Secret",
            ),
            _owner("slack"),
        ),
        "signal": (
            Field(
                key="account",
                what="Phone number of the account",
                where="The number that signal-cli is linked or registered with; see docs/signal.md.",
            ),
            _owner("signal"),
        ),
    }
)
_HOW_SLACK = {
    "socket": "a line that is opened from here: no public address is needed",
    "webhook": "Slack calls an HTTPS address of yours",
}


def is_begun(channel: str, present: Present) -> bool:
    """Whether somebody has set a key of the messenger's."""
    keys = (*(field.key for field in FIELDS[channel]), "app_token", "allowed_user_ids", "allowed_sender_ids")
    return any(present.has((*CHANNELS, channel, key)) for key in keys)


def offered(present: Present) -> Mapping[str, str]:
    """The messengers to choose from, each with how it stands."""
    return {name: "set up; kept as it is" if is_begun(name, present) else "" for name in SECTIONS}


def ask_channel(name: str, questions: Questions, present: Present) -> ChannelAnswer:
    """Ask for everything of one messenger."""
    values: dict[str, str] = {}
    fields = FIELDS[name]
    if name == "slack":
        now = present.text((*CHANNELS, "slack", "mode")) or "webhook"
        mode = questions.choose("How Slack's calls come in", _HOW_SLACK, now=now)
        if mode is not None:
            values["mode"] = mode
        if (mode or now) == "socket":
            fields = SLACK_BY_SOCKET
    for field in fields:
        told = _ask_field((*CHANNELS, name, field.key), field, questions, present)
        if told is not None:
            values[field.key] = told
    return ChannelAnswer(name=name, values=values)


def _ask_field(path: tuple[str, ...], field: Field, questions: Questions, present: Present) -> str | None:
    def check(text: str) -> str:
        return fitting(path, text)

    questions.say(f"  {field.where}")
    if is_secret(path):
        return questions.secret(field.what, check, is_set=present.has(path), optional=field.optional)
    return questions.value(field.what, check, now=_shown(path, present), optional=field.optional)


def _shown(path: tuple[str, ...], present: Present) -> str | None:
    return present.variables.get(path) or present.text(path)
