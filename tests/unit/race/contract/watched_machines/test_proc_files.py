"""The kernel's words for a machine: the same for the load generator's own and for a node's."""

import pytest

from fairlap_race.contract.watched_machines.proc_files import allowed_cpus, cpu_model, memory_bytes, numa_nodes


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("processor\t: 0\nmodel name\t: Xeon \nprocessor\t: 1\nmodel name\t: other\n", "Xeon"),
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "implementer 0x41 part 0xd0c"),
        ("CPU implementer\t: 0x41\n", None),
        ("model name\t:\nCPU part\t: 0xd0c\n", None),
        ("", None),
    ],
)
def test_the_model_of_the_cpu(text: str, model: str | None) -> None:
    assert cpu_model(text) == model


def test_what_a_process_may_use() -> None:
    text = "MemTotal:   2048 kB\nCpus_allowed:\t13\nCpus_allowed_list:\t0-1,4\nMems_allowed_list:\t0-1\n"
    assert (memory_bytes(text), allowed_cpus(text), numa_nodes(text)) == (2 << 20, "0-1,4", 2)
    odd = "MemTotal: much\nCpus_allowed_list:\t\nMems_allowed_list: 0-\n"
    assert memory_bytes(odd) is allowed_cpus(odd) is numa_nodes(odd) is None
