"""The watchdog on an invented clock: what is a standstill and what is only slow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap_race.runner.watching.watchdog import Sighting, Watchdog, WatchVerdict

STALL, DEADLINE = 100.0, 10_000.0


def watch(*looks, start=0.0):
    """Return the first verdict that is not 'go on' and its time, over (time, Seen) looks."""
    dog = Watchdog(start, STALL, DEADLINE)
    for at, seen in looks:
        verdict = dog.look(at, seen)
        if verdict is not WatchVerdict.GO_ON:
            return verdict, at
    return WatchVerdict.GO_ON, None


def every(seconds, until, make):
    return [(float(at), make(at)) for at in range(0, until, seconds)]


def test_progress_by_percent_and_by_samples():
    assert watch(*every(50, 1000, lambda at: Sighting(position=(1, at // 50, 0))))[0] is WatchVerdict.GO_ON
    assert watch(*every(50, 1000, lambda at: Sighting(position=(1, 0, at))))[0] is WatchVerdict.GO_ON


def test_standing_still():
    assert watch(*every(1, 1000, lambda at: Sighting(position=(2, 0, 5)))) == (WatchVerdict.STALLED, 100.0)


def test_an_endless_health_check_stalls_although_elasticsearch_answers():
    looks = every(1, 1000, lambda at: Sighting(position=(2, 0, 5), work=(10, 20), cpu_share=0.05))
    assert watch(*looks) == (WatchVerdict.STALLED, 100.0)


def test_a_force_merge_at_zero_percent_goes_on():
    looks = every(1, 5000, lambda at: Sighting(position=(2, 0, 5), work=(10, 20), busy_tasks=1))
    assert watch(*looks)[0] is WatchVerdict.GO_ON


def test_a_recovery_that_copies_goes_on():
    assert watch(*every(30, 5000, lambda at: Sighting(work=(1, at))))[0] is WatchVerdict.GO_ON


def test_the_first_answer_of_elasticsearch_is_no_work():
    looks = [(float(at), Sighting(work=(7,) if at >= 50 else None)) for at in range(500)]
    assert watch(*looks) == (WatchVerdict.STALLED, 100.0)


def test_computing_is_work_and_waiting_is_allowed():
    assert watch(*every(1, 5000, lambda at: Sighting(cpu_share=0.9)))[0] is WatchVerdict.GO_ON
    assert watch(*every(1, 5000, lambda at: Sighting(waiting=True)))[0] is WatchVerdict.GO_ON


def test_the_deadline_comes_whatever_moves():
    looks = every(10, 20_000, lambda at: Sighting(position=(1, at, at), waiting=True))
    assert watch(*looks) == (WatchVerdict.TIMEOUT, DEADLINE)


def test_a_dead_driver_is_seen_soon():
    looks = every(1, 100, lambda at: Sighting(position=(1, at, at), missing_actors=("driver",) if at >= 20 else ()))
    assert watch(*looks) == (WatchVerdict.DIED, 30.0)


def test_a_process_that_is_gone_for_a_moment_is_forgiven():
    looks = every(1, 90, lambda at: Sighting(position=(1, at, at), missing_actors=("driver",) if at % 10 else ()))
    assert watch(*looks)[0] is WatchVerdict.GO_ON


def test_a_machine_that_stood_still_does_not_lengthen_that_moment():
    gone, ending = Sighting(missing_actors=("driver",)), Sighting()
    assert watch((0.0, Sighting()), (1.0, gone), (31.0, gone), (32.0, ending))[0] is WatchVerdict.GO_ON
    assert watch((0.0, Sighting()), (1.0, gone), (31.0, gone), (32.0, gone)) == (WatchVerdict.DIED, 32.0)


def test_elasticsearch_is_asked_only_when_rally_stands():
    dog = Watchdog(0.0, STALL, DEADLINE)
    dog.look(0.0, Sighting(position=(1, 1, 1)))
    assert not dog.wants_work(9.0)
    assert dog.wants_work(10.0)
    dog.look(10.0, Sighting(position=(1, 2, 1), work=(1,)))
    assert not dog.wants_work(11.0)


@given(st.lists(st.tuples(st.floats(0.1, 30), st.booleans()), max_size=200))
def test_never_stalled_sooner_than_agreed(steps):
    dog, now, moved, count = Watchdog(0.0, STALL, 1e9), 0.0, 0.0, 0
    for pause, moves in steps:
        now += pause
        if moves or count == 0:
            count, moved = count + 1, now
        verdict = dog.look(now, Sighting(position=(1, 0, count)))
        assert verdict is (WatchVerdict.STALLED if now - moved >= STALL else WatchVerdict.GO_ON)
        if verdict is WatchVerdict.STALLED:
            break


@pytest.mark.parametrize("stall", [3.0, 600.0])
def test_it_asks_before_it_would_stall(stall):
    assert Watchdog(0.0, stall, 1e6).wants_work(stall / 2)


@pytest.mark.parametrize(("stall", "soonest"), [(24.0, 8.0), (600.0, 60.0)])
def test_a_disk_can_be_the_cause_only_of_what_stands_still_for_some_time(stall, soonest):
    dog = Watchdog(0.0, stall, 1e6)
    dog.look(5.0, Sighting(position=(1, 0, 0)))
    assert not dog.may_lack_room(5.0 + soonest - 0.1)
    assert dog.may_lack_room(5.0 + soonest)
