"""A Comparison and the records of its blocks, put together for a reader."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from statistics import fmean
from typing import Any

from pydantic import ValidationError

from fairlap.api.base import Json
from fairlap.api.block_record import TWIN, BlockRecord, Curve, RaceRecord
from fairlap.api.comparison_status import (
    PREPARATION,
    Block,
    ComparisonStatus,
    ContenderStatus,
    GateStatus,
)
from fairlap.api.condition_types import ComparisonCondition, ComparisonReason
from fairlap.api.names import COMPARISON_KIND
from fairlap.api.phases import OVER
from fairlap.api.status import RemarkStatus
from fairlap.comparison.facts.disturbed_race import DISTURBED, disturbance
from fairlap.comparison.facts.installation import installation_changes
from fairlap.comparison.terms.block_reason import BlockReason
from fairlap.comparison_report.metric_words import DISAGREE, VERDICT_WORDS, words_of
from fairlap.wording.counts import counted

_MOST = 1e18
"""of any number that a race measures: an axis needs room above it"""


class NotAComparisonError(ValueError):
    """What was given is no Comparison; the text is a sentence for the user."""


@dataclass(frozen=True)
class RanBlock:
    """A block that is over."""

    number: int
    attempt: int
    valid: bool
    cause: str
    """why it does not count, in a word"""
    reason: str
    """the same in words"""
    races: tuple[RaceRecord, ...]
    """in the order in which they ran"""

    @property
    def label(self) -> str:
        """Return what the block is called: 3, or 3, attempt 2."""
        return str(self.number) if self.attempt == 1 else f"{self.number}, attempt {self.attempt}"

    def race_of(self, variant: str) -> RaceRecord | None:
        """Return the variant's race in this block."""
        return next((race for race in self.races if race.variant == variant), None)


