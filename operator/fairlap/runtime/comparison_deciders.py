"""The decisions about Comparisons, as the work on one is given them."""

import importlib
from collections.abc import Iterable, Mapping
from string import ascii_lowercase
from typing import Any, Final

from fairlap.api.base import Json
from fairlap.api.block_record import RaceRecord
from fairlap.api.comparison_status import PREPARATION
from fairlap.plan.comparison.comparison_seen import ComparisonPlan, ComparisonSeen, RaceToCreate
from fairlap.runtime.comparison_daemon import Deciders
from fairlap.statistics.moderation import Prior


def _plan(seen: ComparisonSeen) -> ComparisonPlan:
    found: ComparisonPlan = _module("fairlap.plan.comparison.decide").plan_comparison(seen)
    return found


def _trials(seen: ComparisonSeen) -> Iterable[RaceToCreate]:
    """Yield each variant's Benchmark as it is resolved, under the name that its preparation will have."""
    variants = _module("fairlap.comparison.variants").expand(seen.subject.spec)
    for letter, variant in zip(ascii_lowercase, variants, strict=False):
        yield RaceToCreate(f"{seen.subject.name}-{PREPARATION}{letter}", variant.name, PREPARATION, variant.spec)


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


DECIDERS: Final = Deciders(_plan, _trials, _record_race, _priors, _learnt)
