"""What the telemetry devices that a spec may name collect is in Rally's results, not only in its metrics store."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from esrally import config, exceptions, metrics, telemetry

from fairlap_race.rally.inside import telemetry_file

ANSWER = {
    "_shards": {"failed": 0},
    "logs": {
        "fields": {
            "_source": {"total_in_bytes": 700, "stored_fields_in_bytes": 700},
            "client": {"total_in_bytes": 50, "inverted_index": {"total_in_bytes": 30}, "doc_values_in_bytes": 20},
        }
    },
}


class Client:
    """An Elasticsearch client that knows one answer."""

    indices = SimpleNamespace(disk_usage=lambda **_: ANSWER)

    def options(self, **_: Any) -> Client:
        return self


def opened() -> Any:
    """Return Rally's metrics store in memory."""
    settings = config.Config()
    settings.add(config.Scope.application, "system", "env.name", "test")
    store = metrics.InMemoryMetricsStore(settings)
    store.open("race", datetime.datetime(2026, 1, 1), "track", "challenge", "car", create=True)
    return store


def test_the_bytes_of_each_field_are_in_the_results() -> None:
    store = opened()
    device = telemetry.DiskUsageStats({}, Client(), store, ["logs"], [])
    device.on_benchmark_start()
    device.on_benchmark_stop()

    results = metrics.GlobalStatsCalculator(store, None, SimpleNamespace(schedule=[]))().as_dict()

    found = {(it["index"], it["field"]): it["value"] for it in results["disk_usage_total"]}
    assert found == {("logs", "_source"): 700, ("logs", "client"): 50}
    assert [it["value"] for it in results["disk_usage_stored_fields"]] == [700]
    assert [it["value"] for it in results["disk_usage_doc_values"]] == [20]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that Rally, changed as in a race, writes to; what is changed is put back."""
    recorder = telemetry.TransformStatsRecorder
    for owner, name in (
        (recorder, "record_stats_per_transform"), (recorder, "record_final"), (metrics.MetricsStore, "put_doc"),
        (telemetry.SegmentStats, "on_benchmark_stop"),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, getattr(owner, name))
    telemetry_file.install(tmp_path, metrics.MetricsStore, telemetry.SegmentStats, recorder)
    return tmp_path


PAGES = {"pages_processed": 3, "documents_processed": 90, "search_time_in_ms": 20, "processing_time_in_ms": 10}


def test_the_last_of_a_transform_is_in_the_results_and_each_look_in_the_file(installed: Path) -> None:
    answer = {"transforms": [{"id": "sums", "stats": PAGES}]}
    client = SimpleNamespace(transform=SimpleNamespace(get_transform_stats=lambda **_: answer))
    store = opened()
    it = telemetry.TransformStatsRecorder("default", client, store, 1)
    it.record()
    assert not store.docs, "what is seen again and again is in nobody's memory"
    it.record_final()
    lines = [json.loads(line) for line in (installed / telemetry_file.TELEMETRY).read_text().splitlines()]
    assert [(line["name"], line["transform"], line["last"]) for line in lines] == [
        ("transform-stats", "sums", False), ("transform-stats", "sums", True)
    ]  # fmt: skip
    assert lines[0].items() >= PAGES.items()
    results = metrics.GlobalStatsCalculator(store, None, SimpleNamespace(schedule=[]))().as_dict()
    assert [(v["id"], v["mean"]) for v in results["total_transform_throughput"]] == [("sums", 3000.0)]


@pytest.mark.usefixtures("installed")
def test_a_cluster_without_transforms_ends_no_race() -> None:
    def refused(**_: Any) -> None:
        raise exceptions.RallyError("no handler found for uri [/_transform/_all/_stats]")

    client = SimpleNamespace(transform=SimpleNamespace(get_transform_stats=refused))
    device = telemetry.TransformStats({}, {"default": client}, opened())
    device.on_benchmark_start()
    device.on_benchmark_stop()
