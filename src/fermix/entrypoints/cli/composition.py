"""One question out of its pieces: what is asked, and the texts that go with it. Pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

MAX_CHARACTERS = 1_000_000
"""Of the request and all that goes with it, the delimiters not counted."""

_SHORTEST_FENCE = 3


class Attached(NamedTuple):
    """A text that goes with the request; `name` says where it comes from."""

    name: str
    text: str


class NothingAsked(Exception):
    """There is no request, or a blank one."""


class TooLong(Exception):
    """The pieces have more than `MAX_CHARACTERS` characters together; the message names the limit."""

    def __init__(self) -> None:
        super().__init__(
            f"The request and the texts that go with it are longer than {MAX_CHARACTERS:,} characters, the limit."
        )


def compose(request: str, attached: Sequence[Attached], *, may_be_blank: bool = False) -> str:
    """The request alone as it is, or followed by one delimited block for each text.

    A block's fence is longer than any run of its character inside, so no text can end its own block.

    Args:
        request: what is asked.
        attached: the texts that go with it.
        may_be_blank: something goes along that may say it all, a voice note for example.

    Raises:
        NothingAsked: the request is blank.
        TooLong: everything together is over the limit.
    """
    if not request.strip() and not may_be_blank:
        raise NothingAsked
    if len(request) + sum(len(one.text) for one in attached) > MAX_CHARACTERS:
        raise TooLong
    return "\n\n".join([*([request] if request.strip() else []), *(_block(one) for one in attached)])


def _block(attached: Attached) -> str:
    longest = max((len(run) for run in re.findall("`+", attached.text)), default=0)
    fence = "`" * max(_SHORTEST_FENCE, longest + 1)
    newline = "" if attached.text.endswith("\n") else "\n"
    return f"{attached.name}:\n{fence}\n{attached.text}{newline}{fence}"
