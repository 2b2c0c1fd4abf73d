"""Recordings of real speech, in the containers that messengers send: spoken by a program, encoded as phones do."""

import io
import subprocess
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import av
    import av.container

PLEASE_BUY_MILK = "Remind me to buy milk tomorrow at nine."
MOVE_THE_DENTIST = "Please move the meeting with the dentist to Friday afternoon."
OPUS_RATE = 48_000


def spoken(text: str, folder: Path) -> bytes:
    """Somebody says it: a WAV file of 16 kHz."""
    path = folder / "said.wav"
    subprocess.run(["flite", "-voice", "slt", "-t", text, "-o", str(path)], check=True, timeout=30)
    return path.read_bytes()


def spoken_in(language: str, text: str, folder: Path) -> bytes:
    """As `spoken`, by a program that knows more languages and has a worse voice."""
    path = folder / "said.wav"
    subprocess.run(["espeak-ng", "-v", language, "-w", str(path), text], check=True, timeout=30)
    return path.read_bytes()


def wav_of(samples: bytes, rate: int = 16_000) -> bytes:
    """A WAV file of samples of 16 bits, one channel."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(samples)
    return file.getvalue()


def samples_of(wav: bytes) -> bytes:
    """What is in such a file."""
    with wave.open(io.BytesIO(wav)) as file:
        content: bytes = file.readframes(file.getnframes())
        return content


def silence(seconds: float, rate: int = 16_000) -> bytes:
    """Samples in which nothing is heard."""
    return bytes(2 * int(seconds * rate))


def voice_note(wav: bytes) -> bytes:
    """OGG with Opus, as Telegram and WhatsApp send voice."""
    return _encoded(wav, container="ogg", codec="libopus", rate=OPUS_RATE)


def video_note(wav: bytes) -> bytes:
    """MP4 with a moving picture and AAC, its index at the end, as Telegram sends round videos."""
    return _encoded(wav, container="mp4", codec="aac", rate=44_100, picture=True)


def three_hours() -> bytes:
    """FLAC of three hours in which nothing is heard: a small file."""
    import av

    file = io.BytesIO()
    with av.open(file, "w", format="flac") as out:
        stream = out.add_stream("flac", rate=8_000)
        stream.layout = "mono"
        frame = av.AudioFrame(format="s16", layout="mono", samples=4096 * 16)
        frame.planes[0].update(bytes(frame.planes[0].buffer_size))
        for number in range(3 * 3600 * 8_000 // frame.samples + 1):
            frame.sample_rate, frame.pts = 8_000, number * frame.samples
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return file.getvalue()


def _encoded(
    wav: bytes, *, container: str, codec: Literal["libopus", "aac"], rate: int, picture: bool = False
) -> bytes:
    import av

    file = io.BytesIO()
    with av.open(io.BytesIO(wav), "r") as heard, av.open(file, "w", format=container) as out:
        video = _moving_picture(out) if picture else iter(())
        sound = out.add_stream(codec, rate=rate)
        sound.layout = "mono"
        resampler = av.AudioResampler(format=sound.format, layout="mono", rate=rate, frame_size=960)
        out.mux(list(video))
        for frame in heard.decode(audio=0):
            for piece in resampler.resample(frame):
                out.mux(sound.encode(piece))
        for piece in resampler.resample(None):
            out.mux(sound.encode(piece))
        out.mux(sound.encode(None))
    return file.getvalue()


def _moving_picture(out: "av.container.OutputContainer") -> "Iterator[av.Packet[av.VideoStream]]":
    import av

    stream = out.add_stream("mpeg4", rate=10)
    stream.width = stream.height = 64
    stream.pix_fmt = "yuv420p"

    def packets() -> "Iterator[av.Packet[av.VideoStream]]":
        for number in range(10):
            frame = av.VideoFrame(64, 64, "yuv420p")
            for plane in frame.planes:
                plane.update(bytes(plane.buffer_size))
            frame.pts = number
            yield from stream.encode(frame)
        yield from stream.encode(None)

    return packets()
