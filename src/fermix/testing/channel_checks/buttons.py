"""Checks of buttons: they stand under their message, and a tap on one is what its tapper says.

A channel without buttons promises only that a message which could have some is sent all the same.
"""

from functools import partial

from fermix.application.ports.channel import Buttons, ChannelError, ShowsButtons, Verdict
from fermix.domain.delivery import Choice, TextPart
from fermix.testing.channel_checks.check import (
    ChannelCheck,
    DirectedInbox,
    error_of,
    in_time,
    inbound,
    listening,
    proves,
)
from fermix.testing.channel_checks.stepping import cancelled_at
from fermix.testing.channel_harness import ChannelHarness, OpenChannel, TapsButtons
from fermix.testing.checks import CannotArrange
from fermix.testing.expectations import PromiseBroken, must_equal

TOKEN = "ABCDEFGH"  # noqa: S105 - the form of one
UNKNOWN = "ZZZZZZZZ"
QUESTION = "May I open the garden?"
TAPPED = f"/confirm {TOKEN}"

_MOST_STEPS = 500


def _buttons(opened: OpenChannel) -> tuple[Buttons, TapsButtons] | None:
    channel, far_side = opened.channel, opened.far_side
    buttons = channel.buttons if isinstance(channel, ShowsButtons) else None
    if buttons is None:
        return None
    if not isinstance(far_side, TapsButtons):
        raise CannotArrange("the channel has buttons, and nobody on the far side can tap them")
    return buttons, far_side


async def _ask(harness: ChannelHarness, opened: OpenChannel) -> None:
    question = TextPart(text=QUESTION, choices=(Choice(label="Approve", token=TOKEN),))
    try:
        await opened.channel.send(opened.part_of(question))
    except ChannelError as exc:
        raise PromiseBroken(f"a message with a button: expected to be sent, found {exc!r}") from exc
    with in_time(harness, "a message with a button"):
        shown = [each.text for each in await opened.far_side.shown(1)]
    must_equal(shown, [QUESTION], "what is shown")


async def _hears(harness: ChannelHarness, opened: OpenChannel, inbox: DirectedInbox) -> None:
    """Some platforms tell of a tap once, and only to whoever listens."""
    opened.far_side.user_writes("are you there?")
    with in_time(harness, "a message"):
        await inbox.was_offered(1)


@proves()
async def buttons_stand_under_their_message(harness: ChannelHarness) -> None:
    """A message with a choice is shown as it is, with a button where there are any; one without has none."""
    async with harness.open() as opened:
        await _ask(harness, opened)
        able = _buttons(opened)
        must_equal(await error_of(opened, "no choice"), None, "the error of a message without a choice")
        if able is not None:
            with in_time(harness, "a button"):
                must_equal(await able[1].buttons(1), 1, "buttons")


@proves()
async def a_tap_is_a_message_of_whoever_tapped(harness: ChannelHarness) -> None:
    """Each tap is offered as the command it stands for, marked as a tap, under a key that no other tap has."""
    inbox = DirectedInbox()
    async with harness.open() as opened:
        able = _buttons(opened)
        if able is None:
            return
        await _ask(harness, opened)
        async with listening(opened.channel, inbox):
            await _hears(harness, opened, inbox)
            for number in (1, 2):
                able[1].user_taps(TOKEN)
                with in_time(harness, "a tap"):
                    await inbox.was_offered_text(TAPPED, times=number)
        taps = [inbound(opened.channel, raw) for raw in inbox.offered if raw.get("content") == TAPPED]
    must_equal([tap.tap for tap in taps], [True, True], "whether they are taps")
    must_equal(len({tap.key for tap in taps}), 2, "the number of different keys")


@proves()
async def a_tap_that_does_not_count_is_told_in_private(harness: ChannelHarness) -> None:
    """Whoever may not answer is told so alone, and the button stays for whoever may."""
    inbox = DirectedInbox(Verdict.ACCEPTED, Verdict.DROPPED)
    async with harness.open() as opened:
        able = _buttons(opened)
        if able is None:
            return
        await _ask(harness, opened)
        async with listening(opened.channel, inbox):
            await _hears(harness, opened, inbox)
            able[1].user_taps(TOKEN)
            with in_time(harness, "a refusal"):
                must_equal(await able[1].refusals(1), 1, "refusals")
        must_equal(await able[1].buttons(1), 1, "buttons that are left")
        must_equal([each.text for each in await opened.far_side.shown(1)], [QUESTION], "what all see")


@proves()
async def closed_buttons_are_gone(harness: ChannelHarness) -> None:
    """Buttons that are closed go and the words stay; that they are gone, or were never there, is no error."""
    async with harness.open() as opened:
        able = _buttons(opened)
        if able is None:
            return
        await _ask(harness, opened)
        target = opened.part("").target
        with in_time(harness, "the end of a button"):
            for token in (UNKNOWN, TOKEN, TOKEN):
                try:
                    await able[0].close(target, token)
                except ChannelError as exc:
                    raise PromiseBroken(f"closing a button: expected no error, found {exc!r}") from exc
            must_equal(await able[1].buttons(0), 0, "buttons that are left")
        must_equal([each.text for each in await opened.far_side.shown(1)], [QUESTION], "what is shown")


@proves()
async def closing_can_be_left_at_every_await(harness: ChannelHarness) -> None:
    """Cancelled wherever it waits, closing ends by that, and the next part is sent."""
    for step in range(1, _MOST_STEPS):
        async with harness.open() as opened:
            able = _buttons(opened)
            if able is None:
                return
            await _ask(harness, opened)
            target = opened.part("").target
            with in_time(harness, f"the end of closing that was cancelled at its await {step}"):
                came = await cancelled_at(step, partial(able[0].close, target, TOKEN))
            with in_time(harness, "the next part"):
                must_equal(await error_of(opened), None, f"the error of the next part (await {step})")
            if not came.asked:
                return
            must_equal(came.obeyed, True, f"whether closing, cancelled at its await {step}, ended by that")
    raise PromiseBroken(f"closing: expected less than {_MOST_STEPS} awaits")


CHECKS: tuple[ChannelCheck, ...] = (
    buttons_stand_under_their_message,
    a_tap_is_a_message_of_whoever_tapped,
    a_tap_that_does_not_count_is_told_in_private,
    closed_buttons_are_gone,
    closing_can_be_left_at_every_await,
)
