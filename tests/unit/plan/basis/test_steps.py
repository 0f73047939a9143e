"""The steps of a Benchmark in their order, also where another version of the operator finished the last one."""

import pytest
from world import spec

from fairlap.plan.basis.steps import step_after, steps


@pytest.mark.parametrize("smoke", [True, False])
@pytest.mark.parametrize("races", [1, 3])
@pytest.mark.parametrize("track", [{"builtin": "log_ingest"}, {"configMap": {"name": "mine"}}])
def test_each_step_follows_the_one_before(track: dict[str, object], races: int, smoke: bool) -> None:
    of = spec(race={"track": track}, repetitions=races, smokeTest=smoke)
    names = steps(of)
    followed = [step_after(of, finished) for finished in (None, *names)]
    assert followed == [*names, None] and len(set(names)) == len(names)


@pytest.mark.parametrize(("finished", "upcoming"), [("probe", "smoke"), ("check", "smoke"), ("smoke", "race-1")])
@pytest.mark.parametrize("smoke", [True, False])
def test_a_step_that_this_version_leaves_out_is_finished_all_the_same(
    finished: str, upcoming: str, smoke: bool
) -> None:
    """What was under way ended as an error of the operator when an upgrade had dropped the check of its track."""
    of = spec(smokeTest=smoke)
    assert "check" not in steps(of)
    assert step_after(of, finished) == (upcoming if smoke else "race-1")


@pytest.mark.parametrize("name", ["warm", "race-x", ""])
def test_no_race_is_run_again_after_a_step_that_nobody_knows(name: str) -> None:
    with pytest.raises(ValueError, match=r"not in tuple|invalid literal"):
        step_after(spec(), name)
