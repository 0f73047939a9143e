"""The end of a block: its numbers are kept, it is told whether it counts, and whether the answer is known by now."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from fairlap.api.block_record import BlockRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import PREPARATION, Block, ComparisonStatus, CurrentBlock, RaceOfBlock
from fairlap.api.condition_types import ComparisonCondition, ComparisonReason
from fairlap.comparison.facts.disturbed_race import DISTURBED, disturbance
from fairlap.comparison.facts.installation import installation_changes
from fairlap.comparison.noise.expectation import calibrated_every
from fairlap.comparison.terms.block_reason import BlockReason, fault_of
from fairlap.comparison.variants.variants import ResolvedVariant
from fairlap.plan.basis.conditions import Observation, moment, stamp
from fairlap.plan.basis.deadline import Deadline
from fairlap.plan.comparison.answer import answer
from fairlap.plan.comparison.block_words import (
    SPENDS_NO_RETRY,
    block_findings,
    block_title,
    counting,
    describe_losses,
    lost_races,
    next_title,
    outlook,
    retries_spent,
    seconds_of_a_race,
    why_void,
    with_blocks,
)
from fairlap.plan.comparison.children import record_name
from fairlap.plan.comparison.comparison_seen import ComparisonPlan, ComparisonSeen
from fairlap.plan.comparison.disturbed_blocks import enough_to_judge, set_aside
from fairlap.plan.comparison.judges import Judges
from fairlap.plan.comparison.verdict_reached import changed, fail, refuse
from fairlap.plan.transition import one_line
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.specification.race_spec import RACED_AGAIN, REQUIRE_TASKS

_PATIENCE = timedelta(minutes=15)
_LONGEST_AWAY = 4 * _PATIENCE
"""for so long after a stage began its time may begin anew"""
_LOOK_AGAIN_SECONDS = 5.0
_LONGEST_DISTURBANCE = 400
"""Characters of it in a status, which has room for all races of all blocks; the block's record has it whole. So of what
an upgrade changed."""


def seconds_until_given_up(seen: ComparisonSeen, block: CurrentBlock) -> float:
    """Return how long a stage may still wait for a name that something else has, or for a quota's room."""
    since = moment(block.since)
    if seen.taken_up and seen.taken_up <= seen.now:  # a clock that was ahead then is not believed
        # While the operator was away, nobody tried; but one that starts again and again does not wait for ever.
        since = min(max(since, seen.taken_up), since + _LONGEST_AWAY)
    return Deadline(since, _PATIENCE).left(seen.now).total_seconds()


def close_block(
    seen: ComparisonSeen, block: CurrentBlock, variants: Sequence[ResolvedVariant], judges: Judges
) -> ComparisonPlan:
    """Return what follows for a block whose races are over."""
    if block.number == PREPARATION:
        return _prepared(seen, block)
    if seen.records is None:
        return ComparisonPlan(seen.status, look=("records",))
    name, kept = record_name(seen.subject.name, block.number, block.attempt), seen.records.get(block.number)
    if kept is not None and kept.attempt == block.attempt:
        return _closed(seen, _as_recorded(block, kept, name), variants, judges)
    left = seconds_until_given_up(seen, block)
    if seen.refusal or ((seen.foreign or seen.hindrance) and left <= 0):
        reason = BlockReason.NAME_TAKEN if seen.foreign and not seen.refusal else BlockReason.RECORD_LOST
        return _closed(seen, _lost(_block(block, ""), reason), variants, judges)
    words = f"{block_title(seen.subject.spec, block)} · {seen.foreign or seen.hindrance or 'keeping its numbers'}"
    status = changed(seen.status, progress=one_line(words))
    return ComparisonPlan(status, record=name, wake_in=min(_LOOK_AGAIN_SECONDS, max(left, 1.0)))


def give_place_up(seen: ComparisonSeen, status: ComparisonStatus) -> ComparisonStatus:
    """Return the status of one that lines up again, behind all who wait."""
    queued = stamp(seen.turn.end_of_line(seen.now))
    return changed(status, block=None, admitted_time=None, queued_time=queued, phase="Queued")