@dataclass(frozen=True)
class ComparisonView:
    """Everything that a report shows."""

    name: str
    namespace: str
    raw: Json
    spec: Json
    status: ComparisonStatus
    records: tuple[BlockRecord, ...]
    blocks: tuple[RanBlock, ...]
    baseline: str

    @cached_property
    def variants(self) -> tuple[str, ...]:
        """Return all variants, the baseline first."""
        told = [each.name for each in self.status.variants]
        raced = [race.variant for block in self.blocks for race in block.races if race.variant != self.twin]
        asked = [str(each.get("name")) for each in self.spec.get("variants") or () if isinstance(each, dict)]
        return tuple(dict.fromkeys([self.baseline, *told, *[each.name for each in self.contenders], *raced, *asked]))

    @property
    def contenders(self) -> Sequence[ContenderStatus]:
        """Return what is known of each variant against the baseline."""
        return self.status.contenders

    @property
    def twin(self) -> str:
        """Return the name of the baseline where it was raced against itself."""
        return self.baseline + TWIN

    @cached_property
    def arms(self) -> tuple[str, ...]:
        """Return all that race: the variants but those left out beforehand, and the baseline against itself."""
        raced = {race.variant for block in self.blocks for race in block.races}
        left_out = {each.name for each in self.contenders if each.verdict == "NotComparable"} - raced
        racing = tuple(name for name in self.variants if name not in left_out)
        return (*racing, self.twin) if self.twin in raced else racing

    @cached_property
    def valid_blocks(self) -> tuple[RanBlock, ...]:
        """Return the blocks that count."""
        return tuple(block for block in self.blocks if block.valid)

    @property
    def over(self) -> bool:
        """Return whether the Comparison has ended."""
        return self.status.phase in OVER

    @property
    def failed(self) -> bool:
        """Return whether it ended without a verdict."""
        return self.status.phase == "Failed"

    def condition(self, kind: str) -> tuple[str, str, str]:
        """Return status, reason and message of a condition; empty texts where there is none."""
        for each in self.status.conditions:
            if each.type == kind:
                return each.status, each.reason, each.message
        return "", "", ""

    @cached_property
    def judged(self) -> tuple[tuple[ContenderStatus, GateStatus], ...]:
        """Return every gate of every contender."""
        return tuple((contender, gate) for contender in self.contenders for gate in contender.gates)

    @cached_property
    def gates(self) -> tuple[GateStatus, ...]:
        """Return each gate once, as the first contender has it."""
        found: dict[tuple[str, str], GateStatus] = {}
        for _, gate in self.judged:
            found.setdefault((gate.task, gate.metric), gate)
        return tuple(found.values())

    def ratios(self, gate: GateStatus, variant: str) -> list[tuple[RanBlock, float]]:
        """Return ln(variant / baseline) of a gate in each block that counts and has both."""
        found = []
        for block in self.valid_blocks:
            one, two = (self.value_of(gate, block, name) for name in (self.baseline, variant))
            if one and two and one > 0 and two > 0:
                found.append((block, math.log(two) - math.log(one)))
        return found

    @cached_property
    def _numbers(self) -> dict[tuple[int, int, str, str, str], float]:
        return {
            (block.number, block.attempt, race.variant, each.task, each.metric): each.value
            for block in self.blocks
            for race in block.races
            for each in (*race.numbers, *race.task_usage)
        }

    def number(self, block: RanBlock, variant: str, task: str, metric: str) -> float | None:
        """Return a number of a variant's race in a block; task "" is the whole race."""
        return self._numbers.get((block.number, block.attempt, variant, task, metric))

    @cached_property
    def _units(self) -> dict[tuple[str, str], set[str]]:
        # Where races that count tell a number, void ones cannot spoil it.
        return _units_in(self.blocks) | _units_in(self.valid_blocks)

    def unit(self, task: str, metric: str) -> str:
        """Return the unit of a number: that of its task, else the metric's; "" where races disagree."""
        if self.told_apart(task, metric):
            return ""
        return next(iter(self._units.get((task, metric), ())), words_of(metric).unit)

    def told_apart(self, task: str, metric: str) -> bool:
        """Return whether races tell a number in different units (docs/s and MB/s), so that nothing can compare it."""
        return len(self._units.get((task, metric), ())) > 1

    def value_of(self, gate: GateStatus, block: RanBlock, variant: str) -> float | None:
        """Return a gate's number in a race: of its task, of the whole race, or the geometric mean over its tasks.

        None where there is none, or where races tell it in different units.
        """
        if any(self.told_apart(task, gate.metric) for task in gate.tasks or [gate.task]):
            return None
        if gate.task or not gate.tasks:
            return self.number(block, variant, gate.task, gate.metric)
        logs = []
        for task in gate.tasks:
            value = self.number(block, variant, task, gate.metric)
            if value is None or value <= 0:
                return None
            logs.append(math.log(value))
        return math.exp(fmean(logs))

    @property
    def decides_nothing(self) -> bool:
        """Return whether GatePassed says no more than that no gate decides: then none is passed either."""
        status, reason, _ = self.condition(ComparisonCondition.GATE_PASSED)
        return status != "False" and reason == ComparisonReason.NOTHING_TO_DECIDE

    @property
    def headline(self) -> str:
        """Return the verdict as one sentence."""
        status = self.status
        if self.failed:
            return status.message or "It failed before anything could be told."
        if not self.over:
            return f"Not over yet: {status.progress or status.phase or 'not seen by the operator'}"
        sentences = [each.sentence for each in self.contenders if each.sentence]
        # The progress is a line for a column, cut where the column ends.
        _, _, message = self.condition("Complete")
        return message or " ".join(sentences) or status.progress or "It ended without a sentence."

    @property
    def races_and_preparations(self) -> str:
        """How many there were, in words."""
        races = self.status.cost_races or sum(len(block.races) for block in self.blocks)
        prepared = self.status.cost_preparations
        told = [(races, "race"), *([(prepared, "preparation")] if prepared else [])]
        return " and ".join(counted(count, what) for count, what in told)

    @property
    def verdict(self) -> str:
        """Return the verdict's word; "" while there is none."""
        return "" if self.failed else str(self.status.verdict or "")

    @property
    def verdict_words(self) -> str:
        """Return what the verdict means; "" while there is none."""
        trades = any(each.verdict == "Mixed" for each in self.contenders)
        if self.verdict == "Mixed" and self.contenders and not trades:
            return DISAGREE
        return VERDICT_WORDS.get(self.verdict, self.verdict)

    @property
    def design(self) -> Json:
        """Return how many blocks are raced and in which order, as asked."""
        found = self.spec.get("design")
        return found if isinstance(found, dict) else {}

    @property
    def in_turn(self) -> bool:
        """Return whether the variants of a block were raced at the same time, one request of each in turn."""
        return self.design.get("kind") == "Duet"


def check_comparison(data: Json) -> None:
    """Raise NotAComparisonError for an object that is none, whatever its status and records are."""
    if data.get("kind", COMPARISON_KIND) != COMPARISON_KIND or not isinstance(data.get("spec"), dict):
        raise NotAComparisonError(f"this is no {COMPARISON_KIND}: it needs kind: {COMPARISON_KIND} and a spec")


