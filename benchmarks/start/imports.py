"""Which modules a command loads, and what each of them costs."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_MAIN = "import sys; from fermix.entrypoints.cli.main import main; sys.exit(main(sys.argv[1:]))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One module; `own` is without what it imports itself. Microseconds, with the cost of looking added."""

    name: str
    own: int


def imports_of(arguments: Sequence[str], *, env: Mapping[str, str]) -> tuple[Import, ...]:
    """What a command line loads beyond a bare interpreter, dearest first."""
    bare = {each.name for each in _listed([sys.executable, "-X", "importtime", "-c", "pass"], env)}
    mine = _listed([sys.executable, "-X", "importtime", "-c", _MAIN, *arguments], env)
    return tuple(sorted((each for each in mine if each.name not in bare), key=lambda each: -each.own))


def _listed(arguments: Sequence[str], env: Mapping[str, str]) -> list[Import]:
    ended = subprocess.run(
        arguments, check=True, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, timeout=60
    )
    found: list[Import] = []
    for line in ended.stderr.splitlines():
        if line.startswith("import time:") and "[us]" not in line:
            own, _, name = line.removeprefix("import time:").split("|")
            found.append(Import(name=name.strip(), own=int(own)))
    return found
