"""What should happen next to one Comparison.

As with Benchmarks: the status is written first, and only one that already stands is acted upon. The place in the queue
is held over a whole block and given up between blocks; nothing of a block is created before the place is held.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import PREPARATION, ComparisonStatus
from fairlap.api.condition_types import ComparisonReason
from fairlap.api.phases import OVER
from fairlap.api.quantity import parse_duration
from fairlap.api.spec import BenchmarkSpec
from fairlap.comparison.noise.expectation import calibrated_every
from fairlap.comparison.variants.variants import ResolvedVariant, VariantsRefusedError
from fairlap.plan.acceptance.accept import objections
from fairlap.plan.basis.conditions import moment, stamp
from fairlap.plan.basis.deadline import Deadline, begun_by, lined_up_by, wake_in
from fairlap.plan.basis.node_processors import MachineCapacity
from fairlap.plan.comparison.answer import answer_at_deadline, answer_without_retries, rows_left_out, unfair_by_specs
from fairlap.plan.comparison.block_race import begin_block, plan_block
from fairlap.plan.comparison.block_words import (
    done,
    expectation,
    next_number,
    next_title,
    retries_spent,
)
from fairlap.plan.comparison.children import describe_variants
from fairlap.plan.comparison.comparison_seen import ComparisonPlan, ComparisonSeen
from fairlap.plan.comparison.disturbed_blocks import enough_to_judge
from fairlap.plan.comparison.judges import Judges
from fairlap.plan.comparison.race_order import seed_of
from fairlap.plan.comparison.verdict_reached import changed, fail, refuse
from fairlap.plan.finish import finish
from fairlap.plan.node_memory import lacking_memory, lacking_together
from fairlap.plan.transition import describe_wait, one_line

_LOOK_AGAIN_SECONDS = 30.0


def plan_comparison(seen: ComparisonSeen, judges: Judges) -> ComparisonPlan:
    """Return what follows from what is seen; deterministic, and repeatable until something changes.

    `learn` comes with the status that ends it: the noise is kept before that is written, and may be learnt twice.
    """
    if seen.status.phase in OVER:
        return ComparisonPlan(seen.status)
    decided = _decide(seen, judges)
    if decided.look:
        return replace(decided, status=seen.status, observed=())
    status = finish(decided.status, decided.observed, seen.subject.generation, seen.pruned, seen.now)
    return replace(decided, status=status, observed=())


def _decide(seen: ComparisonSeen, judges: Judges) -> ComparisonPlan:
    status = seen.status
    block = status.block and begun_by(seen.now, status.block, "since")
    begun = begun_by(seen.now, changed(status, block=block), "start_time")
    begun = lined_up_by(seen.now, begun, seen.turn)
    if begun != status:
        return ComparisonPlan(begun)
    try:
        variants = seen.subject.variants
    except VariantsRefusedError as error:
        return refuse(seen, _first(seen), ComparisonReason.INVALID_SPEC, str(error))
    if status.phase is None or (status.phase == "Pending" and not status.variants):
        return _begin(seen, variants, judges)
    if status.block is None:
        return _between_blocks(seen, variants, judges)
    return plan_block(seen, status.block, variants, judges)


def _first(seen: ComparisonSeen) -> ComparisonStatus:
    """Return what every status has, from the first one on."""
    return changed(seen.status, phase="Pending", start_time=seen.status.start_time or stamp(seen.now))


def _begin(seen: ComparisonSeen, variants: Sequence[ResolvedVariant], judges: Judges) -> ComparisonPlan:
    status = _first(seen)
    found = [
        f"variant {variant.name}: {objection.message}"
        for variant in variants
        for objection in objections(BenchmarkSpec.model_validate(variant.spec), seen.settings)
    ]
    if found:
        return refuse(seen, status, ComparisonReason.INVALID_VARIANT, ". ".join(found), told=found[0])
    if seen.hindrance:
        if seen.subject.spec.suspend:  # its deadline waits, too
            status = changed(status, start_time=None)
        deadline = Deadline(moment(status.start_time or stamp(seen.now)), parse_duration(seen.subject.spec.deadline))
        if deadline.passed(seen.now):
            text = f"not begun within the deadline of {seen.subject.spec.deadline}: {seen.hindrance}"
            return fail(seen, status, ComparisonReason.DEADLINE, text)
        waiting = changed(status, progress=one_line(f"not begun: {seen.hindrance}"))
        return ComparisonPlan(waiting, wake_in=_LOOK_AGAIN_SECONDS)
    if seen.dry_runs is None or seen.priors is None or seen.machines is None:
        return ComparisonPlan(status, look=("dry_runs", "priors", "machines"))
    found = [f"variant {name}: {words}" for name, words in seen.dry_runs.items() if words]
    if found:
        return refuse(seen, status, ComparisonReason.INVALID_VARIANT, ". ".join(found), told=found[0])
    left_out, end = unfair_by_specs(seen, _understood(seen, status, variants, judges), variants, judges)
    if end:
        return end
    racing = [variant for variant in variants if variant.name not in left_out]
    status = _understood(seen, status, racing, judges)
    raced = [variant.name for variant in racing]
    return ComparisonPlan(changed(status, contenders=rows_left_out(left_out, raced)))


def _understood(
    seen: ComparisonSeen, status: ComparisonStatus, variants: Sequence[ResolvedVariant], judges: Judges
) -> ComparisonStatus:
    """Return the status with who is raced, what it will take, and what there may be no machine for."""
    spec, machines = seen.subject.spec, seen.machines
    # Before its own races those of earlier Comparisons tell how long one takes.
    expected = judges.expect(spec, variants, seen.race_seconds, seen.priors)
    specs = {variant.name: BenchmarkSpec.model_validate(variant.spec) for variant in variants}
    lacking = {name: lacking_memory(each, machines) for name, each in specs.items()}
    together = _lacking_side_by_side(spec, list(specs.values()), machines)
    told = [*(f"variant {name}: {text}" for name, text in lacking.items() if text), *([together] if together else [])]
    return changed(
        status,
        variants=describe_variants(variants, lacking),
        seed=seed_of(seen.subject.uid) if spec.design.seed is None else spec.design.seed,
        calibrate_every=calibrated_every(spec, None),
        expected=expected,
        blocks_done=done(spec, ()),
        findings=told,
        progress=one_line("; ".join([*told, expectation(len(variants), expected)])),
    )


def _lacking_side_by_side(
    spec: ComparisonSpec, specs: Sequence[BenchmarkSpec], machines: Sequence[MachineCapacity] | None
) -> str:
    """Return what the clusters of all variants, baseline first, lack of memory where they are there at once."""
    if spec.design.keeps_clusters:
        return lacking_together(specs, machines)
    if spec.design.in_turn:
        twin = specs[:1] if spec.calibrate else []
        return lacking_together([*specs, *twin], machines, "design.kind: Duet", "design.kind: Races")
    return ""


def _between_blocks(seen: ComparisonSeen, variants: Sequence[ResolvedVariant], judges: Judges) -> ComparisonPlan:
    spec, now = seen.subject.spec, stamp(seen.now)
    if spec.suspend:
        return ComparisonPlan(_suspended(seen))
    status = _resumed(seen)
    deadline = Deadline(moment(status.start_time or now), parse_duration(spec.deadline))
    if deadline.passed(seen.now):
        return answer_at_deadline(seen, variants, judges)
    spent = retries_spent(spec.design, status.blocks)
    if spent and enough_to_judge(spec.design, status.blocks):
        return answer_without_retries(seen, variants, judges, spent)
    number, upcoming, again = next_number(status.blocks), next_title(spec, status.blocks), wake_in(seen.now, deadline)
    if not seen.turn.may_go:
        text = f"{upcoming} · {describe_wait(seen.turn, 'in the queue')}"
        return ComparisonPlan(changed(status, phase="Queued", progress=one_line(text)), wake_in=again)
    return begin_block(replace(seen, status=status), number)


def _suspended(seen: ComparisonSeen) -> ComparisonStatus:
    """Return the status of one that waits until it may go on; its deadline waits, too."""
    status = seen.status
    what = (
        "the preparation" if next_number(status.blocks) == PREPARATION else next_title(seen.subject.spec, status.blocks)
    )
    return changed(
        status,
        phase="Pending",
        progress=one_line(f"suspended before {what}"),
        admitted_time=None,
        start_time=status.start_time if status.blocks else None,
        suspended_time=status.suspended_time or stamp(seen.now),
    )


def _resumed(seen: ComparisonSeen) -> ComparisonStatus:
    """Return the status of one that is not suspended: the time in which it was is none of its deadline's."""
    since, began = seen.status.suspended_time, seen.status.start_time
    if since and began:
        began = stamp(moment(began) + max(timedelta(), seen.now - moment(since)))
    return changed(seen.status, start_time=began or stamp(seen.now), suspended_time=None)
