"""The decisions about Comparisons, as the work on one is given them."""

from collections.abc import Iterable
from typing import Final

from fairlap.api.base import Json
from fairlap.api.block_record import RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.comparison.facts.fact_bound import within_bound
from fairlap.comparison.facts.fairness import diff
from fairlap.comparison.facts.race_facts import facts, record_facts
from fairlap.comparison.judging.foresight import foresee
from fairlap.comparison.judging.judgement import judge_blocks
from fairlap.comparison.noise import noise_store
from fairlap.comparison.noise.expectation import expect
from fairlap.comparison.numbers.benchmark_numbers import race_record
from fairlap.comparison.terms.block_reason import BlockReason
from fairlap.comparison.variants.variants import VariantsRefusedError
from fairlap.plan.comparison.block_words import seconds_of_a_race
from fairlap.plan.comparison.children import dry_run
from fairlap.plan.comparison.comparison_plan import plan_comparison
from fairlap.plan.comparison.comparison_seen import ComparisonPlan, ComparisonSeen, RaceToCreate
from fairlap.plan.comparison.judges import Judges
from fairlap.plan.comparison.kept_clusters import changed_meanwhile, facts_on_kept_cluster
from fairlap.runtime.reconcilers.comparison_acts import OfBenchmark
from fairlap.runtime.reconcilers.comparison_reconciler import Deciders
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.recorded.record import KEY_RECORD, Record

JUDGES: Final = Judges(judge_blocks, diff, expect, foresee)


def decide(seen: ComparisonSeen) -> ComparisonPlan:
    """Return what follows from what is seen of a Comparison."""
    return plan_comparison(seen, JUDGES)


def trials(seen: ComparisonSeen) -> Iterable[RaceToCreate]:
    """Return each variant's Benchmark as its preparation will have it; none when the variants are refused anyhow."""
    try:
        return dry_run(seen.subject, seen.subject.variants)
    except VariantsRefusedError:
        return ()


def all_facts(benchmark: Json, record: Record | None) -> dict[str, str]:
    """Return what is known of how a Benchmark ran, from its status and from the record of its race."""
    return within_bound({**facts(benchmark), **(record_facts(record) if record else {})})


def _record_race(race: OfBenchmark, builder: OfBenchmark | None, variant: str, spec: ComparisonSpec) -> RaceRecord:
    gated = {gate.task for gate in spec.gates if gate.task}
    found = race_record(*race, variant, all_facts, gated)
    if builder is None:
        return found
    built = race_record(*builder, variant, all_facts)
    found = found.model_copy(update={"facts": within_bound(facts_on_kept_cluster(built.facts, found.facts))})
    restarted = changed_meanwhile(_starts(builder[1]), _starts(race[1]))
    if not found.valid or not restarted:
        return found
    invalid = {"valid": False, "reason": str(BlockReason.CLUSTER_RESTARTED), "message": restarted}
    return found.model_copy(update=invalid)


def _starts(config_map: Json | None) -> list[str | None]:
    """Return for each node what its start is known by, of the record of a race; None where it is not known."""
    record = Record.from_json(text_of(config_map, KEY_RECORD))
    return [node.ephemeral_id for node in record.environment.nodes] if record and record.environment.nodes else [None]


def _learnt(data: Json, seen: ComparisonSeen) -> dict[str, str] | None:
    return noise_store.learnt(data, seen, seconds_of_a_race(seen.status.blocks))


DECIDERS: Final = Deciders(decide, trials, _record_race, noise_store.priors, noise_store.race_seconds, learnt=_learnt)