def _prepared(seen: ComparisonSeen, block: CurrentBlock) -> ComparisonPlan:
    spec, valid = seen.subject.spec, block.valid is not False
    over = _block(block, "").model_copy(update={"valid": valid})
    status = changed(seen.status, blocks=[*seen.status.blocks, over])
    if valid:
        text = _what_was_prepared(spec, len(status.variants))
        # What was said of machines before is over: all pods of the preparation had theirs.
        status = changed(
            give_place_up(seen, status),
            progress=one_line(f"{text}; {next_title(spec, status.blocks)} is next"),
            findings=block_findings(status),
        )
        return ComparisonPlan(
            status, observed=(Observation(ComparisonCondition.ACCEPTED, True, ComparisonReason.PREPARED, text),)
        )
    race = over.races[-1]
    there = seen.races.get(race.benchmark)
    # Others went on before a machine could come; once no block may be raced again, it has had its time.
    gave_way = there is not None and there.uid == race.uid and there.gave_way
    in_turn = gave_way and not retries_spent(spec.design, status.blocks)
    # Where blocks count, spec and track were prepared before.
    may_pass = fault_of(over.reason) in ("cluster", "none")
    if in_turn or may_pass or counting(status.blocks):
        return _race_again(seen, status, over)
    return _refuse_race(seen, status, race, ComparisonReason.PREPARATION_FAILED)


def _refuse_race(
    seen: ComparisonSeen, status: ComparisonStatus, race: RaceOfBlock, reason: ComparisonReason
) -> ComparisonPlan:
    """Return the plan that ends since a race can never be; `reason`: where its own says nothing of the Comparison."""
    there = seen.races.get(race.benchmark)
    field = there.field if there is not None and there.uid == race.uid else ""
    told = race.message.replace(f"{field}: ", "", 1) if field else race.message
    # These two were asked of the Benchmark by fields that the Comparison itself wrote.
    if field == RACED_AGAIN:
        text = f"design.tasks: variant {race.variant}: {told}"
        return refuse(seen, status, ComparisonReason.INVALID_SPEC, text)
    unknown = race.reason == Reason.UNKNOWN_TASK
    if unknown and field == REQUIRE_TASKS:
        text = f"{_naming_tasks(seen.subject.spec)}: variant {race.variant}: {told}"
        return refuse(seen, status, ComparisonReason.UNKNOWN_TASK, text)
    text = f"variant {race.variant}: {race.reason}: {race.message}"
    return refuse(seen, status, ComparisonReason.UNKNOWN_TASK if unknown else reason, text)


def _naming_tasks(spec: ComparisonSpec) -> str:
    """Return the fields that name the tasks which must be there."""
    if spec.design.tasks:
        steps = any(gate.task and gate.task not in spec.design.tasks for gate in spec.gates)
        return f"design.tasks{', gates[].task' if steps else ''}"
    return "gates[].task" if any(gate.task for gate in spec.gates) else "template.race.requireTasks"


def _what_was_prepared(spec: ComparisonSpec, variants: int) -> str:
    if spec.design.keeps_clusters:
        return f"the clusters of all {variants} variants were built, filled and raced on once, and are kept"
    return (
        f"the tracks of all {variants} variants were checked{' and smoke-tested' if spec.template.smoke_test else ''}"
    )


def _closed(seen: ComparisonSeen, over: Block, variants: Sequence[ResolvedVariant], judges: Judges) -> ComparisonPlan:
    """Return what follows from a block that is over."""
    spec, records, before = seen.subject.spec, seen.records or {}, seen.status
    over = set_aside(spec.design, before.blocks, over)
    # The answer stands on what is kept: a block whose record somebody deleted is raced again, too.
    kept = [
        each
        if not each.valid or each.number == PREPARATION or records.get(each.number)
        else _lost(each, BlockReason.RECORD_LOST)
        for each in before.blocks
    ]
    blocks = [*_without_doubtful(spec, kept, over), over]
    status = with_blocks(spec, before, blocks)
    lost = [now for now, then in zip(kept, before.blocks, strict=True) if now.valid != then.valid]
    # What is told is what may end it all; a disturbance or an upgrade cannot.
    void = sorted((each for each in (over, *lost) if not each.valid), key=lambda each: each.reason in SPENDS_NO_RETRY)
    if impossible := _impossible(spec, before.blocks, over):
        status = changed(before, blocks=[*before.blocks, over])
        return _refuse_race(seen, status, impossible, ComparisonReason.INVALID_VARIANT)
    if void:
        return _race_again(seen, status, void[0])
    if over.number == 1:
        every = calibrated_every(spec, seconds_of_a_race(blocks))
        status = changed(status, calibrate_every=every)
    found = answer(seen, status, variants, judges)
    if found.look or found.status.completion_time:
        return found
    progress = one_line(outlook(spec, found.status))
    return replace(found, status=changed(give_place_up(seen, found.status), progress=progress))


