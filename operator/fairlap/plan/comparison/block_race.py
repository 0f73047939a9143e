"""The races of a block, one after the other: the next Benchmark is created, watched to its end, and then recorded.

Where they are raced in turn (`design.kind: Duet`) the next one is created when the first can be met, and all are
watched to their ends.

A race is said before its Benchmark is created, and its Benchmark's uid is said before that may begin: what vanishes
after that has voided its block, and is never raced a second time under the same name.
"""

from collections.abc import Sequence
from datetime import timedelta

from fairlap.api.comparison_status import PREPARATION, BlockStage, ComparisonStatus, CurrentBlock, RaceOfBlock
from fairlap.api.condition_types import ComparisonReason
from fairlap.comparison.terms.block_reason import BlockReason
from fairlap.comparison.variants.tasks_in_turn import unlike_tasks
from fairlap.comparison.variants.variants import ResolvedVariant
from fairlap.plan.basis.conditions import moment, stamp
from fairlap.plan.basis.deadline import Deadline
from fairlap.plan.comparison.block_close import close_block, seconds_until_given_up
from fairlap.plan.comparison.block_words import (
    block_title,
    race_title,
    refused_processors,
)
from fairlap.plan.comparison.children import (
    TWIN_LETTER,
    benchmark_name,
    letter_of,
    race_to_create,
    races_in_turn,
)
from fairlap.plan.comparison.comparison_seen import ComparisonPlan, ComparisonSeen, SeenRace
from fairlap.plan.comparison.judges import Judges
from fairlap.plan.comparison.race_order import race_order
from fairlap.plan.comparison.race_state import RaceState, race_state
from fairlap.plan.comparison.verdict_reached import changed, refuse
from fairlap.plan.transition import one_line
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.some_of import some_of

# A Benchmark shows up within moments; only a watch that tells nothing hides it for longer.
_SHOWS_UP = timedelta(seconds=15)
_LOOK_AGAIN_SECONDS = 10.0
_LISTED = 30
"""Names of tasks in one sentence at most."""


def begin_block(seen: ComparisonSeen, number: int) -> ComparisonPlan:
    """Return the plan that begins a block, whose place is held from now on."""
    status, subject = seen.status, seen.subject
    attempt = 1 + sum(block.number == number for block in status.blocks)
    if number == PREPARATION:  # first those for which there may be no machine: it ends before the others cost anything
        order = [variant.name for variant in sorted(status.variants, key=lambda it: not it.lacking_memory)]
    else:
        names = [variant.name for variant in status.variants]
        order = race_order(names, number, status.calibrate_every, status.seed or 0)
    block = CurrentBlock(number=number, attempt=attempt, order=order, since=stamp(seen.now))
    status = changed(
        status,
        phase="Preparing" if number == PREPARATION else "Racing",
        admitted_time=status.admitted_time or stamp(seen.now),
        queued_time=None,
    )
    return ComparisonPlan(_next_race(seen, status, block, subject.name))


def plan_block(
    seen: ComparisonSeen, block: CurrentBlock, variants: Sequence[ResolvedVariant], judges: Judges
) -> ComparisonPlan:
    """Return what follows for the block that is being raced."""
    match block.stage:
        case "Starting":
            return _starting(seen, block, variants)
        case "Running":
            return _running(seen, block)
        case "Recording":
            return close_block(seen, block, variants, judges)


def _next_race(
    seen: ComparisonSeen, status: ComparisonStatus, block: CurrentBlock, comparison: str
) -> ComparisonStatus:
    """Return the status that says which Benchmark may be created next."""
    variant = block.order[len(block.races)]
    letter = letter_of(variant, status.variants)
    race = RaceOfBlock(variant=variant, benchmark=benchmark_name(comparison, block.number, letter, block.attempt))
    following = _enter(seen, block, "Starting", races=[*block.races, race])
    title = race_title(seen.subject.spec, following)
    return changed(status, block=following, progress=one_line(f"{title} · starting"))


