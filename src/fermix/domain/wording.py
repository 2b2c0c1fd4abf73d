"""Every sentence Fermix itself says to people and to the model, in one place and in one voice."""

import json
import math
from collections.abc import Iterable
from datetime import timedelta
from types import MappingProxyType

from fermix.domain.delivery import MediaPart, Part, ReactionPart
from fermix.domain.failure import Failure, FailureKind

LOOKS_EMPTY = "Your message looks empty — send some text or media I can read."
CANNOT_READ_MEDIA = "I cannot read pictures, voice and files here — please tell me in words what you need."
RESTARTING = "I'm restarting — please send your message again in a moment."
DISK_FULL = "My disk is full, so I could not take your message. Please send it again when there is space."
NOT_STORED = "I cannot write anything down just now. Please send your message again in a moment."
TOO_MUCH_WAITING_HERE = (
    "There is already too much waiting in this conversation. I did not take your last message; "
    "please send it again when I have caught up, or use /stop to clear what waits."
)
TOO_MUCH_WAITING_IN_ALL = (
    "I have too much waiting in all conversations together. I did not take your last message; "
    "please send it again later."
)
EMPTY_ANSWER = "No answer came this time. Please try again."
APOLOGY = "Sorry, something went wrong on my side and I could not answer. Please try again."
TRIED_TOO_OFTEN = (
    "Sorry, I was interrupted several times while working on your message and have given up on it. "
    "Please try again, perhaps in other words."
)
CUT_OFF = "I was cut off here by a restart. Please ask again if you need the rest."
ASK_AGAIN = "I was restarted while answering you. Please send your last message again."
PAUSED = (
    "I was restarted in the middle of a request that had already done something, and I cannot tell how far "
    "it came. This conversation is paused: /retry runs the request again, /discard drops it, /new starts "
    "afresh."
)

STOPPED_MARKER = "The request above was stopped by its owner. It is context only: do not act on it."
INTERRUPTED_MARKER = (
    "The request above was interrupted before it was answered. It is context only: do not act on it."
)
DISCARDED_MARKER = (
    "The request above was lost in a restart and then discarded by its owner. Do not act on it."
)
FAILED_MARKER = (
    "The request above got no answer because of a failure. It is context: act on it only when asked again."
)
PICTURE_REFUSED = "[A picture came with this. The model's provider refused it, so it is not shown.]"
EDITED_NOTE = "An earlier message was edited. It now reads as follows."

NEW_WINDOW = "Started a new conversation. Long-term memory and scheduled jobs are kept."
NO_MODEL_YET = "there is no language model yet; run `fermix setup`, or `fermix model install`"
ASK_INTERRUPTED = (
    "The request was interrupted and will not be run again. Please ask again if you still need it."
)
ASK_STOPPED = "The request was stopped."
ASK_REFUSED = "You may not use this agent."
ASKED_BEFORE = "A request with this id was taken before. Please ask again with a new one."
REPLY_LOST = "The command took effect, but its reply got lost."
COMMAND_TAKEN_BEFORE = (
    "This command was taken before, but its reply got lost; `fermix queue list` shows how things stand."
)
NEEDS_OWNER = "Only the owner may use this command."
NO_SANDBOX = "There is nothing here that the agent could reach."


NOTHING_TO_DISCARD = "No lost request waits to be discarded."
NOTHING_TO_RETRY = "No lost or failed request is kept that could be run again."


def discarded(turn: int) -> str:
    """The reply to `/discard`."""
    return f"Discarded request {turn}. Its conversation goes on."


def retried(turn: int) -> str:
    """The reply to `/retry`."""
    return f"Request {turn} will run again."


def restarted_during(command: str) -> str:
    """For a command whose work outside the ledger was cut off: it is reported, never repeated."""
    return f"I was restarted during /{command}. Please look whether it took effect, and repeat it if needed."


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def stopped(*, running: int, waiting: int) -> str:
    """The reply to `/stop`: what it ended, in all conversations."""
    if not running and not waiting:
        return "Nothing was running and nothing was waiting."
    ended = []
    if running:
        ended.append(_count(running, "running request", "running requests"))
    if waiting:
        ended.append(_count(waiting, "waiting message", "waiting messages"))
    return f"Stopped {' and '.join(ended)}, in all conversations. Scheduled jobs are not affected."


