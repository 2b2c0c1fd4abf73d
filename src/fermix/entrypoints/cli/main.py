"""The `fermix` command. What need not be loaded is not: a version or an answer of the daemon comes at once."""

import sys
from collections.abc import Sequence

from fermix.version import __version__


def unsupported(platform: str) -> str | None:
    """Why Fermix does not run on this platform (a value of `sys.platform`), or `None` where it does."""
    if platform in {"win32", "cygwin", "msys"}:
        return "Fermix runs on Linux and macOS; on Windows, please run it inside WSL (https://aka.ms/wsl)."
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give back its exit status.

    Args:
        arguments: without the program's name; those of the process when `None`.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given in (["--version"], ["version"]):
        print(f"fermix {__version__}")  # noqa: T201 - the product of this command
        return 0
    refusal = unsupported(sys.platform)
    if refusal is not None:
        sys.stderr.write(f"fermix: {refusal}\n")
        return 1
    try:
        from fermix.entrypoints.cli.process import run

        return run(given)
    except KeyboardInterrupt:
        return 130  # also while the modules are still being loaded


if __name__ == "__main__":
    sys.exit(main())
