"""How this machine is set up, from its files."""

from pathlib import Path

from fairlap_race.contract.watched_machines.machine_settings import MachineSettings
from fairlap_race.linux.settings_files import read_numa_nodes, read_settings


def test_files_are_found_by_their_patterns(tmp_path: Path) -> None:
    policies = tmp_path / "sys/devices/system/cpu/cpufreq"
    for number, governor in enumerate(("performance", "powersave")):
        (policies / f"policy{number}").mkdir(parents=True)
        (policies / f"policy{number}/scaling_governor").write_text(f"{governor}\n")
    (policies / "boost").write_text("0\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 8 kB\nSwapTotal:       4 kB\n")
    found = read_settings(tmp_path)
    assert found == MachineSettings(governors=("performance", "powersave"), turbo=False, swap_bytes=4096)


def test_a_machine_without_files_tells_nothing(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == MachineSettings()


def test_numa_nodes_are_those_of_the_processors(tmp_path: Path) -> None:
    for number, cpus in enumerate(("0-1", "2-3")):
        node = tmp_path / f"sys/devices/system/node/node{number}"
        node.mkdir(parents=True)
        (node / "cpulist").write_text(f"{cpus}\n")
    assert [read_numa_nodes(cpus, tmp_path) for cpus in ("1", "2-3", "1-2", "4")] == ["0", "1", "0-1", None]
