"""Whatever bytes are in the kernel's files, each reader returns: a name among them may be of any encoding."""

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairlap_race.contract.watched_machines.machine_settings import FILES
from fairlap_race.linux import cgroup, container, kernel_files, machine, process, settings_files, whole_machine

WORDS = (
    *(b"cpu", b"intr", b"some", b"total=", b"rbytes=", b"nr_throttled", b"usage_usec", b"oom_kill", b"eth0:", b"Read"),
    *(b"MemTotal:", b"Mems_allowed_list:", b"Cpus_allowed_list:", b"SwapTotal:", b"cpu MHz\t:", b"model name\t:"),
    *(b"kB", b"0", b"7", b"-", b"--5", b"0-1", b"1.5", b"max", b"[always]", b"9" * 400, b"9" * 5000, "\u0663".encode()),
    *(b"\n", b"\n\n", b"\x0b", b"\x00", b"\xff\xfe", b"Odd \xae CPU", b"\xe2\x80\xa8", b"(a) b)", b")", b"R", b","),
)
CONTENT = st.binary(max_size=60) | st.lists(st.sampled_from((*WORDS, b" ", b" ")), max_size=40).map(b" ".join)
STAT = b"cpu 1 2 3 4 5 6 7 8\n\ncpu0 1 2 3 4 5 6 7 8\nintr 5 1\n\xff"
VERSION_2 = (
    *("cgroup.controllers", "cpu.stat", "cpu.max", "memory.max", "memory.current", "memory.stat", "memory.events"),
    *("io.stat", "cpu.pressure", "memory.pressure", "io.pressure", "net/dev"),
)
VERSION_1 = (
    *("cpu/cpu.stat", "cpuacct/cpuacct.usage", "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us", "net/dev"),
    *("memory/memory.limit_in_bytes", "memory/memory.oom_control", "memory/memory.stat", "pressure/cpu"),
    *("memory/memory.usage_in_bytes", "blkio/blkio.throttle.io_serviced", "blkio/blkio.throttle.io_service_bytes"),
)
CLOCK = "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"
SETTINGS = tuple(f.replace("[0-9]*", "0").replace("*", "0")[1:] for f in (*FILES, "/proc/meminfo", "/proc/self/status"))


def of_group(root: Path) -> Any:
    return cgroup.read_usage(1.0, root), cgroup.read_limits(root), container.read_container(root, root)


def of_machine(root: Path) -> Any:
    path = root / "told"
    found = machine.cpu_model(path), machine.memory_bytes(path), machine.numa_nodes(path), machine.allowed_cpus(path)
    return *found, kernel_files.read_number(path), kernel_files.read_pairs(path)


READERS: dict[str, tuple[tuple[str, ...], Callable[[Path], Any]]] = {
    "control group, version 2": (VERSION_2, of_group),
    "control group, version 1": (VERSION_1, of_group),
    "the whole machine": (("stat", "cpuinfo", "pressure/cpu"), lambda root: whole_machine.read_machine(root, root)),
    "its clock": ((CLOCK,), lambda root: whole_machine.read_machine(root, root)),
    "what it is": (("told",), of_machine),
    "settings": (SETTINGS, settings_files.read_settings),
    "NUMA nodes": (SETTINGS, lambda root: settings_files.read_numa_nodes("0-1", root)),
}


def numbers(found: Any) -> Iterator[float]:
    """Yield all numbers in what a reader returned."""
    if is_dataclass(found) and not isinstance(found, type):
        found = asdict(found)
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list | tuple):
        for each in found:
            yield from numbers(each)
    elif isinstance(found, int | float):
        yield float(found)


@pytest.mark.parametrize("reader", READERS)
@given(content=CONTENT)
@example(content=STAT)
@example(content=b"model name\t: Odd \xae CPU\ncpu MHz\t\t: 2400.000\n")
@example(content=b"--5")
@example(content=b"10 0")
@example(content=b"eth0: a b c d e f g h i\n")
def test_no_bytes_end_a_look(reader: str, content: bytes) -> None:
    files, read = READERS[reader]
    with tempfile.TemporaryDirectory() as folder:
        for name in files:
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        assert all(math.isfinite(number) for number in numbers(read(Path(folder))))


@given(CONTENT)
@example(b"")
@example(b"12 (Odd \xae) name) R 1")
def test_a_process_of_any_name_is_one_or_none(content: bytes) -> None:
    fields = process.stat_fields(content.decode("utf-8", errors="replace"))
    assert fields is None or (len(fields) > 12 and int(fields[1]) >= 0)


def test_a_process_is_found_behind_a_name_that_is_no_text() -> None:
    told = b"12 (a) \xae (b) S 7 12 12 0 -1 4194304 2584 0 0 0 5 6 0 0"
    assert process.stat_fields(told.decode("utf-8", errors="replace")) == told.rpartition(b")")[2].decode().split()


def test_lines_around_an_odd_one_are_read(tmp_path: Path) -> None:
    (tmp_path / "stat").write_bytes(STAT)
    (tmp_path / "cpuinfo").write_bytes(b"model name\t: Odd \xae CPU\ncpu MHz\t\t: 2400.000\n")
    found = whole_machine.read_machine(tmp_path, tmp_path)
    assert found["interrupts"] == 5.0 and found["megahertz"] == 2400.0 and found["steal_seconds"] > 0
    assert machine.cpu_model(tmp_path / "cpuinfo") == "Odd \ufffd CPU"
