"""What Prometheus reads. No name of a tenant, client or model is in it."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Meters:
    """Counters and gauges of one service."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "halfmask_requests",
            "Requests, by route, method and status.",
            ["route", "method", "status"],
            registry=registry,
        )
        self.seconds = Histogram(
            "halfmask_request_seconds",
            "From the head of a request to the end of its answer.",
            ["route"],
            buckets=SECONDS,
            registry=registry,
        )
        self.learned = Counter(
            "halfmask_rows_acknowledged", "Rows that are on the disk.", registry=registry
        )
        self.predicted = Counter(
            "halfmask_rows_predicted", "Rows that were predicted.", registry=registry
        )
        self.repeated = Counter(
            "halfmask_batches_repeated",
            "Batches that had come before under the same key.",
            registry=registry,
        )
        self.flushes = Histogram(
            "halfmask_flush_seconds",
            "Writing a group of batches and flushing it to the disk.",
            buckets=SECONDS,
            registry=registry,
        )
        self.flushed = Counter(
            "halfmask_batches_flushed", "Batches that were flushed.", registry=registry
        )
        self.backlog = Gauge(
            "halfmask_backlog_bytes",
            "Bodies that are read, logged or waiting to be learned.",
            registry=registry,
        )
        self.models = Gauge("halfmask_models", "Models that are open.", registry=registry)
        self.lag = Gauge(
            "halfmask_batches_unlearned",
            "Batches that are on the disk and not learned yet.",
            registry=registry,
        )
        self.defended = Gauge(
            "halfmask_rows_defended",
            "Rows that defences clipped, capped, refused or took back, in models as they are now.",
            ["how"],
            registry=registry,
        )
        self.rollbacks = Gauge(
            "halfmask_guard_rollbacks",
            "How often guards took rows back, in models as they are now.",
            registry=registry,
        )
        self.stopped = Gauge(
            "halfmask_models_stopped",
            "Models that have stopped learning, or can't be opened.",
            registry=registry,
        )

    def on_flush(self, requests: int, seconds: float) -> None:
        """Count a flush. Called from the threads of the logs."""
        self.flushes.observe(seconds)
        self.flushed.inc(requests)

    def text(self) -> bytes:
        """Return all as Prometheus reads it."""
        return generate_latest(self.registry)
