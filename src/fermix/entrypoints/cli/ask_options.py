"""What `fermix ask` was told, and the quick way to read it.

The quick way understands plain command lines and leaves everything else (`--help`, mistakes, abbreviations, glued
values) to click, whose import takes longer than a running daemon takes to answer. A property test holds both to
the same result.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from fermix.infrastructure.local_socket.protocol import MAX_NAME_CHARACTERS


class AskOptions(NamedTuple):
    """One command line of `ask`.

    Attributes:
        text: the request; `-` for standard input; `None` when the request comes from a pipe.
        files: what goes with the request, by path.
        session: the conversation; `None` for the usual one.
        new: begin a new conversation first.
        model: which model answers; `None` for the configured one.
        json: one JSON document on stdout.
        stream_json: one JSON object a line on stdout, as things happen; never together with `json`.
        timeout: seconds until the request is given up.
        verbose: tell on stderr what happens.
        no_input: never read standard input.
        save_to: the folder for files that come with the answer; `None` for the current one.
    """

    text: str | None = None
    files: tuple[str, ...] = ()
    session: str | None = None
    new: bool = False
    model: str | None = None
    json: bool = False
    stream_json: bool = False
    timeout: float | None = None
    verbose: bool = False
    no_input: bool = False
    save_to: str | None = None


def read_plain(arguments: Sequence[str]) -> AskOptions | None:
    """The options of a plain command line, or `None` when it is for click to read."""
    options = AskOptions()
    texts: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        argument = waiting.pop()
        if argument == "--":
            texts += reversed(waiting)
            break
        if argument == "-" or not argument.startswith("-"):
            texts.append(argument)
            continue
        read = _read_flag(options, argument) or (
            _read_value(options, argument, waiting.pop()) if waiting else None
        )
        if read is None:
            return None
        options = read
    if len(texts) > 1 or contradicted(options) is not None:
        return None
    return options._replace(text=texts[0]) if texts else options


def contradicted(options: AskOptions) -> str | None:
    """What is wrong with options that exclude each other, as a sentence, or `None`."""
    if options.session is not None and options.new:
        return "--session continues a conversation and --new begins one; give one of them."
    if options.json and options.stream_json:
        return "--json prints one document and --stream-json many; give one of them."
    return None


def wrong_session(value: str) -> str | None:
    """What is wrong with the name of a conversation, as the rest of a sentence, or `None`."""
    if not value.strip():
        return "it must not be blank."
    if len(value) > MAX_NAME_CHARACTERS:
        return f"it must have at most {MAX_NAME_CHARACTERS} characters."
    return None


def valid_timeout(value: str) -> float | None:
    """Seconds as a positive, finite number, or `None` when it is none."""
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if 0 < seconds < math.inf else None


def _read_flag(options: AskOptions, argument: str) -> AskOptions | None:
    match argument:
        case "--json":
            return options._replace(json=True)
        case "--stream-json":
            return options._replace(stream_json=True)
        case "--new":
            return options._replace(new=True)
        case "-v" | "--verbose":
            return options._replace(verbose=True)
        case "--no-input":
            return options._replace(no_input=True)
        case _:
            return None


def _read_value(options: AskOptions, argument: str, value: str) -> AskOptions | None:
    match argument:
        case "-f" | "--file":
            return options._replace(files=(*options.files, value))
        case "--session" if wrong_session(value) is None:
            return options._replace(session=value)
        case "--model" if value.strip():
            return options._replace(model=value)
        case "--save-to" if value:
            return options._replace(save_to=value)
        case "--timeout" if (seconds := valid_timeout(value)) is not None:
            return options._replace(timeout=seconds)
        case _:
            return None
