"""What the telemetry devices that a spec may name collect is in Rally's results, not only in its metrics store."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from esrally import config, metrics, telemetry

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


def test_the_bytes_of_each_field_are_in_the_results() -> None:
    settings = config.Config()
    settings.add(config.Scope.application, "system", "env.name", "test")
    store = metrics.InMemoryMetricsStore(settings)
    store.open("race", datetime.datetime(2026, 1, 1), "track", "challenge", "car", create=True)
    device = telemetry.DiskUsageStats({}, Client(), store, ["logs"], [])
    device.on_benchmark_start()
    device.on_benchmark_stop()

    results = metrics.GlobalStatsCalculator(store, None, SimpleNamespace(schedule=[]))().as_dict()

    found = {(it["index"], it["field"]): it["value"] for it in results["disk_usage_total"]}
    assert found == {("logs", "_source"): 700, ("logs", "client"): 50}
    assert [it["value"] for it in results["disk_usage_stored_fields"]] == [700]
    assert [it["value"] for it in results["disk_usage_doc_values"]] == [20]
