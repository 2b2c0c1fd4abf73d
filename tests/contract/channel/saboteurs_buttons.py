"""Channels with one fault each about buttons, by the check that is there to notice it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import anyio
import anyio.lowlevel
from typing_extensions import override

from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.channel import (
    Buttons,
    ChannelRejected,
    Delivered,
    Inbox,
    Offered,
    OutgoingPart,
    Verdict,
)
from fermix.domain.delivery import TextPart, choices_of
from fermix.domain.normalise import RawMessage
from fermix.domain.route import Target
from tests.contract.channel.faulty import Between, Faulty
from tests.contract.channel.memory_far_side import MakeChannel


class ForgetsTheChoices(Faulty):
    """But it remembers what their buttons would have been, for whoever taps."""

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        delivered = await super().send(part)
        if isinstance(part.body, TextPart) and part.body.text == "no choice":
            for posted in self.platform.posted:
                for choice in choices_of(posted.part.body):
                    self.platform.close(choice.token)
        return delivered


class TakesTapsForOne(Faulty):
    """Every tap under one message has the key of the first."""

    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        async def accept(offered: Sequence[Offered], move: CursorMove | None) -> tuple[Verdict, ...]:
            changed = [
                replace(each, message=RawMessage({**each.message, "key": f"tap:{each.message.get('id')}"}))
                if each.message.get("tap")
                else each
                for each in offered
            ]
            return await inbox.accept(changed, cursor=move)

        await super().run(Between(inbox, accept), cursor=cursor)


class TellsEverybody(Faulty):
    """Who may not answer is told so where all can read it."""

    @override
    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        async def accept(offered: Sequence[Offered], move: CursorMove | None) -> tuple[Verdict, ...]:
            verdicts = await inbox.accept(offered, cursor=move)
            for each, verdict in zip(offered, verdicts, strict=True):
                if each.message.get("tap") and verdict is Verdict.DROPPED:
                    under = self.platform.posted[0].part
                    told = replace(under, body=TextPart(text="you may not answer this"), nonce="told")
                    await self.inside.send(told)
            return verdicts

        await super().run(Between(inbox, accept), cursor=cursor)


class _Closing:
    def __init__(self, inside: Buttons) -> None:
        self.inside = inside
        self.closed: set[str] = set()

    async def close(self, target: Target, token: str) -> None:
        await self.inside.close(target, token)


class _ComplainsOfTheSecondTime(_Closing):
    @override
    async def close(self, target: Target, token: str) -> None:
        if token in self.closed:
            raise ChannelRejected("there is no such button")
        self.closed.add(token)
        await super().close(target, token)


class _Stays(_Closing):
    @override
    async def close(self, target: Target, token: str) -> None:
        with suppress(anyio.get_cancelled_exc_class()):
            await super().close(target, token)


class ComplainsOfTheSecondTime(Faulty):
    @property
    @override
    def buttons(self) -> Buttons | None:
        inside = super().buttons
        if inside is None:
            return None
        self._kept = getattr(self, "_kept", None) or _ComplainsOfTheSecondTime(inside)
        return self._kept


class StaysWhenItIsToLeave(Faulty):
    @property
    @override
    def buttons(self) -> Buttons | None:
        inside = super().buttons
        return None if inside is None else _Stays(inside)


SABOTEURS_BUTTONS: tuple[tuple[str, MakeChannel], ...] = (
    ("buttons_stand_under_their_message", ForgetsTheChoices),
    ("a_tap_is_a_message_of_whoever_tapped", TakesTapsForOne),
    ("a_tap_that_does_not_count_is_told_in_private", TellsEverybody),
    ("closed_buttons_are_gone", ComplainsOfTheSecondTime),
    ("closing_can_be_left_at_every_await", StaysWhenItIsToLeave),
)
