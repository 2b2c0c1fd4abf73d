"""The conformance suites as classes: what the author of an adapter subclasses, and what `fermix conformance` runs.

    class MyChannelConformance(ChannelConformance):
        gaps = (Gap(check="it_tells_album", reason="the platform has no albums"),)

        def harness(self) -> ChannelHarness:
            return MyHarness()

`fermix conformance my_package.my_module` finds the class by what it is. pytest finds it too, where it is called
`Test…` in a file of tests; there it may have fixtures of its own. Nothing here imports a test framework.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import anyio

from fermix.testing.blob_conformance import BLOB_CHECKS, BlobHarness
from fermix.testing.channel_conformance import CHANNEL_CHECKS, ChannelHarness
from fermix.testing.checks import Check, Gap, run_check
from fermix.testing.ledger_conformance import LEDGER_CHECKS, LedgerHarness
from fermix.testing.model_conformance import MODEL_CHECKS, ModelHarness
from fermix.testing.secret_conformance import SECRET_CHECKS, SecretStoreHarness
from fermix.testing.transcriber_conformance import TRANSCRIBER_CHECKS, TranscriberHarness

H = TypeVar("H")

_BOTH: tuple[str, ...] = ("asyncio", "trio")


class _Collecting(Protocol):
    """The part of pytest's `Metafunc` that is used."""

    fixturenames: Sequence[str]

    def parametrize(self, argnames: str, argvalues: Sequence[Any], *, ids: Sequence[str]) -> None: ...


class Conformance(Generic[H]):
    """One adapter, put to every check of its port.

    Attributes:
        checks: those of the port.
        gaps: what the adapter cannot keep, or its harness cannot show, each with its reason.
        backends: the event loops it is run on.
        limit_seconds: how long one check may take before it has failed.
    """

    checks: ClassVar[Sequence[Check[Any]]] = ()
    gaps: ClassVar[Sequence[Gap]] = ()
    backends: ClassVar[Sequence[str]] = ("asyncio",)
    limit_seconds: ClassVar[float] = 60

    def harness(self) -> H:
        """A fresh harness; asked for once for each check."""
        raise NotImplementedError

    def pytest_generate_tests(self, metafunc: _Collecting) -> None:
        """Let pytest run the class once for each check and event loop."""
        if "check" in metafunc.fixturenames:
            metafunc.parametrize("check", self.checks, ids=[check.id for check in self.checks])
        if "backend" in metafunc.fixturenames:
            metafunc.parametrize("backend", self.backends, ids=list(self.backends))

    def test_keeps_its_promise(self, check: Check[H], backend: str) -> None:
        """Run one check.

        Raises:
            PromiseBroken: see `run_check`.
            CannotArrange: see `run_check`.
            TimeoutError: it did not end in its time.
        """

        async def run() -> None:
            with anyio.fail_after(self.limit_seconds):
                await run_check(check, self.harness(), gaps=self.gaps)

        anyio.run(run, backend=backend)

    def test_every_gap_names_a_check(self) -> None:
        """Hold the declared gaps to the checks there are.

        Raises:
            AssertionError: one names none, or has no reason.
        """
        ids = {check.id for check in self.checks}
        odd = [gap.check for gap in self.gaps if gap.check not in ids or not gap.reason.strip()]
        if odd:
            raise AssertionError(f"these gaps name no check, or give no reason: {', '.join(odd)}")


class ChannelConformance(Conformance[ChannelHarness]):
    """Every check of the `Channel` port; channels run on asyncio."""

    checks = CHANNEL_CHECKS


class ModelConformance(Conformance[ModelHarness]):
    """Every check of the `Model` port."""

    checks = MODEL_CHECKS
    backends = _BOTH


class TranscriberConformance(Conformance[TranscriberHarness]):
    """Every check of the `Transcriber` port."""

    checks = TRANSCRIBER_CHECKS
    backends = _BOTH


class SecretStoreConformance(Conformance[SecretStoreHarness]):
    """Every check of the `SecretStore` port."""

    checks = SECRET_CHECKS
    backends = _BOTH


class BlobConformance(Conformance[BlobHarness]):
    """Every check of the `Blobs` port."""

    checks = BLOB_CHECKS
    backends = _BOTH


class LedgerConformance(Conformance[LedgerHarness]):
    """Every check of the ledger's ports."""

    checks = tuple(
        Check(id=each.id, promise=each.promise, requirements=each.requirements, run=each.run)
        for each in LEDGER_CHECKS
    )
    backends = _BOTH


SUITES: tuple[type[Conformance[Any]], ...] = (
    ChannelConformance,
    ModelConformance,
    TranscriberConformance,
    SecretStoreConformance,
    BlobConformance,
    LedgerConformance,
)
"""One for each port that others may implement."""
