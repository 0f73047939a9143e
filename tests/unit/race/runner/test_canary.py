"""The canary does its work within its time, and says what it could not do."""

import resource
import threading
import time
from pathlib import Path

from fairlap_race.runner.canary import READ_BYTES, do_fixed_work, lower_quartile


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
    assert do_fixed_work(tmp_path, 2.0, stop) is None


def test_a_disk_that_cannot_be_written_to_costs_its_figure_alone(tmp_path: Path) -> None:
    found = do_fixed_work(tmp_path / "none", 0.5, threading.Event(), seconds_each=0.02)
    assert found is not None and found.cpu_seconds and found.disk_seconds is None


def test_the_lower_quartile() -> None:
    assert lower_quartile([]) is None
    assert lower_quartile([3.0]) == 3.0
    assert lower_quartile([5.0, 1.0, 2.0, 9.0, 4.0]) == 2.0
