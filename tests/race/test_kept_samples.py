"""Samples of real races: each is kept where asked, the record's histograms agree with them, and no trouble voids."""

import shutil
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from pyarrow import compute, parquet
from tests.fixtures.message_form import looks_like

from fairlap.plan.verdict.checks import first_violation
from fairlap_race.contract.reasons import Reason

from .runner import Race, Runner, asked
from .tracks import BULK, CREATE, search, write


def test_every_sample_is_kept_and_the_histograms_agree(runner: Runner, tmp_path: Path) -> None:
    kept = tmp_path / "claim"
    kept.mkdir()
    ran = runner.run(write(tmp_path / "t", CREATE, BULK, {"operation": "refresh"}, search()), samples=str(kept))
    assert first_violation(ran.record, asked()) is None
    file = ran.record.sample_file
    assert file is not None and not file.problem and [it.name for it in kept.iterdir()] == [file.name]
    table = parquet.read_table(kept / file.name)
    assert table.num_rows == file.rows == sum(t.samples.warmup + t.samples.normal for t in ran.record.tasks)
    (task,) = (it for it in ran.record.tasks if it.task == "search")
    assert task.rally and task.histogram and task.histogram.service_time and task.histogram.latency
    mine = table.filter((compute.field("task") == "search") & (compute.field("sample_type") == "normal"))
    for text, rally, column in (
        (task.histogram.service_time, task.rally.service_time_millis, "service_time_ms"),
        (task.histogram.latency, task.rally.latency_millis, "latency_ms"),
    ):
        found = HdrHistogram.decode(text)
        assert found.get_total_count() == task.samples.normal == mine.num_rows
        assert found.get_max_value() / 1000 == pytest.approx(rally["p100"], rel=0.002)
        assert compute.max(mine[column]).as_py() == pytest.approx(rally["p100"], rel=1e-4)


@pytest.mark.long
@pytest.mark.produces(Reason.SAMPLES_NOT_KEPT)
def test_samples_that_cannot_be_kept_are_a_remark(runner: Runner, tmp_path: Path) -> None:
    kept = tmp_path / "claim"
    kept.mkdir()

    def lose(_: Race) -> None:
        shutil.rmtree(kept)

    track = write(tmp_path / "t", CREATE, BULK, {"operation": "refresh"}, search(seconds=5))
    ran = runner.run(track, lose, samples=str(kept))
    assert first_violation(ran.record, asked()) is None
    (said,) = (it.text for it in ran.remarks() if it.reason is Reason.SAMPLES_NOT_KEPT)
    assert looks_like(Reason.SAMPLES_NOT_KEPT.example, said), said
    assert all(task.histogram for task in ran.record.tasks if task.samples.normal)