def _starting(seen: ComparisonSeen, block: CurrentBlock, variants: Sequence[ResolvedVariant]) -> ComparisonPlan:
    race, since = block.races[-1], Deadline(moment(block.since), _SHOWS_UP)
    there = seen.races.get(race.benchmark)
    title = race_title(seen.subject.spec, block)
    if there is not None:
        following = _enter(seen, block, "Running", races=[*block.races[:-1], _with(race, uid=there.uid)])
        words = one_line(f"{title} · {there.progress or there.phase.lower() or 'starting'}")
        return ComparisonPlan(changed(seen.status, block=following, progress=words))
    if since.passed(seen.now) and not seen.confirmed:
        return ComparisonPlan(seen.status, look=("races",))
    if seen.refusal:
        return _void(seen, block, BlockReason.RACE_REFUSED, f"Benchmark {race.benchmark} was refused: {seen.refusal}")
    left = seconds_until_given_up(seen, block)
    if seen.foreign and left <= 0:
        return _void(seen, block, BlockReason.NAME_TAKEN, seen.foreign)
    if seen.hindrance and left <= 0:  # others wait for the place
        return _void(seen, block, BlockReason.RACE_REFUSED, seen.hindrance)
    prepared = benchmark_of(seen.status, race, range(PREPARATION, PREPARATION + 1))
    kept = seen.subject.spec.design.keeps_clusters
    create = race_to_create(
        seen.subject,
        variants,
        block,
        # On a cluster that exists the check looks at what is there, too: the first race's own holds for those to come.
        checked_by=benchmark_of(seen.status, race, range(1, block.number)) if kept else prepared,
        kept_by=prepared if kept else "",
        doubted=any(it.lacking_memory for it in seen.status.variants if it.name == race.variant),
        shares=bool(refused_processors([*seen.status.blocks, block])),
        avoid=_machines_before(seen, block),
    )
    progress = one_line(f"{title} · {seen.foreign or seen.hindrance or 'starting'}")
    wake_in = min(_LOOK_AGAIN_SECONDS, max(left, 1.0))
    return ComparisonPlan(changed(seen.status, progress=progress), create=create, wake_in=wake_in)


def _running(seen: ComparisonSeen, block: CurrentBlock) -> ComparisonPlan:
    if races_in_turn(seen.subject.spec, block.number):
        return _running_in_turn(seen, block)
    state = race_state(seen, block, block.races[-1])
    if state.doubtful:
        return ComparisonPlan(seen.status, look=("races",))
    if state.valid is None:
        words = one_line(f"{race_title(seen.subject.spec, block)} · {state.words}")
        return ComparisonPlan(changed(seen.status, progress=words), wake_in=state.wake_in)
    if state.valid and state.there:
        return _raced(seen, block, state.there)
    return _void(seen, block, state.reason, state.message, state.there)


def _running_in_turn(seen: ComparisonSeen, block: CurrentBlock) -> ComparisonPlan:
    """Return what follows for races that are under way together: the next one joins when they can meet.

    Where one fails the others end by themselves, and none of them is to blame.
    """
    states = [race_state(seen, block, race) for race in block.races]
    if any(state.doubtful for state in states):
        return ComparisonPlan(seen.status, look=("races",))
    over = [state.valid is not None for state in states]
    if not all(over):
        first = seen.races.get(block.races[0].benchmark)
        meets_at = block.meets_at or (first.meets_at if first else "")
        if first and meets_at and not any(over) and len(block.races) < len(block.order):
            where = {"elasticsearch_on": list(first.elasticsearch_on), "load_generator_on": first.load_generator_on}
            block = block.model_copy(update={"meets_at": meets_at, **(where if not block.meets_at else {})})
            return ComparisonPlan(_next_race(seen, seen.status, block, seen.subject.name))
        running = next(number for number, ended in enumerate(over) if not ended)
        who = f"{block.races[running].variant} ({len(block.races)} of {len(block.order)} in turn)"
        words = one_line(f"{block_title(seen.subject.spec, block)} · {who} · {states[running].words}")
        wakes = [state.wake_in for state in states if state.wake_in is not None]
        return ComparisonPlan(changed(seen.status, progress=words), wake_in=min(wakes, default=None))
    faults = [state.reason for state in states if not state.valid]
    missing = [BlockReason.OTHERS_LEFT] if len(block.races) < len(block.order) else []
    blamed = next((each for each in faults if each != Reason.RACE_ABORTED), next(iter([*faults, *missing]), ""))
    races = [_ended_in_turn(*each, blamed) for each in zip(block.races, states, strict=True)]
    changes: dict[str, object] = {"valid": False, "reason": blamed[:63]} if blamed else {}
    block = block.model_copy(update={**changes, "races": races})
    longest = max((race.seconds or 0.0 for race in races), default=0.0)
    status = changed(
        seen.status,
        cost_races=seen.status.cost_races + sum(bool(race.uid) for race in races),
        cost_seconds=seen.status.cost_seconds + longest,
    )
    return _to_record(seen, status, block)


