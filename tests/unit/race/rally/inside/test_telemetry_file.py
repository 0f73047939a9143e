"""What telemetry devices say goes to a file, and into the record as far as there is room; what is missing is said."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlap_race.rally.inside import telemetry_file
from fairlap_race.rally.inside.telemetry_file import TELEMETRY, TelemetryFile
from fairlap_race.runner.telling.telemetry_kept import keep_telemetry


class Store:
    """Stands for Rally's metrics store."""

    def __init__(self) -> None:
        self.docs: list[dict[str, Any]] = []

    def put_doc(self, doc: dict[str, Any], level: str | None = None, node_name: str | None = None) -> None:
        self.docs.append(doc)


class Segments:
    """Stands for Rally's device for segments, with its client."""

    def __init__(self, rows: list[dict[str, str]] | None) -> None:
        def segments(**_: str) -> list[dict[str, str]]:
            if rows is None:
                raise OSError("nobody answers")
            return rows

        self.client = type("Client", (), {"cat": type("Cat", (), {"segments": staticmethod(segments)})})

    def on_benchmark_stop(self) -> None:
        raise AssertionError("Rally's own writes nothing")


class Transforms:
    """Stands for what records transforms for Rally, with its metrics store and what Elasticsearch would answer."""

    def __init__(self, **answer: int) -> None:
        self.answer, self.totals = answer, dict[str, int]()

    def record_stats_per_transform(self, transform_id: str, stats: dict[str, int], prefix: str = "") -> None:
        assert prefix == "total_", "a dozen values in memory for each look"
        self.totals[transform_id] = stats["pages"]

    def record(self) -> None:
        for name, pages in self.answer.items():
            self.record_stats_per_transform(name, {"pages": pages})

    def record_final(self) -> None:
        if not self.answer:
            raise OSError("no transforms here")
        for name, pages in self.answer.items():
            self.record_stats_per_transform(name, {"pages": pages}, "total_")


def lines(packed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(base64.b64decode(packed)).decode().splitlines()]


def test_what_only_rallys_memory_would_have(tmp_path: Path) -> None:
    store, segments = type("S", (Store,), {}), type("G", (Segments,), {})
    telemetry_file.install(tmp_path, store, segments, type("T", (Transforms,), {}))
    it = store()
    it.put_doc({"name": "node-stats", "jvm_heap": 5}, level="node", node_name="es-0")
    it.put_doc({"name": "jvm_memory_pool_stats"})
    segments([{"index": "logs", "segment": "_0"}]).on_benchmark_stop()
    segments(None).on_benchmark_stop()
    assert it.docs == [{"name": "jvm_memory_pool_stats"}]
    kept = keep_telemetry(tmp_path, ["node-stats", "segment-stats", "shard-stats", "ingest-pipeline-stats"], ())
    found = lines(kept.packed)
    assert [(line["name"], line.get("node")) for line in found] == [("node-stats", "es-0"), ("segment-stats", None)]
    assert found[0]["jvm_heap"] == 5 and found[0]["at"] > 0
    # What ingest-pipeline-stats say is among Rally's results.
    assert kept.left_out == () and kept.without == ("shard-stats",)


def test_transforms_are_in_the_file_and_their_last_values_in_rallys_results(tmp_path: Path) -> None:
    transforms, store = type("T", (Transforms,), {}), type("S", (Store,), {})
    telemetry_file.install(tmp_path, store, type("G", (Segments,), {}), transforms)
    it = transforms(a=5, b=6)
    for _ in range(3):
        it.record()
    it.record_final()
    store().put_doc({"name": "ccr-stats", "shard": {"shard_id": 0}})
    transforms().record_final()
    assert it.totals == {"a": 5, "b": 6}
    kept = keep_telemetry(tmp_path, ["transform-stats", "ccr-stats"], ())
    found = [(line.get("transform"), line.get("pages"), line.get("last")) for line in lines(kept.packed)]
    assert found == [("a", 5, False), ("b", 6, False)] * 3 + [("a", 5, True), ("b", 6, True), (None, None, None)]
    assert kept.left_out == kept.without == ()


def test_no_transform_is_left_out_for_another(tmp_path: Path) -> None:
    file = TelemetryFile(tmp_path / TELEMETRY)
    for number in range(600):
        file.add({"name": "transform-stats", "transform": "ab"[number % 2], "n": number * 7919 % 104729}, None)
    kept = keep_telemetry(tmp_path, ["transform-stats"], (), 900)
    assert kept.left_out and {line["transform"] for line in lines(kept.packed)} == {"a", "b"}


def test_nothing_asked_for_nothing_kept(tmp_path: Path) -> None:
    assert keep_telemetry(tmp_path, (), ()) == keep_telemetry(tmp_path, ["disk-usage-stats"], ())


def test_a_file_has_an_end(tmp_path: Path) -> None:
    file = TelemetryFile(tmp_path / TELEMETRY, most_bytes=1000)
    for number in range(100):
        file.add({"name": "node-stats", "n": number}, "es-0")
    assert (tmp_path / TELEMETRY).stat().st_size < 6000
    kept = keep_telemetry(tmp_path, ["node-stats"], ())
    (said,) = kept.left_out
    assert said == f"{100 - len(lines(kept.packed))} of 100 documents of node-stats"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 60), st.integers(100, 3000))
def test_as_much_as_fits(tmp_path_factory: pytest.TempPathFactory, count: int, room: int) -> None:
    folder = tmp_path_factory.mktemp("telemetry")
    file = TelemetryFile(folder / TELEMETRY)
    for number in range(count):
        for node in ("es-0", "es-1"):
            file.add({"name": "node-stats", "text": f"{number * 7919 % 104729:x}" * 5}, node)
    kept = keep_telemetry(folder, ["node-stats"], (), room)
    found = lines(kept.packed) if kept.packed else []
    assert len(base64.b64decode(kept.packed)) <= room
    assert {line["node"] for line in found} in (set(), {"es-0", "es-1"}), "no node is thinned more than another"
    missing = 2 * count - len(found)
    assert kept.left_out == ((f"{missing} of {2 * count} documents of node-stats",) if missing else ())
    assert kept.without == (() if count else ("node-stats",))


def test_no_secret_and_no_half_line(tmp_path: Path) -> None:
    (tmp_path / TELEMETRY).write_text('{"name": "node-stats", "args": "hidden"}\n{"name": "node-st')
    kept = keep_telemetry(tmp_path, ["node-stats"], ("hidden",))
    assert lines(kept.packed) == [{"name": "node-stats", "args": "*****"}]
