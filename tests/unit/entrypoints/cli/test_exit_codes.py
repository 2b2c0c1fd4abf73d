"""Every way to fail has its exit status."""

import pytest

from fermix.domain.failure import FailureKind
from fermix.entrypoints.cli.client_failures import command_failed
from fermix.entrypoints.exit_codes import BY_FAILURE, ExitCode, exit_code_of_failure
from fermix.infrastructure.local_socket import client


def test_every_kind_of_failure_has_a_status() -> None:
    assert set(BY_FAILURE) == {kind.value for kind in FailureKind}


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (FailureKind.NO_MODEL, 6),
        (FailureKind.CREDENTIAL_MISSING, 4),
        (FailureKind.CREDENTIAL_REFUSED, 4),
        (FailureKind.TIMED_OUT, 8),
        (FailureKind.PROVIDER_FAILED, 6),
        (FailureKind.CONTEXT_TOO_LONG, 1),
        ("a kind of tomorrow", 1),
        (None, 1),
    ],
)
def test_failures_end_with_the_status_that_says_what_to_change(kind: str | None, status: int) -> None:
    assert exit_code_of_failure(kind) == status


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (client.NoDaemon("x"), ExitCode.NOT_RUNNING),
        (client.Denied("x"), ExitCode.DENIED),
        (client.ConnectionLost("x"), ExitCode.FAILURE),
        (client.ForeignProtocol("x"), ExitCode.FAILURE),
        (client.RequestTooLarge("x"), ExitCode.USAGE),
        (client.DeadlinePassed("x"), ExitCode.TIMED_OUT),
        (client.OutputClosed("x"), ExitCode.OUTPUT_CLOSED),
        (client.Refused("draining", "x"), ExitCode.FAILURE),
    ],
)
def test_a_failed_call_ends_with_its_status(error: client.ClientError, status: ExitCode) -> None:
    failure = command_failed(error)
    assert failure.exit_code is status
    assert str(failure) == "x"


def test_every_kind_of_failed_call_has_its_own_meaning() -> None:
    kinds = [kind for kind in client.ClientError.__subclasses__() if kind is not client.Refused]
    codes = [command_failed(kind("x")).code for kind in kinds]
    assert "failed" not in codes
    assert len(set(codes)) == len(kinds)
