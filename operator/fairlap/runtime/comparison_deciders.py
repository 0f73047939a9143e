"""The decisions about Comparisons, as the work on one is given them."""

import importlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fairlap.api.base import Json
from fairlap.api.block_record import RaceRecord
from fairlap.comparison.variants import VariantsRefusedError, expand
from fairlap.plan.comparison.children import dry_run
from fairlap.plan.comparison.comparison_plan import plan_comparison
from fairlap.plan.comparison.comparison_seen import ComparisonPlan, ComparisonSeen, RaceToCreate
from fairlap.plan.comparison.judges import Judges
from fairlap.runtime.comparison_daemon import Deciders
from fairlap.statistics.moderation import Prior


def _judges() -> Judges:
    judge: Any = _module("fairlap.comparison.judgement").judge_blocks
    diff: Any = _module("fairlap.comparison.fairness").diff
    expect: Any = _module("fairlap.comparison.expectation").expect
    return Judges(judge, diff, expect)


def _plan(seen: ComparisonSeen) -> ComparisonPlan:
    return plan_comparison(seen, _judges())


def trials(seen: ComparisonSeen) -> Iterable[RaceToCreate]:
    """Return each variant's Benchmark as its preparation will have it; none when the variants are refused anyhow."""
    try:
        return dry_run(seen.subject, expand(seen.subject.spec))
    except VariantsRefusedError:
        return ()


def _record_race(benchmark: Json, config_map: Json | None, variant: str) -> RaceRecord:
    found: RaceRecord = _module("fairlap.comparison.raced_benchmark").race_record(benchmark, config_map, variant)
    return found


def _priors(data: Json, seen: ComparisonSeen) -> Mapping[str, Prior]:
    found: Mapping[str, Prior] = _module("fairlap.comparison.noise_store").priors(data, seen)
    return found


def _learnt(data: Json, seen: ComparisonSeen) -> Json | None:
    found: Json | None = _module("fairlap.comparison.noise_store").learnt(data, seen)
    return found


def _module(name: str) -> Any:
    return importlib.import_module(name)


DECIDERS: Final = Deciders(_plan, trials, _record_race, _priors, _learnt)
