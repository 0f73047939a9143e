"""The canary does its work within its time, and says what it could not do."""

import resource
import threading
import time
from pathlib import Path

import pytest

from fairlap_race.runner.watching.canary import READ_BYTES, do_fixed_work, has_room, lower_quartile


def test_it_takes_the_time_that_it_says(tmp_path: Path) -> None:
    began = time.monotonic()
    found = do_fixed_work(tmp_path, 2.0, threading.Event(), seconds_each=0.1)
    took = time.monotonic() - began
    assert found is not None and found.at.endswith("Z")
    assert found.cpu_seconds and found.memory_seconds and found.disk_seconds
    assert 0 < found.took_seconds <= took + 0.001
    assert list(tmp_path.iterdir()) == []


def test_memory_is_read_and_not_asked_of_the_kernel_again(tmp_path: Path) -> None:
    """New pages cost more than the reading, and the more the longer a machine has raced: no other machine for it."""
    do_fixed_work(tmp_path, 1.0, threading.Event(), seconds_each=0.02)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    do_fixed_work(tmp_path, 1.0, threading.Event(), seconds_each=0.3)
    pages = READ_BYTES // resource.getpagesize()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 2 * pages  # all of them, once


def test_who_is_told_to_stop_does_no_work(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    assert do_fixed_work(tmp_path, 2.0, stop, seconds_each=0.1) is None
    assert do_fixed_work(tmp_path, 2.0, threading.Event(), seconds_each=0.0) is None


def test_a_disk_that_cannot_be_written_to_costs_its_figure_alone(tmp_path: Path) -> None:
    found = do_fixed_work(tmp_path / "none", 1.0, threading.Event(), seconds_each=0.02)
    assert found is not None and found.cpu_seconds and found.disk_seconds is None


def test_with_less_than_a_processor_the_quota_would_be_measured(tmp_path: Path) -> None:
    found = do_fixed_work(tmp_path, 0.9, threading.Event(), seconds_each=0.02)
    assert found is not None and (found.cpu_seconds, found.memory_seconds) == (None, None) and found.disk_seconds


MIB = 1 << 20


@pytest.mark.parametrize(
    ("limit", "used", "cached", "reads"),
    [
        ("max", 60, 0, True),
        (512 * MIB, 60, 0, True),
        (128 * MIB, 60, 0, False),
        (260 * MIB, 60, 0, True),
        (260 * MIB, 200, 140, True),
        (260 * MIB, 200, 0, False),
    ],
)
def test_a_container_that_is_too_small_is_not_filled(
    tmp_path: Path, limit: str | int, used: int, cached: int, reads: bool
) -> None:
    """Whoever goes beyond its limit is killed, and a look at the machine would have ended the race."""
    (tmp_path / "cgroup.controllers").touch()
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text(f"{used * MIB}\n")
    (tmp_path / "memory.stat").write_text(f"inactive_file {cached * MIB}\n")
    found = do_fixed_work(tmp_path, 1.0, threading.Event(), seconds_each=0.01, root=tmp_path)
    assert found is not None and found.cpu_seconds and (found.memory_seconds is not None) == reads


def test_version_1_of_control_groups_and_none_at_all(tmp_path: Path) -> None:
    assert has_room(tmp_path)
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/memory.limit_in_bytes").write_text(f"{128 * MIB}")
    assert not has_room(tmp_path)
    (tmp_path / "memory/memory.limit_in_bytes").write_text("9223372036854771712")
    assert has_room(tmp_path)


def test_the_lower_quartile() -> None:
    assert lower_quartile([]) is None
    assert lower_quartile([3.0]) == 3.0
    assert lower_quartile([5.0, 1.0, 2.0, 9.0, 4.0]) == 2.0
