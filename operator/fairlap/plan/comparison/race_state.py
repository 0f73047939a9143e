"""What is known of one race of the block that is raced now: under way, over, or not to be counted."""

from datetime import timedelta
from typing import NamedTuple

from fairlap.api.comparison_status import CurrentBlock, RaceOfBlock
from fairlap.api.phases import OVER
from fairlap.comparison.terms.block_reason import BlockReason
from fairlap.plan.basis.conditions import moment
from fairlap.plan.basis.deadline import Deadline, wake_in
from fairlap.plan.comparison.block_close import seconds_until_given_up
from fairlap.plan.comparison.comparison_seen import ComparisonSeen, SeenRace


class RaceState(NamedTuple):
    """What follows from what is seen of a race's Benchmark."""

    valid: bool | None = None
    """None while it is under way"""
    reason: str = ""
    message: str = ""
    there: SeenRace | None = None
    """its Benchmark, where that says how long it took"""
    words: str = ""
    """how far it is"""
    wake_in: float | None = None
    """seconds until it must be looked at again even if nothing happens"""
    doubtful: bool = False
    """it is read from the API server itself before this is believed"""


def race_state(seen: ComparisonSeen, block: CurrentBlock, race: RaceOfBlock) -> RaceState:
    """Return the state of a race whose Benchmark's uid is known, or that is over already."""
    if race.valid is not None:
        return RaceState(valid=race.valid, reason=race.reason, message=race.message)
    there = seen.races.get(race.benchmark)
    if there is not None and there.deleted and there.phase not in OVER:
        going = Deadline(moment(there.deleted), timedelta(seconds=seen.settings.cleanup_seconds))
        if not going.passed(seen.now):
            words = "waiting for its Benchmark, which was deleted, to go away"
            return RaceState(words=words, wake_in=wake_in(seen.now, going))
        there = None  # something holds it, and others wait for the place
    if there is not None and there.uid == race.uid and there.phase != "Failed":
        if there.phase == "Succeeded":
            return RaceState(valid=True, there=there)
        if race.uid in seen.aside:
            return _set_aside(race) if seen.confirmed else RaceState(doubtful=True)
        words = there.progress or there.phase.lower() or "starting"
        if not there.suspended:
            return RaceState(words=words)
        left = seconds_until_given_up(seen, block)
        if left > 0:  # the place is held for it, and others wait for that
            return RaceState(words=words, wake_in=max(left, 1.0))
        text = f"Benchmark {race.benchmark} was suspended while its block was raced: suspend the Comparison instead"
        return RaceState(valid=False, reason=BlockReason.RACE_SUSPENDED, message=text)
    if not seen.confirmed:  # an index may not know of it yet, or show one that is no longer there
        return RaceState(doubtful=True)
    if there is None or there.uid != race.uid:
        text = f"Benchmark {race.benchmark} was deleted before its race was over"
        return RaceState(valid=False, reason=BlockReason.RACE_DELETED, message=text)
    message = there.message or f"Benchmark {race.benchmark} failed"
    return RaceState(valid=False, reason=there.reason or BlockReason.FAILED, message=message, there=there)


def _set_aside(race: RaceOfBlock) -> RaceState:
    text = (
        f"Benchmark {race.benchmark} could not go on: the API server refused what it asked, or each look ended in "
        "an error; the operator's log says which"
    )
    return RaceState(valid=False, reason=BlockReason.RACE_REFUSED, message=text)