def read_view(comparison: Json, blocks: Sequence[BlockRecord]) -> ComparisonView:
    """Return a Comparison, as the API server gives it, with its records; raises NotAComparisonError."""
    check_comparison(comparison)
    meta, spec = comparison.get("metadata"), comparison["spec"]
    meta = meta if isinstance(meta, dict) else {}
    try:
        status = ComparisonStatus.model_validate(comparison.get("status") or {})
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise NotAComparisonError(f"status.{where} cannot be read: {error.errors()[0]['msg']}") from error
    records = tuple(sorted(map(finite, blocks), key=lambda block: (block.number, block.attempt)))
    return ComparisonView(
        name=str(meta.get("name") or "comparison"),
        namespace=str(meta.get("namespace") or ""),
        raw=comparison,
        spec=spec,
        status=status,
        records=records,
        blocks=tuple(_blocks(status, records)),
        baseline=str(spec.get("baseline") or ""),
    )


def finite(block: BlockRecord) -> BlockRecord:
    """Return a record without numbers that are none: neither JSON nor a chart has a place for them."""
    return block.model_copy(update={"races": [_finite_race(race) for race in block.races]})


def _finite_race(race: RaceRecord) -> RaceRecord:
    seconds = race.seconds if race.seconds is not None and _is_number(race.seconds) else None
    return race.model_copy(
        update={
            "numbers": [each for each in race.numbers if _is_number(each.value)],
            "task_usage": [each for each in race.task_usage if _is_number(each.value)],
            "service_times": list(map(_finite_curve, race.service_times)),
            "latencies": list(map(_finite_curve, race.latencies)),
            "rates": list(map(_finite_curve, race.rates)),
            "seconds": seconds,
        }
    )


def _finite_curve(curve: Curve) -> Curve:
    return curve.model_copy(update={"points": [point for point in curve.points if all(map(_is_number, point))]})


def _is_number(value: float) -> bool:
    return abs(value) <= _MOST  # NaN is not


def label_of(gate: GateStatus) -> str:
    """Return what a gate is called."""
    words = words_of(gate.metric).words
    if gate.task:
        return f"{words} of {gate.task}"
    if gate.tasks:
        return f"{words}, mean of {counted(len(gate.tasks), 'task')}"
    return words


def unit_of(gate: GateStatus) -> str:
    """Return the unit of a gate's number."""
    return gate.unit or words_of(gate.metric).unit


def text_at(data: Any, *path: str) -> str:
    """Return what stands at a path of a JSON object as a text, "" where there is nothing."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return "" if data is None or isinstance(data, dict | list) else str(data)


def _units_in(blocks: Iterable[RanBlock]) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for each in (number for block in blocks for race in block.races for number in race.numbers):
        if each.unit:
            found.setdefault((each.task, each.metric), set()).add(each.unit)
    return found


def _blocks(status: ComparisonStatus, records: Iterable[BlockRecord]) -> Iterator[RanBlock]:
    kept = {(record.number, record.attempt): record for record in records}
    told = {(block.number, block.attempt): block for block in status.blocks}
    for key in sorted({*kept, *told}):
        if key[0] == PREPARATION:
            continue
        record, block = kept.get(key), told.get(key)
        races = tuple(record.races) if record else tuple(_without_numbers(block))
        valid = block.valid if block and block.valid is not None else bool(races) and all(race.valid for race in races)
        lost = next((race.reason for race in races if not race.valid), "")
        cause = "" if valid else (block.reason if block else "") or lost
        yield RanBlock(*key, valid=bool(valid), cause=cause, reason=_why(cause, races), races=races)


def _why(cause: str, races: Sequence[RaceRecord]) -> str:
    if cause in (DISTURBED, BlockReason.INSTALLATION_CHANGED):
        upgraded = installation_changes(races)
        told = [disturbance(race) if cause == DISTURBED else upgraded.get(race.benchmark) for race in races]
        found = [f"{race.variant}: {how}" for race, how in zip(races, told, strict=True) if how is not None]
        return ": ".join(filter(None, (cause, "; ".join(found))))
    lost = [f"{race.variant}: {race.message or race.reason}" for race in races if not race.valid]
    return "; ".join(lost) or cause


def _without_numbers(block: Block | None) -> Iterator[RaceRecord]:
    """Return the races of a block whose record is not there, as far as the status tells of them."""
    races = block.races if block else []
    for variant, race in zip_longest(block.order if block else [], races):
        if race is not None:
            yield RaceRecord(
                variant=race.variant, benchmark=race.benchmark, valid=race.valid is not False, reason=race.reason,
                message=race.message, seconds=race.seconds,
                remarks=[RemarkStatus(reason=race.reason, message=race.message)] if race.valid and race.reason else [],
            )  # fmt: skip
        elif variant:
            yield RaceRecord(
                variant=variant, benchmark="", valid=False, reason="NotRaced", message="not raced any more"
            )