def _impossible(spec: ComparisonSpec, before: Sequence[Block], over: Block) -> RaceOfBlock | None:
    """Return the race of a block that would end alike each time, for what is written; None where any has counted.

    On fresh clusters the same race was checked in the preparation; on a kept one another race was: of all tasks.
    """
    if not spec.design.keeps_clusters or counting(before) or fault_of(over.reason) != "spec":
        return None
    return next((race for race in over.races if race.valid is False and race.reason == over.reason), None)


def _without_doubtful(spec: ComparisonSpec, blocks: Sequence[Block], over: Block) -> list[Block]:
    """Return the blocks before one that is over: after a race that failed, kept clusters are no more what they were.

    A preparation becomes void with it, so that they are built and filled again.
    """
    touched = fault_of(over.reason) != "none" or over.reason in (BlockReason.CLUSTER_RESTARTED, BlockReason.RECORD_LOST)
    if spec.design.state == "Fresh" or over.valid or not touched:
        return list(blocks)
    doubtful = {"valid": False, "reason": str(BlockReason.CLUSTER_IN_DOUBT)}
    return [each.model_copy(update=doubtful) if each.number == PREPARATION and each.valid else each for each in blocks]


def _race_again(seen: ComparisonSeen, status: ComparisonStatus, over: Block) -> ComparisonPlan:
    """Return what follows from a block that does not count: it is raced again, or all is over."""
    spec = seen.subject.spec
    title, last = block_title(spec, over), why_void(over)
    why = f"{last.variant}: {last.reason}: {last.message}" if last else over.reason
    if over.reason == BlockReason.RECORD_LOST and seen.refusal:
        why = f"{why}: the API server would not keep its numbers: {seen.refusal}"
    if not (spent := retries_spent(spec.design, status.blocks)):
        status = changed(give_place_up(seen, status), progress=one_line(f"{title} is raced again ({why})"))
        return ComparisonPlan(status)
    lost = describe_losses(lost_races(status.blocks, [variant.name for variant in status.variants]))
    message = f"{spent}; races lost: {lost}; the last was {why or title}"
    if enough_to_judge(spec.design, status.blocks):
        return ComparisonPlan(changed(give_place_up(seen, status), progress=one_line(message)))
    return fail(seen, status, ComparisonReason.RACES_INVALID, message)


def _as_recorded(block: CurrentBlock, kept: BlockRecord, name: str) -> Block:
    """Return a block that is over, with what its record says of its races."""
    told = {race.benchmark: race for race in kept.races}
    upgraded = installation_changes(kept.races)
    races = []
    for race in block.races:
        known = told.get(race.benchmark)
        if race.valid and known is None:
            races.append(_invalid(race, BlockReason.RECORD_LOST, "its numbers could not be kept"))
        elif known and not known.valid and (race.valid or known.reason == BlockReason.CLUSTER_RESTARTED):
            races.append(_invalid(race, known.reason[:63], known.message))  # as when its cluster's owner was deleted
        elif race.valid and (how := upgraded.get(race.benchmark)) is not None:
            changed_to = {"reason": str(BlockReason.INSTALLATION_CHANGED), "message": how[:_LONGEST_DISTURBANCE]}
            races.append(race.model_copy(update=changed_to))
        elif race.valid and known and (how := disturbance(known)) is not None:
            races.append(race.model_copy(update={"reason": DISTURBED, "message": how[:_LONGEST_DISTURBANCE]}))
        else:
            races.append(race)
    valid = block.valid is not False and len(races) == len(block.order) and all(race.valid for race in races)
    reasons = [race.reason for race in races if not race.valid]
    restarted = next((each for each in reasons if each == BlockReason.CLUSTER_RESTARTED), "")
    reason = restarted or block.reason or next(iter(reasons), "")
    return _block(block, name).model_copy(update={"races": races, "valid": valid, "reason": reason})


def _invalid(race: RaceOfBlock, reason: str, message: str) -> RaceOfBlock:
    return race.model_copy(update={"valid": False, "reason": str(reason), "message": message})


def _lost(block: Block, reason: str) -> Block:
    return block.model_copy(update={"valid": False, "reason": block.reason or str(reason)})


def _block(block: CurrentBlock, record: str) -> Block:
    return Block.model_validate({**block.model_dump(include=set(Block.model_fields)), "record": record})