def answered_with(shown: Iterable[Part]) -> str:
    """The marker in the place of words, after a turn that answered by what it showed."""
    parts = tuple(shown)
    files = [part.file_name for part in parts if isinstance(part, MediaPart)]
    emoji = [part.emoji for part in parts if isinstance(part, ReactionPart)]
    said = [f"with the file {json.dumps(name, ensure_ascii=False)}" for name in files]
    said += [f"with the reaction {emoji[-1]}"] if emoji else []
    return f"You answered the message above {' and '.join(said)}, and without words."


def step_limit(limit: int) -> str:
    """The detail of a turn that used up its steps."""
    return f"{limit} steps"


def _wait(retry_after: timedelta | None) -> str:
    if retry_after is None:
        return "Please try again in a while."
    seconds = max(1, math.ceil(retry_after.total_seconds()))
    if seconds < 90:
        return f"Please try again in {_count(seconds, 'second', 'seconds')}."
    return f"Please try again in about {_count(math.ceil(seconds / 60), 'minute', 'minutes')}."


_FAILED = MappingProxyType(
    {
        FailureKind.NO_MODEL: (
            "There is no language model I can use yet{detail}. Run `fermix setup` on my machine to set up a "
            "provider, or `fermix model install` for the small built-in one."
        ),
        FailureKind.CREDENTIAL_MISSING: (
            "No API key is set for {provider}{detail}. Run `fermix setup` on my machine, or set `api_key` under "
            "[fermix_core.providers.{section}] in the configuration file, or its environment variable."
        ),
        FailureKind.CREDENTIAL_REFUSED: (
            "{provider} refused the API key{detail}. Check the key and set a valid one."
        ),
        FailureKind.UNKNOWN_MODEL: (
            "{provider} does not know {model}{detail}. Choose another `default_model`."
        ),
        FailureKind.RATE_LIMITED: "{provider} has reached its usage limit{detail}. {wait}",
        FailureKind.CONTEXT_TOO_LONG: (
            "This conversation is too long for {model}{detail}. Use /new to start afresh; long-term memory is "
            "kept."
        ),
        FailureKind.IMAGE_UNSUPPORTED: (
            "{model} at {provider} cannot see pictures{detail}. Choose a model with vision (if this one has it, "
            "set `vision = true` under [fermix_core.providers.{section}]), or send text only."
        ),
        FailureKind.IMAGE_REFUSED: (
            "{provider} did not take the picture{detail}. Send it in another form, or tell me in words what it "
            "shows."
        ),
        FailureKind.TIMED_OUT: "{provider} took too long to answer{detail}. Please try again.",
        FailureKind.UNREACHABLE: (
            "I could not reach {provider}{detail}. Check the network and its address, then try again."
        ),
        FailureKind.PROVIDER_FAILED: "{provider} failed to answer{detail}. Please try again.",
        FailureKind.EMPTY_ANSWER: EMPTY_ANSWER,
        FailureKind.STEP_LIMIT: (
            "I reached the limit for one request{detail} before I was done. Please ask for less at once."
        ),
        FailureKind.LOOPING: (
            "I was repeating the same step without getting further, so I stopped. Please rephrase the "
            "request."
        ),
        FailureKind.INTERNAL: APOLOGY,
    }
)


def failed(failure: Failure) -> str:
    """What the person who asked reads when a turn failed: a sentence that says what to do.

    Only commands that exist are named.
    """
    text = _FAILED[failure.kind].format(
        provider=failure.provider or "the model provider",
        section=failure.provider or "<name>",
        model=f"the model “{failure.model}”" if failure.model else "the chosen model",
        detail=f" ({failure.detail.rstrip('.')})" if failure.detail else "",
        wait=_wait(failure.retry_after),
    )
    return text.replace("the ", "The ", 1) if text.startswith("the ") else text