def _ended_in_turn(race: RaceOfBlock, state: RaceState, blamed: str) -> RaceOfBlock:
    """Return a race that is over; one that ended since another one had, says so."""
    seconds = _seconds(state.there) if state.there else None
    if race.valid is not None:
        return race
    if state.valid:
        return _with(race, valid=True, seconds=seconds)
    reason = BlockReason.OTHERS_LEFT if state.reason == Reason.RACE_ABORTED != blamed else state.reason
    return _with(race, valid=False, reason=reason[:63], message=state.message, seconds=seconds)


def _raced(seen: ComparisonSeen, block: CurrentBlock, there: SeenRace) -> ComparisonPlan:
    refused = there.processors_refused
    ended = _with(block.races[-1], valid=True, seconds=_seconds(there), processors_refused=refused)
    if silent := _not_measured(seen, block, there):
        return refuse(seen, _paid(seen.status, block, ended), ComparisonReason.UNKNOWN_TASK, silent)
    if unlike := _unlike_in_turn(seen, block):
        return refuse(seen, _paid(seen.status, block, ended), ComparisonReason.INVALID_VARIANT, unlike)
    races = [*block.races[:-1], ended]
    places: dict[str, object] = {}
    if len(races) == 1:
        places = {"elasticsearch_on": list(there.elasticsearch_on), "load_generator_on": there.load_generator_on}
    block = block.model_copy(update={"races": races, **places})
    status = _paid(seen.status, block, ended)
    if len(races) < len(block.order):
        return ComparisonPlan(_next_race(seen, status, block, seen.subject.name))
    return _to_record(seen, status, block)


def _not_measured(seen: ComparisonSeen, block: CurrentBlock, there: SeenRace) -> str:
    """Return which gates of a variant that was just prepared are on tasks without numbers, as a sentence, or ""."""
    measured = [task.name for task in there.tasks if task.reported]
    if block.number != PREPARATION or not measured:  # nothing is known of tasks where none has numbers
        return ""
    silent = {task.name for task in there.tasks} - set(measured)
    if not (found := sorted({gate.task for gate in seen.subject.spec.gates if gate.task in silent})):
        return ""
    listed = some_of(measured, _LISTED)
    whose = f"variant {block.races[-1].variant}: "
    return f"gates[].task: {whose}Rally reports no numbers of {', '.join(found)}. Of these it does: {listed}"


def _unlike_in_turn(seen: ComparisonSeen, block: CurrentBlock) -> str:
    """Return which of the variants prepared so far cannot be raced in turn with the baseline, as a sentence, or ""."""
    spec = seen.subject.spec
    if not spec.design.in_turn or block.number != PREPARATION:
        return ""
    known = {race.variant: seen.races[race.benchmark].tasks for race in block.races if race.benchmark in seen.races}
    baseline = known.pop(spec.baseline, ())  # not always the first: what may find no machine is prepared before
    for variant, tasks in known.items():
        # An operator of before did not say them.
        if baseline and tasks and (unlike := unlike_tasks(baseline, tasks, spec.design.tasks)):
            return (
                f"variant {variant}: {unlike}: with design.kind: Duet one request of each is sent in turn, so let all "
                "variants run the same tasks with as many clients, or write design.kind: Races"
            )
    return ""


