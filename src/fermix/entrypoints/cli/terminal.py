"""What a command has of the process around it."""

import os
import sys
from collections.abc import Mapping
from typing import NamedTuple, TextIO


class Terminal(NamedTuple):
    """The environment and the three streams.

    Attributes:
        input: the descriptor of standard input.
    """

    environ: Mapping[str, str]
    input: int
    out: TextIO
    err: TextIO


def this_terminal() -> Terminal:
    """Those of this process."""
    return Terminal(environ=os.environ, input=0, out=sys.stdout, err=sys.stderr)
