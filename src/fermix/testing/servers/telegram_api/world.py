"""All that the server knows, behind one lock."""

import time
from dataclasses import dataclass, field
from typing import Any

from fermix.testing.servers.loopback import Platform
from fermix.testing.servers.telegram_api.chats import Chats
from fermix.testing.servers.telegram_api.flood import Flood
from fermix.testing.servers.telegram_api.polling import UpdateQueue
from fermix.testing.servers.telegram_api.records import Call, Fault, Json, Shown

BIRTH = 1_796_000_000
"""The Unix time at which the server starts, so that dates are plausible and the same in each run."""


@dataclass(slots=True, kw_only=True)
class World(Platform):
    """The state of one bot and its chats."""

    token: str
    bot_name: str
    real_limits: bool
    started: float
    chats: Chats = field(default_factory=Chats)
    flood: Flood = field(default_factory=Flood)
    messages: dict[tuple[int, int], Json] = field(default_factory=dict[tuple[int, int], Json])
    own: dict[tuple[int, int], Shown] = field(default_factory=dict[tuple[int, int], Shown])
    buttons: dict[tuple[int, int], Json] = field(default_factory=dict[tuple[int, int], Json])
    reactions: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    taps: set[str] = field(default_factory=set[str])
    commands: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict[str, tuple[str, bytes]])
    calls: list[Call] = field(default_factory=list[Call])
    faults: list[Fault] = field(default_factory=list[Fault])
    webhook: str = ""
    keeps_privacy: bool = False
    queue: UpdateQueue = field(init=False)

    def __post_init__(self) -> None:
        self.queue = UpdateQueue(self.changed)

    @property
    def bot_id(self) -> int:
        """The bot's user id."""
        return int(self.token.partition(":")[0])

    def me(self) -> Json:
        """The bot as `from` of its messages."""
        return {"id": self.bot_id, "is_bot": True, "first_name": "Fermix", "username": self.bot_name}

    def date(self) -> int:
        """Now, as Telegram writes it."""
        return BIRTH + int(time.monotonic() - self.started)

    def shown(self) -> list[Shown]:
        """The bot's messages as they read now, in the order they were sent."""
        return list(self.own.values())

    def add_file(self, data: bytes, path: str) -> str:
        """Keep a file; its id."""
        number = f"FILE{len(self.files) + 1:06d}AAABBBCCC"
        self.files[number] = (path, data)
        return number

    def take_fault(self, method: str, chat: int | None) -> Fault | None:
        """The fault that meets this call, used up by one."""
        for fault in self.faults:
            if fault.meets(method, chat):
                fault.left -= 1
                self.changed.notify_all()
                return fault
        return None

    def record(
        self, method: str, parameters: dict[str, Any], status: int, description: str, at: float
    ) -> None:
        """Write a call down."""
        with self.changed:
            self.calls.append(
                Call(method=method, parameters=parameters, status=status, description=description, at=at)
            )
            self.changed.notify_all()
