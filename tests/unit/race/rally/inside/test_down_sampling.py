"""What Rally keeps of its samples is counted as Rally chooses them, and percentiles stand on no more."""

import json
from pathlib import Path
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.recorded.record import Counts, Task
from fairlap_race.rally.inside.down_sampling import KEPT, TimesKept, read_kept
from fairlap_race.runner.by_rally.harvest import with_kept

BATCHES = st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from((0, 1))), max_size=40), max_size=5)


@given(BATCHES, st.integers(2, 9))
def test_as_rally_chooses(batches: list[list[tuple[str, int]]], factor: int) -> None:
    """Rally: for idx, sample in enumerate(raw_samples): if idx % self.downsample_factor == 0."""
    text = SimpleNamespace(write_text=lambda text, encoding: found.append(text))
    found: list[str] = ["{}"]
    counts = TimesKept(text)  # type: ignore[arg-type]
    expected = {"a": 0, "b": 0}
    for batch in batches:
        samples = [SimpleNamespace(task=SimpleNamespace(name=name), sample_type=kind) for name, kind in batch]
        counts.count(factor, samples)
        for index, (name, kind) in enumerate(batch):
            expected[name] += index % factor == 0 and kind == 1
    assert {"a": 0, "b": 0, **json.loads(found[-1])} == expected


def test_nothing_is_counted_where_all_is_kept(tmp_path: Path) -> None:
    TimesKept(tmp_path / KEPT).count(1, [None])
    task = Task(task="a", samples=Counts(0, 100), support={"p99": 1})
    assert read_kept(tmp_path) == {} and with_kept(task, {}) == task


def test_support_is_of_what_is_kept(tmp_path: Path) -> None:
    samples = [SimpleNamespace(task=SimpleNamespace(name="a"), sample_type=1) for _ in range(1000)]
    TimesKept(tmp_path / KEPT).count(10, samples)
    kept = read_kept(tmp_path)
    assert kept == {"a": 100}
    task = with_kept(Task(task="a", samples=Counts(0, 1000)), kept)
    assert (task.times_kept, task.support["p99"], task.support["p90"]) == (100, 1, 10)
    # Of a task that was never hit there is nothing to stand on.
    assert with_kept(Task(task="b", samples=Counts(0, 9), support={"p50": 4}), kept).support == {}
