"""Puts the Signal channel together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.clock import Clock
from fermix.infrastructure.channels.signal.attachments import SignalAttachments, attachment_folder
from fermix.infrastructure.channels.signal.channel import SignalChannel
from fermix.infrastructure.channels.signal.outgoing_files import OutgoingFiles
from fermix.infrastructure.channels.signal.process import Launch
from fermix.infrastructure.channels.signal.recipient import number_of
from fermix.infrastructure.channels.signal.transport import Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the channel works.

    Attributes:
        home: ours; files on their way out lie in it.
        environment: signal-cli's whole environment, without any secret of ours.
        blobs: where files that are sent are read from.
    """

    home: Path
    environment: Mapping[str, str] = field(repr=False)
    blobs: ReadsBlobs


def signal_channel(*, account: str, program: str, lasting: bool, clock: Clock, place: Place) -> SignalChannel:
    """The channel of one account.

    Args:
        account: its phone number, however it is written.
        program: the path or name of signal-cli.
        lasting: begin with one lasting process; else each thing is a call.
    """
    number = number_of(account) or account
    launch = Launch(
        program=str(Path(program).expanduser()) if "/" in program else program,
        account=number,
        environment=place.environment,
    )
    return SignalChannel(
        number=number,
        transport=Transport(launch, clock=clock, lasting=lasting),
        files=OutgoingFiles(place.home / "outgoing-signal", blobs=place.blobs),
        attachments=SignalAttachments(attachment_folder(place.environment)),
    )
