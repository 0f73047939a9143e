"""A race whose Benchmark cannot go on, and cannot say so either, does not hold its Comparison's place for ever."""

from dataclasses import replace

from comparison_world import Film

from fairlap.plan.comparison.comparison_plan import plan_comparison


def test_a_race_that_cannot_even_say_that_it_ended_voids_its_block() -> None:
    film = Film().until("Running", 1, 2)
    assert film.status.block
    race = film.status.block.races[-1]
    aside = frozenset({race.uid})
    film.step(aside=frozenset({"another"}))
    assert film.status.block.reason == "" and film.status.admitted_time
    assert plan_comparison(film.look(aside=aside, confirmed=False), film.court.judges).look == ("races",)
    film.step(aside=aside)
    assert film.status.block.reason == "RaceRefused"
    assert film.status.block.races[-1].message.startswith(f"Benchmark {race.benchmark} could not go on: ")
    film.step(aside=aside), film.step(aside=aside)
    assert film.status.admitted_time is None
    assert film.run().status.phase == "Complete" and film.status.blocks[1].attempt == 1


def test_one_that_could_say_how_it_ended_is_believed() -> None:
    for phase, reason in (("Succeeded", ""), ("Failed", "ImagePull")):
        film = Film().until("Running", 1, 2)
        assert film.status.block
        race = film.status.block.races[-1]
        film.races[race.benchmark] = replace(film.races[race.benchmark], phase=phase, reason=reason)
        film.step(aside=frozenset({race.uid}))
        assert film.status.block.races[1].reason == reason
