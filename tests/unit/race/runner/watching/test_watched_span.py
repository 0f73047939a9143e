"""What becomes of samples of the whole machine in a span."""

import pytest

from fairlap_race.contract.watched_machines.series import Points, Span
from fairlap_race.runner.watching.watched_span import merged, watched_span


def test_shares_of_a_span() -> None:
    signals = {name: Points() for name in ("steal_seconds", "busy_seconds", "processor_seconds", "cpu_waiting")}
    for at in range(0, 41, 4):
        for name, rate in zip(signals, (0.2, 1.5, 2.0, 0.25), strict=True):
            signals[name].add(at, 100 + rate * at)
    found = watched_span(signals, Span(10, 30), "search")
    assert (found.task, found.seconds, found.steal_share, found.busy_cores) == ("search", 20, 0.1, 1.5)
    assert (found.processors, found.cpu_waiting_share, found.io_waiting_share, found.megahertz) == (2, 0.25, None, None)
    assert watched_span(signals, Span(100, 200)).steal_share is None


def test_a_counter_of_a_machine_that_steps_back_did_not_begin_anew() -> None:
    signals = {name: Points() for name in ("steal_seconds", "processor_seconds")}
    for at, stolen in zip(range(0, 41, 4), (500.0, 500.02, 500.01, *[500.03] * 8), strict=True):
        signals["steal_seconds"].add(at, stolen)
        signals["processor_seconds"].add(at, 1000 + 2 * at)
    steal = watched_span(signals, Span(0, 40)).steal_share
    assert steal is not None and steal < 0.001


def looks(running: list[float], ended: list[float]) -> dict[str, Points]:
    """Looks at a node, four seconds apart."""
    signals = {"merges_running": Points(), "merges_ended": Points()}
    for points, values in zip(signals.values(), (running, ended), strict=True):
        for number, value in enumerate(values):
            points.add(4.0 * number, value)
    return signals


@pytest.mark.parametrize(
    ("nodes", "whether"),
    [
        ([looks([0] * 11, [7] * 11)], False),
        ([looks([0] * 11, [7] * 11), looks([0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0], [7] * 11)], True),
        ([looks([0] * 11, [7] * 4 + [8] * 7)], True),  # between two looks
        ([looks([2] + [0] * 10, [7] + [9] * 10)], False),  # before it
        ([looks([0, 0, 1] + [0] * 8, [7] * 11)], True),  # into its first seconds, maybe
        ([looks([0] * 10 + [3], [7] * 11)], False),  # after it
        ([{}], None),
        ([], None),
    ],
    ids=["idle", "one of two nodes", "between looks", "before", "just before", "after", "another version", "nobody"],
)
def test_whether_a_node_merged(nodes: list[dict[str, Points]], whether: bool | None) -> None:
    assert merged(nodes, Span(9, 31)) is whether
