"""Finding the conformance suites of a module and running them, with pytest."""

import importlib
import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from fermix.testing.checks import Check, Gap
from fermix.testing.suites import SUITES, Conformance

if TYPE_CHECKING:
    import pytest

Suite: TypeAlias = type[Conformance[Any]]

PLACE = "conformance"
"""The submodule that is looked at when the named module itself holds no suite."""


class ConformanceUnavailable(Exception):
    """The suites cannot be run; the text is a sentence. `code` is one word for programs."""

    def __init__(self, text: str, *, code: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one run of one check ended.

    Attributes:
        suite: the name of its class.
        check: its id, with the event loop where there are several.
        failure: what was not kept; `None` when it is kept.
        gap: the gap that was declared for it, and met.
    """

    suite: str
    check: str
    failure: str | None = None
    gap: Gap | None = None


def find_suites(name: str) -> tuple[Suite, ...]:
    """The suites that a module holds, or else its submodule `conformance`.

    Raises:
        ConformanceUnavailable: pytest is not installed, a module cannot be imported, or it holds no suite.
    """
    if find_spec("pytest") is None:
        raise ConformanceUnavailable(
            "pytest runs the suites and is not installed: pip install pytest", code="no_pytest"
        )
    module = _imported(name)
    suites = _suites_in(module)
    if not suites and hasattr(module, "__path__") and find_spec(f"{name}.{PLACE}") is not None:
        suites = _suites_in(_imported(f"{name}.{PLACE}"))
    if not suites:
        bases = ", ".join(suite.__name__ for suite in SUITES)
        raise ConformanceUnavailable(
            f"{name} holds no suite: a class of its own that is one of {bases}, with a method harness",
            code="no_suite",
        )
    return suites


def run_suites(suites: Sequence[Suite], *, tell: Callable[[Outcome], None]) -> bool:
    """Run every check of every suite, each with a harness of its own.

    Args:
        suites: as `find_suites` gives them.
        tell: called when a check has ended.

    Returns:
        Whether every promise is kept but for the declared gaps.

    Raises:
        KeyboardInterrupt: somebody stopped it.
    """
    import pytest  # noqa: PLC0415 - an extra, and only this needs it

    watching = _Watching(suites, tell)
    status = pytest.main(
        [
            # Neither the folder one happens to be in nor what else is installed has a say.
            "--disable-plugin-autoload",
            f"--config-file={os.devnull}",
            "--noconftest",
            *(f"{inspect.getfile(suite)}::{suite.__name__}" for suite in suites),
            f"--override-ini=python_classes={' '.join(suite.__name__ for suite in suites)}",
            "--capture=sys",
            "-pno:cacheprovider",
            "-pno:terminal",
        ],
        plugins=[watching],
    )
    if status == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if status not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} or not watching.ended:
        tell(
            Outcome(suite="pytest", check="collection", failure=watching.trouble or f"ended with {status!r}")
        )
        return False
    return status == pytest.ExitCode.OK


class _Watching:
    """A plugin of pytest that says how each check ended, in the place of pytest's own report."""

    def __init__(self, suites: Sequence[Suite], tell: Callable[[Outcome], None]) -> None:
        self._gaps = {(suite.__name__, gap.check): gap for suite in suites for gap in suite.gaps}
        self._several = {suite.__name__ for suite in suites if len(suite.backends) > 1}
        self._tell = tell
        self._failures: dict[str, str] = {}
        self.trouble: str | None = None
        self.ended = 0

    def pytest_runtest_makereport(self, item: "pytest.Item", call: "pytest.CallInfo[None]") -> None:
        """Keep what was raised, while it is still an exception and no text of many lines."""
        if call.excinfo is not None:
            self._failures.setdefault(item.nodeid, _told(call.excinfo.value))

    def pytest_collectreport(self, report: "pytest.CollectReport") -> None:
        """Keep why a module could not be read."""
        if report.failed:
            self.trouble = str(report.longrepr).strip().rpartition("\n")[2]

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:  # noqa: ARG002
        """Say how it ended, once nothing of it can fail any more."""
        self.ended += 1
        _, _, rest = nodeid.partition("::")
        suite, _, test = rest.partition("::")
        name = test.partition("[")[2].removesuffix("]") or test.removeprefix("test_")
        check, _, backend = name.rpartition("-")
        own = check or name
        failure = self._failures.get(nodeid)
        shown = f"{own} ({backend})" if suite in self._several and check else own
        gap = self._gaps.get((suite, own)) if failure is None else None
        self._tell(Outcome(suite=suite, check=shown, failure=failure, gap=gap))


def promise_of(suites: Sequence[Suite], check: str) -> str:
    """What a check is about; empty for what is no check of a port."""
    every: list[Check[Any]] = [each for suite in suites for each in suite.checks]
    return next((each.promise.partition("\n")[0] for each in every if each.id == check), "")


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as exc:  # whatever a module of somebody else raises while it is imported
        said = f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__
        text = f"{name} cannot be imported: {said}"
        raise ConformanceUnavailable(text, code="not_importable") from exc


def _suites_in(module: ModuleType) -> tuple[Suite, ...]:
    """The suites with a harness that a module defines, in the order of its lines."""
    return tuple(
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Conformance)
        and value.__module__ == module.__name__
        and value.harness is not Conformance.harness
    )


def _told(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    words = " ".join(str(error).split())
    if type(error).__module__.startswith("fermix.testing"):
        return words or type(error).__name__
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
