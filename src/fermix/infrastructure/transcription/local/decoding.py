"""From any container to plain samples, in the child process: bounded in time and memory, and nothing but the file.

A file may claim to be anything. Only containers that hold all of their sound themselves are opened: a playlist
would make the decoder fetch whatever it names.
"""

from collections.abc import Iterator
from typing import IO

import av
import av.error
import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 16_000
"""Samples a second, of one channel, that the model listens to."""

_CONTAINERS = (
    "aac,aiff,amr,amrnb,amrwb,asf,au,caf,flac,flv,matroska,mov,mp3,mpeg,mpegts,ogg,wav,w64,webm,m4a,mp4,3gp"
)

_LONGEST_PIECE = 120 * SAMPLE_RATE
_LOOK_BACK = 15 * SAMPLE_RATE
_QUIET = SAMPLE_RATE // 4

Samples = NDArray[np.int16]


class NoAudio(Exception):
    """The file holds no sound that can be decoded."""


class TooLong(Exception):
    """The sound goes on for longer than it may."""


def decode(file: IO[bytes], *, longest: float) -> Samples:
    """Everything that is heard in a file.

    Args:
        file: positioned at its beginning, and able to seek.
        longest: seconds; what lasts longer is given up as soon as that is seen.

    Raises:
        NoAudio: it cannot be read, has no sound, or breaks off before any.
        TooLong: see `longest`.
    """
    limit = int(longest * SAMPLE_RATE)
    pieces: list[bytes] = []
    total = 0
    try:
        for frame in _resampled(file, longest):
            piece = frame.to_ndarray().tobytes()
            total += len(piece) // 2
            if total > limit:
                raise TooLong
            pieces.append(piece)
    except (av.error.FFmpegError, ValueError, EOFError) as exc:
        # What a broken file holds before the break is heard.
        if not pieces:
            raise NoAudio(type(exc).__name__) from exc
    if not total:
        raise NoAudio("no samples")
    return np.frombuffer(b"".join(pieces), dtype=np.int16)


def in_pieces(samples: Samples) -> Iterator[Samples]:
    """The samples in pieces of two minutes at most, each but the last cut where it is quietest near its end.

    The model's memory grows with what it is given at once.
    """
    start = 0
    while len(samples) - start > _LONGEST_PIECE:
        tail = samples[start + _LONGEST_PIECE - _LOOK_BACK : start + _LONGEST_PIECE].astype(np.float32)
        loudness = np.square(tail).reshape(-1, _QUIET).sum(axis=1)
        quietest = int(loudness.argmin()) * _QUIET + _QUIET // 2
        end = start + _LONGEST_PIECE - _LOOK_BACK + quietest
        yield samples[start:end]
        start = end
    yield samples[start:]


def _resampled(file: IO[bytes], longest: float) -> Iterator[av.AudioFrame]:
    options = {"format_whitelist": _CONTAINERS, "protocol_whitelist": "none"}
    with av.open(file, mode="r", metadata_errors="ignore", options=options) as container:
        if not container.streams.audio:
            raise NoAudio("no sound in it")
        if container.duration is not None and container.duration > longest * av.time_base:
            raise TooLong
        resampler = av.AudioResampler(format="s16", layout="mono", rate=SAMPLE_RATE)
        for packet in container.demux(container.streams.audio[0]):
            try:
                frames = packet.decode()
            except av.error.InvalidDataError:
                continue
            for frame in frames:
                if not isinstance(frame, av.AudioFrame):
                    continue
                if frame.samples > longest * frame.sample_rate:
                    raise TooLong
                yield from resampler.resample(frame)
        yield from resampler.resample(None)
