"""Whether a channel carries a part: what every adapter asks before its platform hears of it."""

from typing import assert_never

from fermix.application.ports.channel import ChannelFeatures, ChannelRejected
from fermix.domain.delivery import MediaPart, Part, ReactionPart, TextPart
from fermix.domain.reactions import allows
from fermix.domain.splitting import units


def must_carry(features: ChannelFeatures, part: Part) -> None:
    """Refuse a file or a reaction that the features of a channel do not name. Texts are for the channel to judge.

    Raises:
        ChannelRejected: the kind of file is none of its kinds, the file or its caption is over the cap, or the
            reaction is none of its reactions.
    """
    match part:
        case TextPart():
            return
        case MediaPart():
            _must_carry_file(features, part)
        case ReactionPart(emoji=emoji):
            if not allows(features.reactions, emoji):
                raise ChannelRejected("this channel does not take that reaction")
        case _:
            assert_never(part)


def _must_carry_file(features: ChannelFeatures, part: MediaPart) -> None:
    cap = features.media_out.get(part.kind)
    if cap is None:
        raise ChannelRejected(f"this channel takes no files of the kind {part.kind.value}")
    if part.blob.size_bytes > cap.max_bytes:
        raise ChannelRejected(f"the file has {part.blob.size_bytes} bytes; {cap.max_bytes} are allowed")
    if cap.max_caption is not None and units(part.caption, features.text_unit) > cap.max_caption:
        raise ChannelRejected(f"the caption is too long; {cap.max_caption} are allowed")
