"""What the kernel says of the whole machine, from files as it writes them."""

import os
from pathlib import Path

import pytest

from fairlap_race.linux.whole_machine import read_machine

STAT = """cpu  600 100 200 3000 50 20 30 1000 77 0
cpu0 300 50 100 1500 25 10 15 500 0 0
intr 123456 0 9
ctxt 5
"""
TICK = os.sysconf("SC_CLK_TCK")


def test_it_reads_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(STAT)
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure/cpu").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n")
    (tmp_path / "cpuinfo").write_text("processor\t: 0\ncpu MHz\t\t: 2000.000\nprocessor\t: 1\ncpu MHz\t\t: 3000.5\n")
    found = read_machine(tmp_path, tmp_path / "sys")
    assert found == pytest.approx(
        {
            "steal_seconds": 1000 / TICK, "busy_seconds": 950 / TICK, "processor_seconds": 5000 / TICK,
            "interrupts": 123456, "cpu_waiting": 2.5, "megahertz": 2500.25,
        }
    )  # fmt: skip


@pytest.mark.parametrize("stat", ["", "cpu\n", "cpu a b c d e f g h\n", "cpu 1 2 3\nintr\n"])
def test_what_it_cannot_read_is_not_there(tmp_path: Path, stat: str) -> None:
    (tmp_path / "stat").write_text(stat)
    assert read_machine(tmp_path, tmp_path) == {}


def test_a_governors_clock_comes_first(tmp_path: Path) -> None:
    folder = tmp_path / "devices/system/cpu/cpu0/cpufreq"
    folder.mkdir(parents=True)
    (folder / "scaling_cur_freq").write_text("1800000\n")
    assert read_machine(tmp_path, tmp_path) == {"megahertz": 1800.0}
