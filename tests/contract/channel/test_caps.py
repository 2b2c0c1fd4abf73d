"""The limits of each channel: one table that adapters declare and pages say."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from fermix.application.ports.channel import ChannelFeatures
from fermix.domain.caps import CAPS, MIB
from fermix.domain.ids import ChannelName
from fermix.testing.channel_conformance import ChannelHarness
from tests.contract.channel.cli_far_side import CliHarness
from tests.contract.channel.test_live_abilities import HARNESSES

pytestmark = pytest.mark.anyio

OURS: Mapping[str, ChannelHarness] = {
    **{name: harness for name, harness in HARNESSES.items() if name != "memory"},
    "cli": CliHarness(),
}

PAGES = Path(__file__).parents[3] / "docs"

SAID: Mapping[str, tuple[str, ...]] = {
    "telegram": (
        "4,096 UTF-16 units",
        "1,024 UTF-16 units",
        "pictures (up to 10 MB)",
        "documents, music and videos (50 MB)",
        "voice notes (1 MB)",
        "files of up to 20 MB come in",
        "24 emoji",
    ),
    "whatsapp": (
        "Files to 25 MB come in",
        "pictures to 5 MB",
        "audio, voice and video to 16 MB",
        "documents to 100 MB",
        "4,096 characters",
    ),
    "slack": ("Files to 100 MB come in and go out", "40,000 characters"),
    "discord": ("2,000 characters", "Files of up to 10 MB go out", "what people attach may have 100 MB"),
    "signal": ("Files of up to 100 MB both ways", "Any length is one message"),
}
"""What the page of each messenger tells its reader of the limits."""

NUMBER = re.compile(r"([0-9][0-9,]*) (MB|characters|UTF-16 units)")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.requirement("outbound_media.caps", "deliver.text_limits")
@pytest.mark.parametrize("name", OURS)
async def test_an_adapter_declares_what_the_table_says(name: str) -> None:
    async with OURS[name].open() as opened:
        declared = opened.channel.features
    expected = ChannelFeatures.within(CAPS[ChannelName(name)])
    fields = ("max_text", "text_unit", "media_out", "media_in", "reactions")
    assert {field: getattr(declared, field) for field in fields} == {
        field: getattr(expected, field) for field in fields
    }


def test_every_channel_of_the_table_is_looked_at() -> None:
    assert {ChannelName(name) for name in OURS} == CAPS.keys()


@pytest.mark.parametrize("name", SAID)
def test_a_page_says_the_numbers_of_the_table(name: str) -> None:
    page = " ".join((PAGES / f"{name}.md").read_text().split())
    assert [words for words in SAID[name] if words not in page] == []
    caps = CAPS[ChannelName(name)]
    known = {f"{cap.max_bytes // MIB:,} MB" for cap in caps.media_out.values()}
    known |= {f"{(caps.media_in or 0) // MIB:,} MB", f"{caps.max_text or 0:,} characters"}
    known |= {f"{length:,} UTF-16 units" for length in (4096, 1024)}
    assert {" ".join(found) for words in SAID[name] for found in NUMBER.findall(words)} <= known
