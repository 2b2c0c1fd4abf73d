"""Metrics in Prometheus' text format."""

from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from fermix.application.ports.control import ChannelStatus, Health, Readiness, Status
from fermix.application.ports.telemetry import Exposition
from fermix.infrastructure.telemetry.standing import Standing
from fermix.infrastructure.telemetry.totals import BOUNDS, DURATION, Measured, Series


def expose(standing: Standing) -> Exposition:
    """All metrics at one moment, those of the process included."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Standing(standing))
    ProcessCollector(registry=registry)
    return Exposition(body=generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class _Standing(Collector):
    def __init__(self, standing: Standing) -> None:
        self._standing = standing

    @override
    def collect(self) -> Iterable[Metric]:
        standing = self._standing
        info = GaugeMetricFamily("fermix_info", "The version that runs.", labels=["version"])
        info.add_metric([standing.version], 1)
        yield info
        for measured in standing.measured:
            yield _event(measured)
        yield from _health(standing.health)
        yield from _queue(standing.status)
        lost = CounterMetricFamily(
            "fermix_traces_lost", "Trace lines that were not written.", labels=["reason"]
        )
        lost.add_metric(["dropped"], standing.dropped)
        lost.add_metric(["unwritten"], standing.unwritten)
        yield lost


def _event(measured: Measured) -> Metric:
    name = measured.kind.name.replace(".", "_")
    if not measured.timed:
        counter = CounterMetricFamily(name, measured.kind.meaning, labels=measured.labels)
        for labels, series in measured.series:
            counter.add_metric(labels, series.count)
        return counter
    histogram = HistogramMetricFamily(
        f"{name}_{DURATION}_seconds", measured.kind.meaning, labels=measured.labels
    )
    for labels, series in measured.series:
        histogram.add_metric(labels, buckets=list(_buckets(series)), sum_value=series.seconds)
    return histogram


def _buckets(series: Series) -> Iterator[tuple[str, float]]:
    bounds = [*(str(bound) for bound in BOUNDS), "+Inf"]
    return zip(bounds, accumulate(series.buckets), strict=True)


def _health(health: Health) -> Iterator[Metric]:
    overall = GaugeMetricFamily("fermix_health", "1 for the state that holds.", labels=["status"])
    for readiness in Readiness:
        overall.add_metric([readiness.value], int(health.status is readiness))
    yield overall
    up = GaugeMetricFamily("fermix_channel_up", "Whether an enabled channel works.", labels=["channel"])
    unreadable = CounterMetricFamily(
        "fermix_channel_unreadable", "What a channel was handed and could not read.", labels=["channel"]
    )
    for channel in health.channels:
        if channel.status is not ChannelStatus.DISABLED:
            up.add_metric([channel.name], int(channel.status is ChannelStatus.READY))
            unreadable.add_metric([channel.name], channel.unreadable)
    yield from (up, unreadable)


def _queue(status: Status | None) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "fermix_ledger_up", "Whether the ledger can be read.", value=int(status is not None)
    )
    if status is None:
        return
    yield GaugeMetricFamily("fermix_queue_waiting", "Turns that wait.", value=status.waiting)
    yield GaugeMetricFamily("fermix_queue_running", "Turns that run.", value=status.running)
    yield GaugeMetricFamily(
        "fermix_queue_paused", "Conversations that wait for their owner.", value=status.paused
    )
    yield GaugeMetricFamily(
        "fermix_outbox_open_parts", "Parts of replies not yet delivered.", value=status.open_parts
    )
