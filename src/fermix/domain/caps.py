"""Every limit of every channel in one table: adapters, checks and documentation read it here.

Bytes are counted in MiB and a cap is still allowed: one byte more is not. Texts and captions are counted in the
channel's `text_unit`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from fermix.domain.delivery import MediaKind
from fermix.domain.ids import ChannelName
from fermix.domain.reactions import ANY_EMOJI, NO_REACTIONS, Reactions, SomeReactions
from fermix.domain.splitting import TextUnit

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaCap:
    """What a channel takes of one kind of file.

    Attributes:
        max_bytes: the largest file.
        max_caption: the longest caption; 0 where this kind has none, `None` for any length.
    """

    max_bytes: int
    max_caption: int | None = 0


NO_MEDIA: Mapping[MediaKind, MediaCap] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelCaps:
    """The limits of one channel.

    Attributes:
        max_text: the longest text of one message; `None` for no limit.
        media_out: by kind, what can be sent; a kind that is missing cannot.
        media_in: the largest file that is read; `None` where none is.
    """

    max_text: int | None = None
    text_unit: TextUnit = TextUnit.CODE_POINTS
    media_out: Mapping[MediaKind, MediaCap] = field(default_factory=lambda: NO_MEDIA)
    media_in: int | None = None
    reactions: Reactions = NO_REACTIONS


def _alike(cap: MediaCap) -> Mapping[MediaKind, MediaCap]:
    return MappingProxyType(dict.fromkeys(MediaKind, cap))


TELEGRAM_REACTIONS = SomeReactions(names=tuple("👍👎🔥🥰👏😁🤔🤯😱🎉🤩🙏👌💯🤣😢😍🙈🤝👀🫡🤗😎😭"))
"""Glyphs that have one spelling only; https://core.telegram.org/bots/api#reactiontypeemoji lists them all."""

SLACK_REACTIONS = SomeReactions(
    names=(
        "thumbsup",
        "thumbsdown",
        "tada",
        "heart",
        "fire",
        "pray",
        "eyes",
        "clap",
        "100",
        "rocket",
        "white_check_mark",
        "joy",
        "thinking_face",
        "wave",
        "ok_hand",
        "raised_hands",
        "sob",
        "sunglasses",
        "sparkles",
        "smile",
    )
)
"""Names of built-in emoji, without colons."""

_TELEGRAM = ChannelCaps(
    max_text=4096,
    text_unit=TextUnit.UTF16,
    media_out=MappingProxyType(
        {
            MediaKind.IMAGE: MediaCap(max_bytes=10 * MIB, max_caption=1024),
            MediaKind.DOCUMENT: MediaCap(max_bytes=50 * MIB, max_caption=1024),
            MediaKind.AUDIO: MediaCap(max_bytes=50 * MIB, max_caption=1024),
            MediaKind.VOICE: MediaCap(max_bytes=1 * MIB, max_caption=1024),
            MediaKind.VIDEO: MediaCap(max_bytes=50 * MIB, max_caption=1024),
        }
    ),
    media_in=20 * MIB,
    reactions=TELEGRAM_REACTIONS,
)
_WHATSAPP = ChannelCaps(
    max_text=4096,
    media_out=MappingProxyType(
        {
            MediaKind.IMAGE: MediaCap(max_bytes=5 * MIB, max_caption=1024),
            MediaKind.DOCUMENT: MediaCap(max_bytes=100 * MIB, max_caption=1024),
            MediaKind.AUDIO: MediaCap(max_bytes=16 * MIB),
            MediaKind.VOICE: MediaCap(max_bytes=16 * MIB),
            MediaKind.VIDEO: MediaCap(max_bytes=16 * MIB, max_caption=1024),
        }
    ),
    media_in=25 * MIB,
    reactions=ANY_EMOJI,
)
_SLACK = ChannelCaps(
    max_text=40_000,
    media_out=_alike(MediaCap(max_bytes=100 * MIB, max_caption=40_000)),
    media_in=100 * MIB,
    reactions=SLACK_REACTIONS,
)
_DISCORD = ChannelCaps(
    max_text=2000,
    media_out=_alike(MediaCap(max_bytes=10 * MIB, max_caption=2000)),
    media_in=100 * MIB,
    reactions=ANY_EMOJI,
)
_SIGNAL = ChannelCaps(
    media_out=_alike(MediaCap(max_bytes=100 * MIB, max_caption=None)),
    media_in=100 * MIB,
    reactions=ANY_EMOJI,
)

_CLI = ChannelCaps(media_out=_alike(MediaCap(max_bytes=100 * MIB, max_caption=None)), media_in=100 * MIB)
"""No platform limits a terminal: these are the largest caps of the others, so that memory and disk keep theirs."""

CAPS: Mapping[ChannelName, ChannelCaps] = MappingProxyType(
    {
        ChannelName("telegram"): _TELEGRAM,
        ChannelName("whatsapp"): _WHATSAPP,
        ChannelName("slack"): _SLACK,
        ChannelName("discord"): _DISCORD,
        ChannelName("signal"): _SIGNAL,
        ChannelName("cli"): _CLI,
    }
)
"""By channel. What the platforms' own pages say on captions: WhatsApp has none on audio and voice."""
