"""The owner of the home and its socket, judged."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fermix.application.operations.doctor.daemon import (
    AnsweringOwner,
    HiddenOwner,
    NoOwner,
    Owner,
    SilentOwner,
    SocketFacts,
    judge_daemon,
    judge_socket,
)
from fermix.application.operations.doctor.report import Finding, RowStatus
from fermix.application.ports.control import (
    ChannelHealth,
    ChannelStatus,
    Health,
    Identity,
    OwnerKind,
    ProviderHealth,
    Readiness,
    Status,
)

IDENTITY = Identity(instance="i", epoch=1, home="/h", version="1.2", pid=77, kind=OwnerKind.DAEMON)
HEALTH = Health(
    status=Readiness.READY,
    providers=(ProviderHealth(name="openai", model="m", status=Readiness.READY),),
    channels=(ChannelHealth(name="telegram", status=ChannelStatus.SETUP_REQUIRED, detail="no token"),),
)
STATUS = Status(
    identity=IDENTITY,
    started_at=datetime(2026, 5, 1, tzinfo=UTC),
    draining=False,
    health=HEALTH,
    waiting=0,
    running=0,
    paused=0,
    open_parts=0,
    http_port=None,
)


def judged(owner: Owner) -> Finding:
    return judge_daemon(owner, home="/h", version="1.2")


@pytest.mark.parametrize(
    ("owner", "status", "said"),
    [
        (NoOwner(), RowStatus.OK, "not running; `fermix ask` answers without it"),
        (NoOwner(wanted=("telegram", "slack")), RowStatus.WARN, "nothing is received from telegram, slack"),
        (HiddenOwner(why="no entry"), RowStatus.SKIP, "not looked for: no entry"),
        (
            SilentOwner(pid=77, why="it hangs"),
            RowStatus.FAIL,
            "process 77 holds the home but does not answer",
        ),
        (SilentOwner(pid=None, why="it hangs"), RowStatus.FAIL, "a process holds the home"),
        (AnsweringOwner(status=STATUS), RowStatus.OK, "running as process 77, version 1.2, ready"),
        (AnsweringOwner(status=replace(STATUS, draining=True)), RowStatus.OK, "ending"),
    ],
)
def test_an_owner_is_judged(owner: Owner, status: RowStatus, said: str) -> None:
    finding = judged(owner)
    assert finding.status is status
    assert said in finding.sentence


def with_identity(**changes: object) -> Owner:
    return AnsweringOwner(status=replace(STATUS, identity=replace(IDENTITY, **changes)))  # type: ignore[arg-type]  # names checked by replace


@pytest.mark.parametrize(
    ("owner", "status", "said"),
    [
        (with_identity(version="1.1"), RowStatus.WARN, "while this program is version 1.2"),
        (with_identity(home="/other"), RowStatus.WARN, "for the home /other"),
        (with_identity(kind=OwnerKind.IN_PROCESS), RowStatus.OK, "a `fermix ask` (process 77)"),
    ],
)
def test_another_owner_than_was_meant_is_named(owner: Owner, status: RowStatus, said: str) -> None:
    finding = judged(owner)
    assert finding.status is status
    assert said in finding.sentence


@pytest.mark.parametrize(
    ("readiness", "status"),
    [(Readiness.DEGRADED, RowStatus.FAIL), (Readiness.SETUP_REQUIRED, RowStatus.WARN)],
)
def test_bad_health_says_what_is_behind_it(readiness: Readiness, status: RowStatus) -> None:
    health = replace(HEALTH, status=readiness, failures=("ledger",))
    finding = judged(AnsweringOwner(status=replace(STATUS, health=health)))
    assert finding.status is status
    assert "failing: ledger" in finding.details
    assert "telegram: setup_required (no token)" in finding.details


def test_what_a_ready_owner_lacks_is_not_said() -> None:
    assert judged(AnsweringOwner(status=STATUS)).details == ()


SOCKET = SocketFacts(path="/h/daemon.sock", exists=True)


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        (SOCKET, RowStatus.OK),
        (replace(SOCKET, served=False), RowStatus.OK),
        (replace(SOCKET, exists=False, served=False), RowStatus.SKIP),
        (replace(SOCKET, exists=False), RowStatus.FAIL),
        (replace(SOCKET, is_socket=False), RowStatus.FAIL),
        (replace(SOCKET, is_ours=False), RowStatus.FAIL),
        (replace(SOCKET, mode=0o666), RowStatus.WARN),
        (replace(SOCKET, folder_private=False), RowStatus.WARN),
    ],
)
def test_a_socket_is_judged(facts: SocketFacts, status: RowStatus) -> None:
    finding = judge_socket(facts)
    assert finding.status is status
    assert (finding.remedy is None) == (status in {RowStatus.OK, RowStatus.SKIP})
