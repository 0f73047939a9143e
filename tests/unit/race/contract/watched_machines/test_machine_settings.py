"""How a machine is set up: what real files say, what harms, and that no text raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.contract.watched_machines.cpu_list import count_of, listed, members, numa_nodes_of
from fairlap_race.contract.watched_machines.machine_settings import (
    FILES,
    MachineSettings,
    advice,
    describe,
    numa_advice,
    parse,
    sections,
)

CPU, HUGE = "/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage"
INTEL = {
    f"{HUGE}/enabled": "always [madvise] never",
    f"{HUGE}/defrag": "always defer defer+madvise [madvise] never",
    f"{CPU}/intel_pstate/no_turbo": "0",
    f"{CPU}/cpufreq/policy0/scaling_governor": "powersave",
    f"{CPU}/cpufreq/policy1/scaling_governor": "powersave",
    f"{CPU}/smt/active": "1",
    f"{CPU}/smt/control": "on",
    f"{CPU}/cpu0/topology/thread_siblings_list": "0,2",
    f"{CPU}/cpu2/topology/thread_siblings_list": "0,2",
    "/sys/devices/system/node/online": "0-1",
    "/proc/sys/vm/swappiness": "60",
    "/proc/meminfo": "MemTotal:  65536 kB\nSwapTotal:  2097152 kB\n",
    "/proc/self/status": "Name:\thead\nCpus_allowed:\t5\nCpus_allowed_list:\t0,2\n",
}
AMD = {
    f"{HUGE}/enabled": "[always] madvise never",
    f"{HUGE}/defrag": "[always] defer defer+madvise madvise never",
    f"{CPU}/cpufreq/boost": "1",
    f"{CPU}/cpufreq/policy0/scaling_governor": "schedutil\n",
    f"{CPU}/smt/active": "1\n",
    f"{CPU}/cpu0/topology/thread_siblings_list": "0,8",
    "/proc/self/status": "Cpus_allowed_list:\t0\n",
}
VIRTUAL = {
    f"{HUGE}/enabled": "always [madvise] never",
    f"{CPU}/smt/active": "0",
    f"{CPU}/smt/control": "notsupported",
    "/proc/meminfo": "SwapTotal:             0 kB\n",
}
ARM = {
    f"{CPU}/cpufreq/policy0/scaling_governor": "performance",
    f"{CPU}/cpufreq/policy4/scaling_governor": "ondemand",
    f"{CPU}/smt/control": "notimplemented",
    f"{HUGE}/enabled": "always madvise [never]",
}


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (
            INTEL,
            MachineSettings("madvise", "madvise", ("powersave",), turbo=True, smt_active=True, smt_control="on",
                            whole_cores=True, numa_nodes=2, swap_bytes=2 << 30, swappiness=60),
        ),
        (AMD, MachineSettings("always", "always", ("schedutil",), turbo=True, smt_active=True, whole_cores=False)),
        (VIRTUAL, MachineSettings("madvise", smt_active=False, smt_control="notsupported", swap_bytes=0)),
        (ARM, MachineSettings("never", governors=("ondemand", "performance"), smt_control="notimplemented")),
        ({}, MachineSettings()),
        ({f"{CPU}/smt/active": "yes", f"{HUGE}/enabled": "always", "/proc/sys/vm/swappiness": "-1"}, MachineSettings()),
    ],
    ids=["intel", "amd", "virtual", "arm", "nothing", "nonsense"],
)  # fmt: skip
def test_what_the_files_say(texts: dict[str, str], found: MachineSettings) -> None:
    assert parse(texts) == found


@pytest.mark.parametrize(
    ("files", "turbo"),
    [
        ({"intel_pstate/no_turbo": "1", "cpufreq/boost": "1"}, False),
        ({"cpufreq/boost": "0"}, False),
        ({"cpufreq/policy0/boost": "0", "cpufreq/policy1/boost": "1"}, True),
        ({"cpufreq/policy0/boost": "0"}, False),
        ({"cpufreq/policy0/boost": "?"}, None),
        ({}, None),
    ],
)
def test_turbo_has_a_switch_by_driver(files: dict[str, str], turbo: bool | None) -> None:
    assert parse({f"{CPU}/{path}": text for path, text in files.items()}).turbo is turbo


@pytest.mark.parametrize(
    ("texts", "exclusive", "begin"),
    [
        (INTEL, True, ["the cpufreq governor is powersave", "turbo is on"]),
        (INTEL, None, ["the cpufreq governor is powersave", "turbo is on"]),
        (INTEL, False, ["the cpufreq governor is powersave", "turbo is on", "SMT is on"]),
        (AMD, True, ["the cpufreq governor is schedutil", "turbo is on", "SMT is on", "transparent huge pages"]),
        (ARM, True, ["the cpufreq governor is ondemand"]),
        (VIRTUAL, False, []),
        ({}, False, []),
        ({f"{CPU}/cpufreq/policy0/scaling_governor": "userspace", f"{CPU}/cpufreq/boost": "0"}, True, []),
        ({f"{HUGE}/enabled": "[always] madvise never"}, True, []),
    ],
)
def test_what_harms_is_said_and_what_is_unknown_is_not(
    texts: dict[str, str], exclusive: bool | None, begin: list[str]
) -> None:
    said = advice(parse(texts), exclusive, "race.resources")
    assert len(said) == len(begin) and all(text.startswith(first) for text, first in zip(said, begin, strict=True))
    assert all(": " in text and "(" in text for text in said), "each says what to change"


def test_no_settings() -> None:
    assert advice(None, False, "") == () and describe(None) == "settings unknown"
    assert describe(MachineSettings()).count("unknown") == 7
    assert "turbo on, SMT on" in describe(parse(INTEL)) and "swap none" in describe(parse(VIRTUAL))


def test_what_head_prints_of_several_files() -> None:
    text = "==> /a <==\n1\n\n==> /b/c <==\nx\ny\n==> /d <==\n0,6"
    assert sections(text) == {"/a": "1\n", "/b/c": "x\ny", "/d": ""}
    printed = "".join(f"==> {path} <==\n{text}\n\n" for path, text in INTEL.items())
    assert parse(sections(printed)) == parse(INTEL)


@given(st.dictionaries(st.sampled_from([*FILES, *INTEL, *AMD]), st.text(max_size=50)), st.booleans())
def test_no_text_raises(texts: dict[str, str], exclusive: bool) -> None:
    found = parse(texts)
    assert isinstance(advice(found, exclusive, "race.resources"), tuple) and describe(found)


@given(st.text())
def test_no_log_raises(text: str) -> None:
    parse(sections(text))


NODES = {
    "/sys/devices/system/node/node0/cpulist": "0-3,8-11\n",
    "/sys/devices/system/node/node1/cpulist": "4-7",
    "/sys/devices/system/node/node2/cpulist": "\n",
    "/sys/devices/system/node/node10/cpulist": "12",
    "/sys/devices/system/node/online": "0-2,10",
    "/sys/devices/system/cpu/node3/cpulist": "0-12",
}


@pytest.mark.parametrize(
    ("cpus", "nodes"),
    [
        ("2", "0"),
        ("2-3,8", "0"),
        ("3-4", "0-1"),
        ("3,5,12", "0-1,10"),
        ("0-12", "0-1,10"),
        ("12-13", None),
        ("20", None),
        ("", None),
        ("nonsense", None),
    ],
)
def test_the_numa_nodes_of_processors(cpus: str, nodes: str | None) -> None:
    assert numa_nodes_of(cpus, NODES) == nodes
    assert numa_nodes_of(cpus, {"/sys/devices/system/node/online": "0"}) is None, "a machine that tells nothing"


@pytest.mark.parametrize(
    ("nodes", "exclusive", "said"),
    [
        ("0-1", True, True), ("0,2", True, True), ("0", True, False), ("", True, False),
        ("0-1", False, False), ("0-1", None, False),
    ],
)  # fmt: skip
def test_processors_of_its_own_on_several_numa_nodes_are_said(nodes: str, exclusive: bool | None, said: bool) -> None:
    text = numa_advice("3-4", nodes, exclusive)
    assert text.startswith(f"its own processors 3-4 are of the NUMA nodes {nodes}, ") if said else text == ""


@given(st.sets(st.integers(0, 99), max_size=20))
def test_what_is_listed_is_read_again(numbers: set[int]) -> None:
    assert (members(listed(numbers)) or set()) == numbers


@given(st.text(alphabet="0123456789-,", max_size=40))
def test_lists_have_as_many_members_as_are_counted(text: str) -> None:
    found, count = members(text), count_of(text)
    assert found is None if count is None or count > 8192 else found is not None and len(found) <= count
