"""The races of a block, one after the other: the next Benchmark is created, watched to its end, and then recorded.

A race is said before its Benchmark is created, and its Benchmark's uid is said before that may begin: what vanishes
after that has voided its block, and is never raced a second time under the same name.
"""

from collections.abc import Sequence
from datetime import timedelta

from fairlap.api.comparison_status import PREPARATION, BlockStage, ComparisonStatus, CurrentBlock, RaceOfBlock
from fairlap.comparison.variants import ResolvedVariant
from fairlap.plan.comparison.block_close import close_block, seconds_until_given_up
from fairlap.plan.comparison.block_words import (
    NAME_TAKEN,
    RACE_DELETED,
    RACE_REFUSED,
    RACE_SUSPENDED,
    block_title,
    no_room,
    race_title,
)
from fairlap.plan.comparison.children import TWIN_LETTER, benchmark_name, letter_of, race_to_create
from fairlap.plan.comparison.comparison_seen import ComparisonPlan, ComparisonSeen, SeenRace
from fairlap.plan.comparison.judges import Judges
from fairlap.plan.comparison.race_order import race_order
from fairlap.plan.comparison.verdict_reached import changed
from fairlap.plan.conditions import moment, stamp
from fairlap.plan.deadline import Deadline, wake_in
from fairlap.plan.transition import one_line

# A Benchmark shows up within moments; only a watch that tells nothing hides it for longer.
_SHOWS_UP = timedelta(seconds=15)
_LOOK_AGAIN_SECONDS = 10.0


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
        words = one_line(f"{title} · {_words(there)}")
        return ComparisonPlan(changed(seen.status, block=following, progress=words))
    if since.passed(seen.now) and not seen.confirmed:
        return ComparisonPlan(seen.status, look=("races",))
    if seen.refusal:
        return _void(seen, block, RACE_REFUSED, f"Benchmark {race.benchmark} was refused: {seen.refusal}")
    left = seconds_until_given_up(seen, block)
    if seen.foreign and left <= 0:
        return _void(seen, block, NAME_TAKEN, seen.foreign)
    if seen.hindrance and left <= 0:  # others wait for the place
        return _void(seen, block, RACE_REFUSED, no_room(seen.hindrance))
    prepared = benchmark_of(seen.status, race, range(PREPARATION, PREPARATION + 1))
    kept = seen.subject.spec.design.state == "Kept"
    create = race_to_create(
        seen.subject,
        variants,
        block,
        # On a cluster that exists the check looks at what is there, too: the first race's own holds for those to come.
        checked_by=benchmark_of(seen.status, race, range(1, block.number)) if kept else prepared,
        kept_by=prepared if kept else "",
        doubted=any(it.lacking_memory for it in seen.status.variants if it.name == race.variant),
        avoid=_machines_before(seen, block),
    )
    full = no_room(seen.hindrance) if seen.hindrance else ""
    progress = one_line(f"{title} · {seen.foreign or full or 'starting'}")
    wake_in = min(_LOOK_AGAIN_SECONDS, max(left, 1.0))
    return ComparisonPlan(changed(seen.status, progress=progress), create=create, wake_in=wake_in)


def _running(seen: ComparisonSeen, block: CurrentBlock) -> ComparisonPlan:
    race = block.races[-1]
    there = seen.races.get(race.benchmark)
    if there is not None and there.deleted and there.phase not in ("Succeeded", "Failed"):
        going = Deadline(moment(there.deleted), timedelta(seconds=seen.settings.cleanup_seconds))
        if not going.passed(seen.now):
            text = f"{race_title(seen.subject.spec, block)} · waiting for its Benchmark, which was deleted, to go away"
            return ComparisonPlan(changed(seen.status, progress=one_line(text)), wake_in=wake_in(seen.now, going))
        there = None  # something holds it, and others wait for the place
    if there is not None and there.uid == race.uid and there.phase != "Failed":
        if there.phase == "Succeeded":
            return _raced(seen, block, there)
        words = one_line(f"{race_title(seen.subject.spec, block)} · {_words(there)}")
        waiting = changed(seen.status, progress=words)
        if not there.suspended:
            return ComparisonPlan(waiting)
        left = seconds_until_given_up(seen, block)
        if left > 0:  # the place is held for it, and others wait for that
            return ComparisonPlan(waiting, wake_in=max(left, 1.0))
        text = f"Benchmark {race.benchmark} was suspended while its block was raced: suspend the Comparison instead"
        return _void(seen, block, RACE_SUSPENDED, text)
    if not seen.confirmed:  # an index may not know of it yet, or show one that is no longer there
        return ComparisonPlan(seen.status, look=("races",))
    if there is None or there.uid != race.uid:
        return _void(seen, block, RACE_DELETED, f"Benchmark {race.benchmark} was deleted before its race was over")
    message = there.message or f"Benchmark {race.benchmark} failed"
    return _void(seen, block, there.reason or "Failed", message, there)


def _raced(seen: ComparisonSeen, block: CurrentBlock, there: SeenRace) -> ComparisonPlan:
    ended = _with(block.races[-1], valid=True, seconds=_seconds(there))
    races = [*block.races[:-1], ended]
    places: dict[str, object] = {}
    if len(races) == 1:
        places = {"elasticsearch_on": list(there.elasticsearch_on), "load_generator_on": there.load_generator_on}
    block = block.model_copy(update={"races": races, **places})
    status = _paid(seen.status, block, ended)
    if len(races) < len(block.order):
        return ComparisonPlan(_next_race(seen, status, block, seen.subject.name))
    return _to_record(seen, status, block)


def _void(
    seen: ComparisonSeen, block: CurrentBlock, reason: str, message: str, there: SeenRace | None = None
) -> ComparisonPlan:
    """Return the plan for a block in which a race does not count: it is over as a whole."""
    race = block.races[-1]
    ended = _with(race, valid=False, reason=reason[:63], message=message, seconds=_seconds(there) if there else None)
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


def _words(race: SeenRace) -> str:
    return race.progress or race.phase.lower() or "starting"


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


def _machines_before(seen: ComparisonSeen, block: CurrentBlock) -> tuple[Sequence[str], str]:
    """Return the machines of Elasticsearch and of the load generator in the block before, where they are known."""
    before = [each for each in seen.status.blocks if each.number != PREPARATION and each.races]
    if block.number == PREPARATION or not before:
        return (), ""
    first = seen.races.get(before[-1].races[0].benchmark)
    return (first.elasticsearch_on, first.load_generator_on) if first else ((), "")
