"""The stages of the way in, each over many messages as an adapter hands them over."""

from collections.abc import Callable
from functools import partial

from benchmarks.stages.timing import Spread, timed
from fermix.application.gateway.dedupe import WebhookMemory
from fermix.application.gateway.stages import STAGES, Candidate, Door, Ended, walk
from fermix.application.ports.channel import ChannelFeatures, Offered
from fermix.domain.authorization import ChannelAccess, Policies, authorise
from fermix.domain.ids import AccountId, ChannelName, UserId
from fermix.domain.normalise import RawMessage, Registration
from fermix.infrastructure.system.clock import SystemClock

CHANNEL = ChannelName("telegram")
GUESTS = 1000
OWNER = UserId("1001")
DOOR = Door(
    registration=Registration(channel=CHANNEL, account=AccountId("5000")),
    features=ChannelFeatures(webhook=True),
    reads_media=True,
    bot_name="fermix_bot",
)

POLICIES = Policies(
    channels={
        ChannelName(name): ChannelAccess(
            owner=OWNER, allowed=frozenset(UserId(str(number)) for number in range(2000, 2000 + GUESTS))
        )
        for name in ("telegram", "whatsapp", "slack", "discord", "signal")
    }
)
"""Every channel with a thousand guests."""

SENDERS: dict[str, tuple[UserId, ...]] = {
    "the owner": (OWNER,),
    "a guest": (UserId("2999"),),
    "a guest with three ids": (UserId("uuid-1"), UserId("+4917000"), UserId("2999")),
    "a stranger": (UserId("9999"),),
}


def written(number: int) -> RawMessage:
    """A message of 60 characters in a group, with what Telegram tells of it."""
    return {
        "id": number,
        "content": f"{number}: " + "word " * 11,
        "sender": "Ann",
        "sender_id": 1001 if number % 2 else 2000 + number % GUESTS,
        "chat_id": -100700 - number % 50,
        "chat_kind": "group",
        "chat_title": "Friends",
        "reply_target": -100700 - number % 50,
        "thread_ts": number % 7 or None,
        "mentions": [{"id": "fermix_bot", "start": 0, "end": 3, "is_us": True}],
        "mentions_detectable": True,
        "references": [{"kind": "reply", "message": number - 1, "author": "Bob", "text": "what?"}],
    }


def candidates(count: int) -> list[Candidate]:
    """Messages that no stage has seen."""
    memory = WebhookMemory(SystemClock())
    return [
        Candidate(door=DOOR, offered=Offered(message=written(number)), policies=POLICIES, memory=memory)
        for number in range(count)
    ]


def stage_by_stage(count: int) -> dict[str, Spread]:
    """Each stage over what the one before has left, and the whole way."""
    found: dict[str, Spread] = {}
    at = candidates(count)
    for stage in STAGES:
        found[stage.__name__] = timed([partial(stage, each) for each in at])
        at = _after(STAGES.index(stage) + 1, count)
    found["the whole way"] = timed([partial(walk, each) for each in candidates(count)])
    return found


def _after(stages: int, count: int) -> list[Candidate]:
    """Messages as the first stages leave them; made anew, since a stage that remembers would find twins."""
    found: list[Candidate] = []
    for step in candidates(count):
        left: Candidate | Ended = step
        for stage in STAGES[:stages]:
            if isinstance(left, Ended):
                raise TypeError(f"a message meant to come in did not: {left.ending}")
            left = stage(left)
        if isinstance(left, Candidate):
            found.append(left)
    return found


def authorisations(count: int) -> dict[str, Spread]:
    """The decision alone, about senders of every kind."""
    return {
        name: timed([partial(authorise, CHANNEL, ids, POLICIES)] * count) for name, ids in SENDERS.items()
    }


def looked_up(count: int) -> Spread:
    """The floor: one look into a dictionary of as many ids, by a text that is another object each time."""
    known = dict.fromkeys((str(number) for number in range(2000, 2000 + GUESTS)), "guest")
    calls: list[Callable[[], object]] = [
        partial(known.get, str(2000 + number % GUESTS)) for number in range(count)
    ]
    return timed(calls)
