"""A bucket of writes: a race never meets its bottom, a mistake does."""

from fairlap.runtime.loop.write_rate import BURST, PER_SECOND, WriteRate


def writes(seconds: float, every: float) -> tuple[int, float]:
    """Return how many writes there were in that time, and how long the longest waited."""
    rate, now, done, longest = WriteRate(), 1000.0, 0, 0.0
    end = now + seconds
    while now < end:
        wait = rate.wait(now)
        longest = max(longest, wait)
        now += wait + every
        done += 1
    return done, longest


def test_a_flood_is_bounded_and_a_race_never_waits() -> None:
    flood, _ = writes(60, 0.001)
    assert BURST < flood <= BURST + 60 * PER_SECOND + 1
    assert writes(60, 0.5)[1] == 0
    assert writes(1, 0.05)[1] == 0, "as a step begins"


def test_a_clock_that_was_set_back_gives_nothing() -> None:
    rate = WriteRate(left=0, filled=100.0)
    assert 0 < rate.wait(50.0) <= 1 / PER_SECOND
