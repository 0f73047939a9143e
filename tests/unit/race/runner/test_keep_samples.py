"""Samples on a claim: each is a row, a file appears whole or not at all, and no trouble with it touches the tallies."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyarrow import parquet

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, TrackSource
from fairlap_race.rally import sample_table
from fairlap_race.runner.keep_samples import SampleKeeper, read_samples, refuse_unwritable
from fairlap_race.runner.parts import FailedError

TASK = '#[0, {"task": "bulk", "operation": "bulk-op", "type": "bulk", "clients": 4, "target": null}]\n'
LINES = [f"0,{int(n > 1)},{int(n != 4)},1000.5,{n}.25,0.5,0.6,0.25,{n % 2},10,docs\n" for n in range(7)]


@pytest.fixture
def spec(tmp_path: Path) -> RaceSpec:
    (tmp_path / "claim").mkdir()
    return RaceSpec(
        Mode.RACE, "ns", "bm-race-1", "ns.bm.1.race-1", TrackSource(builtin="a"), samples=tmp_path / "claim"
    )


@pytest.fixture
def seen(tmp_path: Path) -> Path:
    path = tmp_path / "samples"
    path.write_text("".join([TASK, *LINES, "0,1,1,10"]))
    return path


def test_each_sample_is_a_row(spec: RaceSpec, seen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_table, "ROWS", 3)
    (tally,), kept = read_samples(seen, spec)
    assert spec.samples and kept and (kept.name, kept.rows, kept.problem) == ("ns.bm.1.race-1.parquet", 7, "")
    path = spec.samples / kept.name
    assert path.stat().st_size == kept.bytes and [it.name for it in spec.samples.iterdir()] == [kept.name]
    table = parquet.read_table(path)
    rows = table.to_pylist()
    assert len(rows) == 7 == sum(tally.samples) and parquet.ParquetFile(path).num_row_groups == 3
    assert [row["sample_type"] for row in rows] == ["warmup"] * 2 + ["normal"] * 5
    assert [row["success"] for row in rows].count(False) == 1
    assert rows[3] == {
        "task": "bulk", "sample_type": "normal", "success": True, "client": 1,
        "wallclock": datetime.fromtimestamp(1000.5, UTC), "start_seconds": 3.25, "service_time_ms": 500.0,
        "processing_time_ms": 600.0, "latency_ms": 750.0, "units": 10.0, "unit": "docs",
    }  # fmt: skip
    assert table.schema.metadata[b"fairlap.race_id"] == b"ns.bm.1.race-1"


def test_what_cannot_be_written_leaves_the_tallies_as_they_are(
    spec: RaceSpec, seen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    alone, _ = read_samples(seen, replace(spec, samples=None))
    monkeypatch.setattr(sample_table.SampleTable, "_flush", full)
    found, kept = read_samples(seen, spec)
    assert kept and kept.problem == "No space left on device" and not kept.rows
    assert [it.samples for it in found] == [it.samples for it in alone] and found[0].times == alone[0].times
    assert spec.samples and not list(spec.samples.iterdir())


def test_what_waited_behind_a_dropped_request_has_no_latency(spec: RaceSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_table, "ROWS", 4)
    keeper = SampleKeeper(spec)
    for number in range(6):
        for task in ("r", "other"):
            wait = 0.25 if number in (2, 4) else 0.2499
            keeper.add(task, ("0", "1", "1", "1000.5", f"{number}.0", "0.5", "0.6", str(wait), "0", "1", "ops"))
    keeper.forget_waits("r", 0.25)
    kept = keeper.finish()
    assert spec.samples and kept and (kept.rows, kept.problem) == (12, "")
    path = spec.samples / kept.name
    table = parquet.read_table(path)
    latencies = {task: [it["latency_ms"] for it in table.to_pylist() if it["task"] == task] for task in ("r", "other")}
    without = pytest.approx(749.9)
    assert latencies["r"] == [without, without, None, without, None, without]
    assert latencies["other"] == [without, without, 750, without, 750, without]
    assert table.column("start_seconds").to_pylist() == [it for it in range(6) for _ in range(2)]
    assert path.stat().st_size == kept.bytes and [it.name for it in spec.samples.iterdir()] == [kept.name]
    assert table.schema.metadata[b"fairlap.race_id"] == b"ns.bm.1.race-1"


def test_samples_that_cannot_be_written_anew_are_told(spec: RaceSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    keeper = SampleKeeper(spec)
    keeper.add("r", ("0", "1", "1", "1000.5", "1.0", "0.5", "0.6", "0.25", "0", "1", "ops"))
    keeper.forget_waits("r", 0.1)
    monkeypatch.setattr(sample_table, "_forgetting", full)
    kept = keeper.finish()
    assert kept and kept.problem == "No space left on device"
    assert spec.samples and not list(spec.samples.iterdir())


def test_no_samples_are_no_trouble(spec: RaceSpec, tmp_path: Path) -> None:
    assert read_samples(tmp_path / "none", spec) == ([], None)


def test_a_claim_that_cannot_be_written_ends_the_race_before_it_begins(spec: RaceSpec, tmp_path: Path) -> None:
    refuse_unwritable(spec)
    assert spec.samples and not list(spec.samples.iterdir())
    with pytest.raises(FailedError) as failed:
        refuse_unwritable(replace(spec, samples=tmp_path / "none"))
    assert failed.value.outcome.reason is Reason.INVALID_SPEC
    assert failed.value.outcome.message.startswith("race.samples: the claim cannot be written (No such file")
