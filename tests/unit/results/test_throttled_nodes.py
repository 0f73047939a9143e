"""A node that its CPU limit held back while a task was measured is said, and one for a moment is not."""

import pytest
from tests.fixtures.message_form import looks_like

from fairlap.results.throttled_nodes import remarks
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.watched_machines.resources import (
    ELASTICSEARCH,
    LOAD_GENERATOR,
    Machine,
    MachineTable,
    TaskUsage,
    Usage,
)

LIMITED = "task bulk-index: node es-0 was throttled by its CPU limit"


def table(usage: Usage, role: str = ELASTICSEARCH, limit: float | None = 2.0) -> MachineTable:
    tasks = (TaskUsage("quiet", None, Usage(seconds=60.0)), TaskUsage("bulk-index", None, usage))
    return MachineTable(machines=(Machine("es-0", role, limit, tasks=tasks),))


@pytest.mark.parametrize(
    ("periods", "seconds", "said"),
    [
        (120.0, 6.0, f"{LIMITED} of 2 CPUs for 6.0 s of 60 s, in 120 periods"),
        (None, 0.7, f"{LIMITED} of 2 CPUs for 0.7 s of 60 s"),
        (7.0, None, f"{LIMITED} of 2 CPUs, in 7 periods"),
        (7.0, 0.04, f"{LIMITED} of 2 CPUs for 0.04 s of 60 s, in 7 periods"),
        (6.0, 0.6, ""),
        (0.0, 0.0, ""),
        (None, None, ""),
    ],
)  # fmt: skip
def test_a_hundredth_of_the_task(periods: float | None, seconds: float | None, said: str) -> None:
    usage = Usage(seconds=60.0, throttled_periods=periods, throttled_seconds=seconds)
    found = list(remarks(table(usage)))
    assert [remark.text for remark in found] == ([said] if said else [])
    assert not (periods and seconds and said) or looks_like(Reason.ELASTICSEARCH_THROTTLED.example, said)
    assert not list(remarks(table(usage, LOAD_GENERATOR))), "that one has a remark of its own"
    assert not list(remarks(table(usage), {"bulk-index"})), "nobody reads its numbers"


def test_a_target_may_tell_no_limit_and_a_race_no_table() -> None:
    (found,) = remarks(table(Usage(seconds=60.0, throttled_seconds=6.0), limit=None))
    assert found.text == f"{LIMITED} for 6.0 s of 60 s"
    assert not list(remarks(None)) and not list(remarks(MachineTable()))
