"""A race of a block finds what Comparisons of its own design have shown of noise, and of no other."""

from datetime import timedelta
from typing import Any

import pytest
from comparison_world import FIXED_2, comparison, seen
from world import START

from fairlap.api.block_record import BlockRecord, Measured, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import CurrentBlock, RaceOfBlock
from fairlap.api.spec import BenchmarkSpec
from fairlap.comparison.noise.noise_store import NoiseStore, benchmark_priors, encode_noise, learn
from fairlap.comparison.variants.variants import expand
from fairlap.plan.comparison.children import benchmark_name, race_to_create
from fairlap.plan.comparison.kept_clusters import facts_on_kept_cluster

BASELINE, OTHER = "8.11.0", "9.0.0"
KEPT = {**FIXED_2, "state": "Kept", "tasks": ["search", "bulk"]}
DESIGNS: dict[str, dict[str, Any]] = {
    "fresh": FIXED_2, "in turn": {**FIXED_2, "kind": "Duet"}, "kept": KEPT, "kept, in turn": {**KEPT, "kind": "Duet"},
}  # fmt: skip
SEEN_BY_A_RACE = {"ran: each node's kernel": "6.1", "ran: load generator's CPU": "EPYC"}
FILLED = {"track": {"builtin": "log_ingest"}, "excludeTasks": ["force-merge"]}


def built(storage: str = "local") -> dict[str, str]:
    """What is known of a race on a cluster of its own, which knows its volumes, too."""
    return {**SEEN_BY_A_RACE, "ran: storage[0].className": storage}


def designed(design: dict[str, Any], race: dict[str, Any] | None = None) -> ComparisonSpec:
    template = {"elasticsearch": {"version": "8.11.0"}, "race": race or {"track": {"builtin": "log_ingest"}}}
    return comparison(template=template, design=design, calibrate=False)


def learnt_from(spec: ComparisonSpec, storage: str = "local") -> NoiseStore:
    kept = spec.design.state == "Kept"
    told = facts_on_kept_cluster(built(storage), SEEN_BY_A_RACE) if kept else built(storage)
    races = {
        (block, variant): RaceRecord(variant=variant, benchmark=f"{block}{variant}", facts=told, numbers=measured(time))
        for block, times in enumerate(((5.0, 5.2), (5.1, 5.1), (4.9, 5.3)), start=1)
        for variant, time in zip((BASELINE, OTHER), times, strict=True)
    }
    blocks = [BlockRecord(number=n, races=[races[n, BASELINE], races[n, OTHER]]) for n in (1, 2, 3)]
    return learn({}, spec, blocks, START)


def measured(time: float) -> list[Measured]:
    return [Measured(task=task, metric="serviceTimeP50", value=time, requests=1000) for task in "abc"]


def of_a_race(spec: ComparisonSpec) -> BenchmarkSpec:
    """The spec of the Benchmark that is the first race of a block."""
    name, kept = benchmark_name("upgrade", 1, "a", 1), spec.design.state == "Kept"
    block = CurrentBlock(
        number=1, since="", order=[BASELINE, OTHER], races=[RaceOfBlock(variant=BASELINE, benchmark=name)]
    )
    kept_by = benchmark_name("upgrade", 0, "a", 1) if kept else ""
    found = race_to_create(seen(spec).subject, expand(spec), block, checked_by="", kept_by=kept_by)
    return BenchmarkSpec.model_validate(found.spec)


def found_by(spec: ComparisonSpec, store: NoiseStore) -> list[str] | None:
    kept = spec.design.state == "Kept"
    facts, later = (SEEN_BY_A_RACE if kept else built()), START + timedelta(days=1)
    priors = benchmark_priors(encode_noise(store), of_a_race(spec), [facts], later, on_kept_cluster=kept)
    return None if priors is None else sorted(priors)


@pytest.mark.parametrize("shown", DESIGNS)
@pytest.mark.parametrize("raced", DESIGNS)
def test_a_race_finds_the_noise_of_comparisons_of_its_own_design_alone(raced: str, shown: str) -> None:
    found = found_by(designed(DESIGNS[raced]), learnt_from(designed(DESIGNS[shown])))
    assert (found is not None and "serviceTimeP50" in found) == (raced == shown)


def test_how_a_kept_cluster_is_filled_is_not_in_the_noise_of_races_on_it() -> None:
    assert found_by(designed(KEPT), learnt_from(designed(KEPT, FILLED)))
    assert found_by(designed(FIXED_2), learnt_from(designed(FIXED_2, FILLED))) is None


def test_comparisons_on_kept_clusters_with_other_volumes_are_others_though_no_race_sees_them() -> None:
    spec = designed(KEPT)
    local, remote = learnt_from(spec), learnt_from(spec, "remote")
    assert local.keys() != remote.keys()
    assert found_by(spec, local) and found_by(spec, remote)
