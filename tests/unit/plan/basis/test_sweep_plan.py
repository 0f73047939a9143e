"""What a sweep takes from race.load where it says nothing itself."""

import pytest

from fairlap.api.capacity_spec import CapacityGoal
from fairlap.api.load_spec import RequestLoad
from fairlap.api.sweep_spec import Sweep
from fairlap.plan.basis.sweep_plan import least_seconds, most_seconds, sweep_spec


@pytest.mark.parametrize(
    ("duration", "warmup", "over_http", "wanted"),
    [
        (None, None, True, (40.0, 20.0)),
        ("30s", None, True, (30.0, 20.0)),
        ("30s", "5s", True, (30.0, 5.0)),
        ("30s", "0s", True, (30.0, 0.0)),
        ("30s", None, False, (30.0, 0.0)),
        (None, None, False, (None, 0.0)),
    ],
)
def test_duration_and_warmup_are_those_of_the_load_where_the_sweep_has_none(
    duration: str | None, warmup: str | None, over_http: bool, wanted: tuple[float | None, float]
) -> None:
    sweep = Sweep(task="requests", clients=[1, 2], duration=duration, warmup=warmup)
    load = RequestLoad(duration="40s", warmup="20s") if over_http else None
    found = sweep_spec(sweep, "race", load)
    assert found is not None and (found.duration_seconds, found.warmup_seconds) == wanted
    assert least_seconds(sweep, load) == 2 * ((wanted[0] or 0.0) + wanted[1])


@pytest.mark.parametrize(("warmup", "seconds"), [("5s", 36.0), ("50s", 50.0), ("0s", 0.0)])
def test_a_step_that_warms_up_until_it_is_settled_takes_as_long_as_it_takes_to_tell(
    warmup: str, seconds: float
) -> None:
    sweep = Sweep(task="search", clients=[1, 2, 4], duration="10s", warmup=warmup)
    assert least_seconds(sweep, steady=True) == 3 * (10 + seconds)
    capacity = CapacityGoal.model_validate(
        {"task": "search", "objective": {"p99": "50ms"}, "targetThroughput": {"from": 1, "to": 9}, "warmup": warmup}
    )
    probes = most_seconds(capacity) / capacity.probe_seconds
    assert most_seconds(capacity, steady=True) == pytest.approx(probes * (30 + seconds))


@pytest.mark.parametrize(("duration", "seconds"), [(None, 2 * 600.0), ("10s", 3 * 10 + 2 * 600.0)])
def test_the_intervals_between_steps_take_their_time_whatever_ends_a_step(duration: str | None, seconds: float) -> None:
    sweep = Sweep(task="index", clients=[1, 2, 4], duration=duration, interval="10m")
    assert least_seconds(sweep) == seconds
