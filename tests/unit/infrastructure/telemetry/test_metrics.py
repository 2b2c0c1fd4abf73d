"""Metrics as a monitor reads them, parsed by the library that monitors use."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fermix.application.ports.control import (
    ChannelHealth,
    ChannelStatus,
    Control,
    Health,
    Identity,
    OwnerKind,
    Readiness,
    Status,
)
from fermix.application.ports.ledger_errors import LedgerUnavailable
from fermix.domain.ids import ChannelName, TurnId
from fermix.domain.telemetry import ChannelReply, Event, IngressAuthorize, ToolExec
from fermix.domain.telemetry_fields import name_of, session_of
from fermix.domain.telemetry_words import Decision, ReplyType, SendStatus, ToolEnd
from fermix.domain.trust import Trust
from fermix.infrastructure.telemetry.metrics import Metrics
from fermix.infrastructure.telemetry.redaction import Redactor
from fermix.infrastructure.telemetry.reporter import Reporter
from fermix.infrastructure.telemetry.totals import MAX_SERIES
from fermix.infrastructure.telemetry.traces import TraceFolder, TraceWriter
from fermix.testing.clock import StoppedClock

pytestmark = pytest.mark.anyio

IDENTITY = Identity(instance="i", epoch=1, home="/h", version="9.8.7", pid=1, kind=OwnerKind.DAEMON)
HEALTH = Health(
    status=Readiness.DEGRADED,
    providers=(),
    channels=(
        ChannelHealth(name="telegram", status=ChannelStatus.DEGRADED, unreadable=2),
        ChannelHealth(name="signal", status=ChannelStatus.DISABLED),
    ),
)


@dataclass
class Standing:
    """A gateway that stands as the test says."""

    ledger_fails: bool = False
    asked: list[str] = field(default_factory=list)

    def identify(self) -> Identity:
        return IDENTITY

    async def health(self) -> Health:
        return HEALTH

    async def status(self) -> Status:
        if self.ledger_fails:
            raise LedgerUnavailable("the disk is full")
        return Status(
            identity=IDENTITY,
            started_at=datetime(2026, 1, 1, tzinfo=UTC),
            draining=False,
            health=HEALTH,
            waiting=3,
            running=2,
            paused=1,
            open_parts=4,
            http_port=None,
        )


Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


async def shown(tmp_path: Path, *events: Event, ledger_fails: bool = False) -> Samples:
    writer = TraceWriter(TraceFolder(path=tmp_path, keep_days=1), Redactor())
    reporter = Reporter(writer, StoppedClock())
    for event in events:
        reporter.emit(event)
    control = cast("Control", Standing(ledger_fails=ledger_fails))
    exposition = await Metrics(reporter=reporter, control=control).render()
    assert exposition.content_type.startswith("text/plain; version=")
    families = text_string_to_metric_families(exposition.body.decode())
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def sample(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


async def test_events_are_counted_by_their_words_and_names(tmp_path: Path) -> None:
    denied = IngressAuthorize(channel=ChannelName("slack"), result=Decision.UNAUTHORIZED)
    let_in = IngressAuthorize(channel=ChannelName("slack"), result=Decision.OK, trust=Trust.GUEST)
    found = await shown(tmp_path, denied, denied, let_in)
    name = "fermix_ingress_authorize_total"
    assert sample(found, name, channel="slack", result="unauthorized", trust="none") == 2
    assert sample(found, name, channel="slack", result="ok", trust="guest") == 1


async def test_durations_are_sorted_into_buckets_and_added_up(tmp_path: Path) -> None:
    replies = [
        ChannelReply(
            channel=ChannelName("telegram"),
            reply_type=ReplyType.TEXT,
            status=SendStatus.SENT,
            repeated=False,
            duration=seconds,
        )
        for seconds in (0.001, 0.25, 0.3, 5000.0)
    ]
    found = await shown(tmp_path, *replies)
    name = "fermix_channel_reply_duration_seconds"
    labels = {"channel": "telegram", "reply_type": "text", "status": "sent", "repeated": "false"}
    bounds = {bound: sample(found, f"{name}_bucket", le=bound, **labels) for bound in ("0.25", "0.5", "+Inf")}
    assert bounds == {"0.25": 2, "0.5": 3, "+Inf": 4}
    assert sample(found, f"{name}_count", **labels) == 4
    assert sample(found, f"{name}_sum", **labels) == pytest.approx(5000.551)


async def test_the_queue_the_health_and_what_was_lost_stand_there_as_they_are_now(tmp_path: Path) -> None:
    found = await shown(tmp_path)
    assert sample(found, "fermix_info", version="9.8.7") == 1
    assert [
        sample(found, name)
        for name in (
            "fermix_queue_waiting",
            "fermix_queue_running",
            "fermix_queue_paused",
            "fermix_outbox_open_parts",
            "fermix_ledger_up",
        )
    ] == [3, 2, 1, 4, 1]
    states = {state: sample(found, "fermix_health", status=state) for state in Readiness}
    assert states == {"ready": 0, "degraded": 1, "setup_required": 0}
    assert sample(found, "fermix_channel_up", channel="telegram") == 0
    assert sample(found, "fermix_channel_unreadable_total", channel="telegram") == 2
    assert ("fermix_channel_up", frozenset({("channel", "signal")})) not in found
    assert sample(found, "fermix_traces_lost_total", reason="dropped") == 0


async def test_a_ledger_that_cannot_be_read_is_told_and_the_rest_stays(tmp_path: Path) -> None:
    found = await shown(tmp_path, ledger_fails=True)
    assert sample(found, "fermix_ledger_up") == 0
    assert not [name for name, _ in found if name == "fermix_queue_waiting"]
    assert sample(found, "fermix_health", status="degraded") == 1


async def test_names_without_end_make_no_metrics_without_end(tmp_path: Path) -> None:
    calls = [
        ToolExec(
            tool=name_of(f"tool_{number}"),
            status=ToolEnd.OK,
            duration=1.0,
            session_id=session_of(TurnId(number)),
        )
        for number in range(MAX_SERIES + 50)
    ]
    found = await shown(tmp_path, *calls)
    name = "fermix_tool_exec_duration_seconds_count"
    assert len([key for key in found if key[0] == name]) == MAX_SERIES + 1
    assert sample(found, name, tool="other", status="other") == 50
