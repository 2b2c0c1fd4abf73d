"""A reply over the limit of its channel is committed as several parts, and they leave in order."""

import anyio
import pytest

from fermix.application.ports.channel import ChannelFeatures
from fermix.application.turns.settle import Ending, SettleTurn
from fermix.domain.delivery import ROOM_FOR_MARK, TextPart, mark_repeated
from fermix.domain.splitting import TextUnit, units
from fermix.domain.turn import Outcome
from tests.unit.application.house import TEST, build
from tests.unit.application.test_gateway import opened

pytestmark = pytest.mark.anyio


async def parts_of(text: str, features: ChannelFeatures) -> list[str]:
    """What a reply of that text arrives as."""
    house = build(opened())
    settle = SettleTurn(
        turns=house.ledger.turns,
        deliverer=house.deliverer,
        events=house.events,
        clock=house.clock,
        features={TEST: features},
    )
    await house.ledger.ownership.take(instance="t", boot="b")
    await house.write("hello")
    (claim,) = (await house.ledger.turns.claim(limit=1, channels={TEST})).turns
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.deliverer.run)
        await settle(claim, Ending(outcome=Outcome.COMPLETED, text=text))
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    return [part.body.text for part in house.channel.sent]


async def test_a_short_reply_is_one_part() -> None:
    assert await parts_of("hi", ChannelFeatures(max_text=100)) == ["hi"]


async def test_a_channel_without_limit_gets_the_whole() -> None:
    assert await parts_of("x" * 10_000, ChannelFeatures()) == ["x" * 10_000]


async def test_what_nobody_would_see_of_an_answer_is_no_part_of_it() -> None:
    assert await parts_of("word " * 30 + "\x07" * 150, ChannelFeatures(max_text=150 + ROOM_FOR_MARK)) == [
        ("word " * 30).rstrip()
    ]


@pytest.mark.requirement("deliver.mark_fits_the_cap", "deliver.splits_at_the_cap")
async def test_a_long_reply_leaves_in_order_and_each_part_has_room_for_the_mark() -> None:
    text = "\n".join(f"line {number} 🙂" for number in range(60))
    features = ChannelFeatures(max_text=200, text_unit=TextUnit.UTF16)
    parts = await parts_of(text, features)
    assert text.startswith("\n".join(parts))
    assert len(parts) > 2
    for part in parts:
        assert units(mark_repeated(TextPart(text=part)).text, TextUnit.UTF16) <= 200


def test_the_room_for_the_mark_is_what_the_mark_takes() -> None:
    assert len(mark_repeated(TextPart(text="x")).text) == 1 + ROOM_FOR_MARK
