"""Benchmarks with numbers, made with the API's own models, so that a renamed field fails where it is read."""

from typing import Any

from fairlap.api.figure import Figure
from fairlap.api.status import (
    BenchmarkStatus,
    Environment,
    GcResult,
    IndexEvidence,
    PipelineResult,
    RaceStatus,
    RemarkStatus,
    Results,
    StoreResult,
    TaskResult,
)

SHARED = RemarkStatus(reason="LoadGeneratorShared", message="shared a machine")
OF_NO_INTEREST = RemarkStatus(reason="RallyWarning", message="of no interest")


def fig(*values: float) -> Figure:
    """Return the figure of some races."""
    return Figure(median=sorted(values)[len(values) // 2], min=min(values), max=max(values), races=len(values))


def succeeded(version: str = "9.0.0", *throughputs: float) -> BenchmarkStatus:
    """Return the status after three races, with a throughput for each if given."""
    rates = throughputs or (12000.4, 13000.2, 14000.9)
    return BenchmarkStatus(
        phase="Succeeded",
        progress="3/3 races valid",
        races_done="3/3",
        environment=Environment(
            version=version,
            build_hash="112859b85d50de2a7e63f73c8fc70b99eea24291",
            java="21.0.8 (Eclipse Adoptium)",
            heap_bytes=2**30,
            nodes=1,
            images=[f"docker.elastic.co/elasticsearch/elasticsearch:{version} x@sha256:{'ab12' * 16}"],
            rally_version="2.13.0",
            indices=[
                IndexEvidence(name="access-logs", shards=2, replicas=0, codec="default", documents=100000),
                IndexEvidence(name="other", shards=2, replicas=0, codec="default", documents=1),
            ],
        ),
        results=Results(
            tasks=[
                TaskResult(
                    task="bulk-index", type="bulk", unit="docs/s", samples=600, error_rate=0.0, throughput=fig(*rates),
                    window_throughput=fig(*rates),
                    service_time_millis={"p50": fig(80.04, 81, 82), "p99": fig(9, 10, 11)},
                    overall_throughput=fig(*rates), windows=60, window_requests=600,
                    settled=False, unsettled_seconds=7.5,
                    support={"p50": 100, "p90": 20, "p99": 2},
                ),
                TaskResult(
                    task="search", type="search", unit="ops/s", samples=9, error_rate=0.5, throughput=fig(10, 20, 30),
                    target_throughput=20, latency_millis={"p50": fig(0.5, 0.6, 0.7)},
                    windows=9, window_requests=9, windows_left_out="1 requests in a window on average",
                    settled_left_out="9 windows",
                ),
            ],
            ingest_pipelines=[
                PipelineResult(name="access-logs", count=fig(100000), time_millis=fig(900, 1000, 1100), failed=0)
            ],
            store=StoreResult(store_bytes=fig(3 * 2**20, 4 * 2**20, 6 * 2**20)),
            gc=GcResult(young_count=fig(3), young_millis=fig(41)),
        ),
        races=[
            RaceStatus(name="smoke", id="s", valid=True, remarks=[OF_NO_INTEREST], record="es-smoke"),
            RaceStatus(name="race-1", id="a", valid=True, remarks=[SHARED], record="es-race-1"),
            RaceStatus(name="race-2", id="b", valid=True, remarks=[SHARED], record="es-race-2"),
        ],
    )  # fmt: skip


def benchmark(name: str, status: BenchmarkStatus | None, **spec: Any) -> dict[str, Any]:
    """Return the Benchmark as `kubectl get -o json` does; one without a status is new."""
    found = {"metadata": {"name": name, "namespace": "n"}, "spec": spec}
    return {**found, "status": status.to_json()} if status else found
