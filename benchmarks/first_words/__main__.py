"""From the model's 30th character to the first words in the chat: `python -m benchmarks.first_words`, on Linux.

The real daemon stands between a model that writes 29 characters, rests, and writes the 30th, and a Telegram that
answers at once; the delay is from that write to the arrival of the request that opens the draft. A draft is
journalled before it is opened, so a synced commit is a part of it.
"""

import argparse
import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median, quantiles

from benchmarks.first_words.far_side import ANSWER, FirstWords
from benchmarks.measuring.figures import Figure, circumstances, table
from benchmarks.message_path.far_side import FIRST_CHAT
from benchmarks.message_path.gateways import Program, fermix, started
from benchmarks.message_path.web import serve
from fermix.domain.streaming.draft import OPENS_AT

ANSWERS, BEFORE = 50, 5
LIMIT_SECONDS = 30
ALLOWED_MS = 10.0
"""What the gateway may add."""

_REST_SECONDS = 0.2
"""Between two answers, so that the pace of a bot is never what is measured."""


def drafting(program: Program) -> Program:
    """The same program, which shows its answers while they are written."""

    def configured(api: str, model: str, folder: Path) -> tuple[list[str], dict[str, str]]:
        arguments, environ = program(api, model, folder)
        path = folder / "config.toml"
        path.write_text(path.read_text().replace("[fermix_web]", 'streaming = "draft"\n[fermix_web]'))
        return [*arguments], environ

    return configured


@asynccontextmanager
async def daemon(folder: Path) -> AsyncGenerator[FirstWords]:
    """The daemon between its far sides, polling."""
    far = FirstWords()
    bot_api, port = await serve(far.chat)
    model = await asyncio.start_server(far.stream, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{model.sockets[0].getsockname()[1]}/v1"
    async with started(drafting(fermix), f"http://127.0.0.1:{port}", address, folder, far.polled):
        yield far
    bot_api.close()
    model.close()


async def delays(folder: Path) -> list[float]:
    """Milliseconds from the 30th character to the first words, for one answer after another."""
    found: list[float] = []
    async with daemon(folder) as far:
        for number in range(BEFORE + ANSWERS):
            far.begin()
            _replied = far.write(FIRST_CHAT + number)
            await asyncio.wait_for(far.done.wait(), LIMIT_SECONDS)
            words, when = far.seen
            if not ANSWER.startswith(words) or len(words) < OPENS_AT:
                raise SystemExit(f"what was seen first is no front of the answer: {words!r}")
            if number >= BEFORE:
                found.append((when - far.written) * 1000)
            await asyncio.sleep(_REST_SECONDS)
    return found


async def run(rounds: int) -> None:
    """Measure, and print the table."""
    with tempfile.TemporaryDirectory(prefix="fermix-words-") as made:
        every = [await delays(Path(tempfile.mkdtemp(dir=made))) for _ in range(rounds)]
    allowed = [ALLOWED_MS] * rounds
    figures = [
        Figure(
            name=f"the model's character {OPENS_AT} to the first words in the chat, median",
            unit="ms",
            rounds=[median(each) for each in every],
            floor=allowed,
            goal=1,
        ),
        Figure(
            name="… 95th percentile",
            unit="ms",
            rounds=[quantiles(each, n=20)[18] for each in every],
            floor=allowed,
            goal=1,
        ),
    ]
    print(circumstances(rounds=rounds), table(figures), sep="\n\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_words", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    asyncio.run(run(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