def _void(
    seen: ComparisonSeen, block: CurrentBlock, reason: str, message: str, there: SeenRace | None = None
) -> ComparisonPlan:
    """Return the plan for a block in which a race does not count: it is over as a whole."""
    race = block.races[-1]
    ended = _with(race, valid=False, reason=reason[:63], message=message, seconds=_seconds(there) if there else None)
    if len(block.races) > 1 and races_in_turn(seen.subject.spec, block.number):  # the others are still under way
        block = _enter(seen, block, "Running", races=[*block.races[:-1], ended])
        return ComparisonPlan(changed(seen.status, block=block))
    block = block.model_copy(update={"races": [*block.races[:-1], ended], "valid": False, "reason": reason[:63]})
    return _to_record(seen, _paid(seen.status, block, ended), block)


def _to_record(seen: ComparisonSeen, status: ComparisonStatus, block: CurrentBlock) -> ComparisonPlan:
    words = f"{block_title(seen.subject.spec, block)} · keeping its numbers"
    return ComparisonPlan(changed(status, block=_enter(seen, block, "Recording"), progress=one_line(words)))


def _paid(status: ComparisonStatus, block: CurrentBlock, race: RaceOfBlock) -> ComparisonStatus:
    began, seconds = bool(race.uid), status.cost_seconds + (race.seconds or 0.0)
    if block.number == PREPARATION:
        return changed(status, cost_preparations=status.cost_preparations + began, cost_seconds=seconds)
    return changed(status, cost_races=status.cost_races + began, cost_seconds=seconds)


def _enter(seen: ComparisonSeen, block: CurrentBlock, stage: BlockStage, **changes: object) -> CurrentBlock:
    return block.model_copy(update={"stage": stage, "since": stamp(seen.now), **changes})


def _with(race: RaceOfBlock, **changes: object) -> RaceOfBlock:
    return RaceOfBlock.model_validate({**race.model_dump(), **changes})  # cuts what is too long


def _seconds(race: SeenRace) -> float | None:
    """Return how long a Benchmark took, in seconds; None when it does not say."""
    if not (race.created and race.ended):
        return None
    return max((moment(race.ended) - moment(race.created)).total_seconds(), 0.0)


def benchmark_of(status: ComparisonStatus, race: RaceOfBlock, numbers: range) -> str:
    """Return the first Benchmark of a race's variant in the blocks of these numbers that count; "" when none has it."""
    letter = letter_of(race.variant, status.variants)
    variant = status.variants[0].name if letter == TWIN_LETTER else race.variant
    blocks = sorted((each for each in status.blocks if each.number in numbers and each.valid), key=lambda it: it.number)
    races = (each for block in blocks for each in block.races)
    return next((each.benchmark for each in races if each.variant == variant), "")


def _machines_before(seen: ComparisonSeen, block: CurrentBlock) -> tuple[Sequence[str], Sequence[str]]:
    """Return the machines of Elasticsearch and of the load generator in the blocks before, those of the last one first.

    Each once. What is known of them is what the Benchmarks that are still there say.
    """
    if block.number == PREPARATION:
        return (), ()
    before = [each for each in reversed(seen.status.blocks) if each.number != PREPARATION and each.races]
    firsts = [first for each in before if (first := seen.races.get(each.races[0].benchmark))]
    elasticsearch_on = dict.fromkeys(name for first in firsts for name in first.elasticsearch_on)
    load_generator_on = dict.fromkeys(first.load_generator_on for first in firsts if first.load_generator_on)
    return [*elasticsearch_on], [*load_generator_on]
