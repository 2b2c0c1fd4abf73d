"""Whether signal-cli can be started here: which version it is, and which Java it finds."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from fermix.application.operations.doctor.report import Finding, fail, ok
from fermix.entrypoints.surroundings import without_secrets
from fermix.infrastructure.channels.signal.errors import CannotStart, Trouble, recognised

ANSWER_SECONDS = 15.0
"""How long signal-cli may take to tell its version: Java has to start for it."""

OLDEST = (0, 13)
_MAX_OUTPUT = 4096
_VERSION = re.compile(r"\b(\d+)\.(\d+)(?:\.\d+)*")
_QUOTED_VERSION = re.compile(r'"([^"]{1,40})"')
_REMEDY = "docs/signal.md says how to install it"


def look_at(cli_path: str, environ: Mapping[str, str]) -> Finding:
    """Start the program once, for its version alone: it touches no account, and asks nobody.

    Args:
        cli_path: as the settings name it.
        environ: the environment of the command; the program gets it without its secrets.
    """
    program = str(Path(cli_path).expanduser()) if "/" in cli_path else cli_path
    allowed = without_secrets(environ)
    found = shutil.which(program, path=environ.get("PATH", os.defpath))
    if found is None:
        return fail(str(CannotStart(Trouble.MISSING)), remedy=_REMEDY)
    try:
        done = _run([found, "--version"], allowed)
    except subprocess.TimeoutExpired:
        sentence = f"signal-cli does not tell its version within {ANSWER_SECONDS:g} s"
        return fail(sentence, remedy="start it by hand: `signal-cli --version`", details=_java(allowed))
    except OSError as exc:
        return fail(str(CannotStart(Trouble.FORBIDDEN, how=exc.strerror or "")), remedy=_REMEDY)
    if done.returncode != 0:
        told = (recognised(line) for line in done.stderr[:_MAX_OUTPUT].splitlines())
        trouble = next((one for one in told if one is not None), Trouble.OTHER)
        how = f"exit code {done.returncode}"
        return fail(str(CannotStart(trouble, how=how)), remedy=_REMEDY, details=_java(allowed))
    return _judged(done.stdout[:_MAX_OUTPUT].decode(errors="replace"), _java(allowed))


def _judged(told: str, java: tuple[str, ...]) -> Finding:
    version = _VERSION.search(told)
    if version is None:
        return fail("what cli_path names is not signal-cli: it tells no version", remedy=_REMEDY)
    if (int(version[1]), int(version[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return fail(f"signal-cli is version {version[0]}; {oldest} or newer is needed", remedy=_REMEDY)
    return ok(f"all that it needs is set; signal-cli is version {version[0]}", details=java)


def _java(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The Java that a script of signal-cli's would take; a native program needs none."""
    home = environ.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else shutil.which("java", path=environ.get("PATH", os.defpath))
    if program is None:
        return ("no Java is found in PATH or JAVA_HOME; only a native signal-cli does without",)
    try:
        done = _run([program, "-version"], environ)
    except (OSError, subprocess.TimeoutExpired):
        return (f"the Java at {program} cannot be started",)
    version = _QUOTED_VERSION.search(done.stderr[:_MAX_OUTPUT].decode(errors="replace"))
    return (f"the Java at {program} is version {version[1] if version else 'unknown'}",)


def _run(command: list[str], environ: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=ANSWER_SECONDS,
        env=dict(environ),
        check=False,
    )
