"""The random-history experiment: a gateway over a ledger whose process dies at any moment, and what must hold.

A history is people who write to three chats of a polling platform (texts, files, albums, commands that are
written or said), chats that go on under another id, files that are prepared in several attempts, turns with
effects of every sort, replies in several parts whose sends and acknowledgements get lost, and a process that dies
between any two of its doings, or with the whole machine. It ends when everything that was begun has ended. The
same seed gives the same history over the same ledger.
"""

from random import Random

from fermix.domain.history import HistoryEntry
from fermix.domain.ids import ChatId
from fermix.testing.history.events import Ask, Died, Fate, History, Said
from fermix.testing.history.gateway import ProcessDied, SimulatedGateway
from fermix.testing.history.promises import Promise, Violation, check
from fermix.testing.history.saboteurs import BREAKS, SABOTEURS, Sabotage
from fermix.testing.history.world import World, chat_at
from fermix.testing.ledger_harness import LedgerHarness, OpenLedger

__all__ = ["BREAKS", "SABOTEURS", "History", "Promise", "Sabotage", "Violation", "check", "run_history"]


async def run_history(
    harness: LedgerHarness, *, seed: int, power_cuts: bool, sabotage: Sabotage | None = None
) -> History:
    """Live one history over a fresh home.

    Args:
        harness: of a home that was never opened.
        seed: of everything that chance decides.
        power_cuts: whether half of the deaths take the machine's power with them.
        sabotage: plants a fault into every ledger that is opened.

    Raises:
        LedgerError: the ledger refused what it must not refuse.
    """
    world = World.begin(Random(seed), power_cuts=power_cuts)  # noqa: S311  histories must be repeatable
    while True:
        history = await _one_process(harness, world, seed=seed, sabotage=sabotage)
        if history is not None:
            return history


async def _one_process(
    harness: LedgerHarness, world: World, *, seed: int, sabotage: Sabotage | None
) -> History | None:
    deaths = sum(isinstance(event, Died) for event in world.events)
    async with harness.open() as opened:
        ledger = opened if sabotage is None else sabotage(opened)
        gateway = SimulatedGateway(ledger=ledger, clock=harness.clock, world=world)
        try:
            await gateway.start(instance=f"process-{deaths}", boot=f"boot-{deaths}")
            await gateway.live()
        except ProcessDied:
            await _die(harness, world)
            return None
        at_rest = await gateway.come_to_rest()
        return await _looked_back(ledger, world, seed=seed, at_rest=at_rest)


async def _die(harness: LedgerHarness, world: World) -> None:
    power_cut = world.power_cuts and world.chance.random() < 0.5
    world.events.append(Died(power_cut=power_cut))
    if power_cut:
        await harness.cut_power(world.chance)
    else:
        await harness.kill()


async def _looked_back(ledger: OpenLedger, world: World, *, seed: int, at_rest: bool) -> History:
    asked = [said for said in world.platform.said if said.ask is Ask.TURN]
    found = {said.key: await _fate(ledger, said) for said in asked}
    return History(
        seed=seed,
        events=tuple(world.events),
        fates={key: fate for key, fate in found.items() if fate is not None},
        remembered=await _remembered(ledger),
        at_rest=at_rest,
    )


async def _fate(ledger: OpenLedger, said: Said) -> Fate | None:
    status = await ledger.queue.find(origin="telegram:bot", key=said.key)
    if status is None:
        return None
    return Fate(turn=status.turn, state=status.state, outcome=status.outcome)


async def _remembered(ledger: OpenLedger) -> dict[ChatId, tuple[HistoryEntry, ...]]:
    """What the lanes of each chat hold, window after window."""
    remembered: dict[ChatId, tuple[HistoryEntry, ...]] = {}
    for lane in await ledger.conversations.summaries():
        for window in range(lane.window + 1):
            entries = await ledger.conversations.history(lane.lane, window=window)
            chat = chat_at(lane.route.chat)
            remembered[chat] = remembered.get(chat, ()) + entries
    return remembered
