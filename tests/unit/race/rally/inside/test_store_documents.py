"""What Rally's process writes for a metrics store is read back as it was, and its own race never suffers from it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairlap_race.rally.inside import store_documents
from fairlap_race.rally.inside.store_documents import FOLDER, install, read, want

TEMPLATES = {kind: {"index_patterns": [f"rally-{kind}-*"], "template": {}} for kind in store_documents.KINDS}


class Provider:
    def __init__(self, _: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return lambda: json.dumps(TEMPLATES[name.removesuffix("_template")])


def coordinator(race: Any, documents: list[Any]) -> Any:
    class Coordinator:
        cfg = None
        metrics_store = SimpleNamespace(docs=documents)
        ended: list[Any] = []  # noqa: RUF012

        def on_benchmark_complete(self, metrics: Any) -> None:
            self.ended.append(metrics)

    Coordinator.race = race  # type: ignore[attr-defined]
    return Coordinator


def raced(**changes: Any) -> Any:
    about = {
        "race_id": "ns.bm.race-1", "race_timestamp": datetime(2026, 3, 4, tzinfo=UTC), "results": {"op": 1},
        "to_result_dicts": lambda: [{"task": "a"}, {"task": "b"}], "as_dict": lambda: {"race-id": "ns.bm.race-1"},
    }  # fmt: skip
    return SimpleNamespace(**{**about, **changes})


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    documents = [{"name": "latency", "value": n, "task": "ä\n"} for n in range(500)]
    made = coordinator(raced(), documents)
    want(tmp_path)
    install(tmp_path, made, Provider)
    made().on_benchmark_complete("metrics")
    assert made.ended == ["metrics"]
    kept = read(tmp_path)
    assert kept and (kept.race_id, kept.templates) == ("ns.bm.race-1", TEMPLATES)
    assert [kept.index(kind) for kind in store_documents.KINDS] == [
        "rally-metrics-2026-03", "rally-results-2026-03", "rally-races-2026-03"
    ]  # fmt: skip
    assert [json.loads(line) for line in kept.document_lines("metrics")] == documents
    assert [json.loads(line) for line in kept.document_lines("results")] == [{"task": "a"}, {"task": "b"}]
    assert [json.loads(line) for line in kept.document_lines("races")] == [{"race-id": "ns.bm.race-1"}]


def test_nothing_is_written_where_nothing_is_wanted(tmp_path: Path) -> None:
    made = coordinator(raced(), [])
    original = made.on_benchmark_complete
    install(tmp_path, made, Provider)
    assert made.on_benchmark_complete is original and read(tmp_path) is None


def test_a_race_without_results_leaves_its_metrics(tmp_path: Path) -> None:
    made = coordinator(raced(results={}), [{"name": "x"}])
    want(tmp_path)
    install(tmp_path, made, Provider)
    made().on_benchmark_complete(None)
    kept = read(tmp_path)
    assert kept and list(kept.document_lines("results")) == [] and len(list(kept.document_lines("metrics"))) == 1


@pytest.mark.parametrize("broken", [{"race_timestamp": None}, {"as_dict": None}, {"results": 1, "to_result_dicts": 3}])
def test_what_goes_wrong_ends_no_race(tmp_path: Path, broken: dict[str, Any]) -> None:
    made = coordinator(raced(**broken), [{"name": "x"}])
    want(tmp_path)
    install(tmp_path, made, Provider)
    made().on_benchmark_complete(None)
    assert read(tmp_path) is None and (tmp_path / FOLDER).is_dir()
