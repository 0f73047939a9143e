"""What becomes of samples of the whole machine in a span."""

from fairlap_race.contract.watched_machines.series import Points, Span
from fairlap_race.runner.watching.watched_span import watched_span


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
