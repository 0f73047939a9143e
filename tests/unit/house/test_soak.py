"""The long proofs go on where they were stopped, begin anew for other sources, and are in no gate."""

import json
from pathlib import Path

import pytest
from tests.soak.progress import Progress, summed

ROOT = Path(__file__).resolve().parents[3]
TEST = "tests/soak/test_it.py::test_it[a/b]"


@pytest.fixture(autouse=True)
def _no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOAK_SEED", raising=False)


def progress(folder: Path, code: str = "one") -> Progress:
    return Progress(TEST, folder, code)


def test_it_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    first = progress(tmp_path)
    assert list(first.chunks(most=4)) == [first.seed + number for number in range(4)]
    first.passed(first.seed, {"examples": 40})
    first.passed(first.seed + 2, {"examples": 40})
    again = progress(tmp_path)
    assert again.seed == first.seed
    assert list(again.chunks(most=4)) == [first.seed + 1, first.seed + 3]
    assert "2 chunks passed" in again.words() and "examples=80" in again.words()
    assert not again.done
    again.finish()
    assert progress(tmp_path).done


def test_other_sources_or_another_seed_begin_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = progress(tmp_path)
    first.passed(first.seed, {})
    first.finish()
    assert not progress(tmp_path, "two").done
    monkeypatch.setenv("SOAK_SEED", str(first.seed))
    assert progress(tmp_path).done
    monkeypatch.setenv("SOAK_SEED", str(first.seed + 1))
    other = progress(tmp_path)
    assert not other.done and other.seed == first.seed + 1


def test_one_without_an_end_ends_with_its_time(tmp_path: Path) -> None:
    assert list(Progress(TEST, tmp_path, "one", minutes=-1).chunks()) == []


def test_figures_are_added_up(tmp_path: Path) -> None:
    chunks = [
        {"examples": 2, "slowest": 1.5, "ended": {"Succeeded": 1}, "slowest_spec": "a"},
        {"examples": 3, "slowest": 0.5, "ended": {"Succeeded": 1, "JobLost": 1}, "slowest_spec": "b"},
    ]
    assert summed(chunks) == {"examples": 5, "slowest": 1.5, "ended": {"Succeeded": 2, "JobLost": 1}}
    assert json.loads(json.dumps(summed(chunks))) == summed(chunks)


def test_no_gate_runs_the_long_proofs() -> None:
    commands = [line for line in (ROOT / "Makefile").read_text().splitlines() if "pytest" in line]
    of_soak = [line for line in commands if "tests/soak" in line]
    # Of `make soak`, and of `make test-elastic-tracks`, which is for those who name a checkout of these tracks.
    assert [line.split("$(BIN)/")[1] for line in of_soak] == [
        "pytest tests/soak/test_elastic_tracks_raced.py", "pytest -n 2 --dist loadfile tests/soak"
    ]  # fmt: skip
    assert not [line for line in commands if line.endswith(("pytest", " tests"))], "one of them runs every folder"
