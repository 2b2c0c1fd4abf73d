"""Where the home is: the one question that must be answered before anything can be read."""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

CONFIG_FILE = "config.toml"


def resolve_user_home(environ: Mapping[str, str]) -> Path:
    """The person's home folder: `HOME`, or the account's entry where `HOME` is unset or blank (cron, services)."""
    return Path(environ.get("HOME", "").strip() or pwd.getpwuid(os.getuid()).pw_dir)


def resolve_home(environ: Mapping[str, str], *, cwd: Path) -> Path:
    """The absolute path of the home that holds everything; nothing is created or looked at.

    Args:
        environ: the environment; `FERMIX_HOME` decides, blank counts as unset, a leading `~` is the person's home.
        cwd: the absolute folder that a relative `FERMIX_HOME` is relative to.

    Returns:
        `FERMIX_HOME` made absolute (`..` resolved textually, links kept), else `~/.fermix`.
    """
    wanted = environ.get("FERMIX_HOME", "").strip()
    path = Path(wanted) if wanted else Path("~/.fermix")
    return absolute_path(path, base=cwd, user_home=resolve_user_home(environ))


def absolute_path(path: Path, *, base: Path, user_home: Path) -> Path:
    """Expand a leading `~` and make a relative path absolute against `base`."""
    if path.parts[:1] == ("~",):
        path = user_home.joinpath(*path.parts[1:])
    return Path(os.path.normpath(base / path))
