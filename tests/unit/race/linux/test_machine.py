"""What the kernel says of the machine."""

from pathlib import Path

import pytest

from fairlap.results.machine_facts import facts_of
from fairlap_race.linux.machine import cpu_model, memory_bytes, numa_nodes


def test_the_model_of_the_cpu(tmp_path: Path) -> None:
    told = tmp_path / "cpuinfo"
    told.write_text("processor\t: 0\nmodel name\t: Intel(R) Xeon(R) @ 2.80GHz \nprocessor\t: 1\nmodel name\t: other\n")
    assert cpu_model(told) == "Intel(R) Xeon(R) @ 2.80GHz"
    told.write_text("processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n")
    assert cpu_model(told) == facts_of(told.read_text()).cpu_model == "implementer 0x41 part 0xd0c"
    told.write_text("processor\t: 0\nBogoMIPS\t: 50.00\n")
    assert cpu_model(told) is None and cpu_model(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("told", "nodes"), [("0", 1), ("0-1", 2), ("0,2-3", 3), ("", None), ("x", None), ("0-1-2", None)]
)
def test_memory_and_numa_nodes(tmp_path: Path, told: str, nodes: int | None) -> None:
    (tmp_path / "status").write_text(f"Name:\tx\nMems_allowed:\t1\nMems_allowed_list:\t{told}\n")
    assert numa_nodes(tmp_path / "status") == nodes and numa_nodes(tmp_path / "none") is None
    (tmp_path / "meminfo").write_text("MemTotal:       2048 kB\nMemFree:  1 kB\n")
    assert memory_bytes(tmp_path / "meminfo") == 2 << 20 and memory_bytes(tmp_path / "status") is None
