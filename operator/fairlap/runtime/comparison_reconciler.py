"""Drives one Comparison: it looks, plans, writes the status and acts, and is woken by its Benchmarks' events."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple, get_args

from prometheus_client import Counter
from pydantic import ValidationError

from fairlap.api.base import Json
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import ComparisonStatus, Verdict
from fairlap.api.names import COMPARISON_KIND, NOISE_CONFIG_MAP
from fairlap.api.phases import OVER, is_over
from fairlap.kube.api_error import ApiError
from fairlap.plan.comparison.comparison_seen import (
    ComparisonLook,
    ComparisonPlan,
    ComparisonSeen,
    ComparisonSubject,
    RaceToCreate,
)
from fairlap.plan.outdated_crd import COMPARISON_STEERING
from fairlap.queue.summary import PlaceKind
from fairlap.runtime.announce import Announcement, comparison_announcements, comparison_words
from fairlap.runtime.comparison_acts import Learn, RecordRace, create_race, learn, record_block
from fairlap.runtime.comparison_reads import build_comparison_seen, read_blocks, read_races, try_variants
from fairlap.runtime.project import is_set_aside
from fairlap.runtime.reads import read_machines
from fairlap.runtime.reconcile_loop import ReconcileLoop
from fairlap.runtime.unstored_fields import UnstoredFields
from fairlap.runtime.writes import write_status
from fairlap.statistics.moderation import Prior

VERDICTS = Counter("fairlap_comparison_verdicts", "Comparisons that have ended, by what they say", ["verdict"])
_NO_VERDICT = "none"
for _verdict in (*get_args(Verdict), _NO_VERDICT):
    VERDICTS.labels(_verdict)  # exposed from the beginning: Prometheus takes the first value it sees for no increase

_LOOK_AGAIN_SECONDS = 10.0


class Deciders(NamedTuple):
    """The decisions about Comparisons, none of which asks the API server."""

    plan: Callable[[ComparisonSeen], ComparisonPlan]
    trials: Callable[[ComparisonSeen], Iterable[RaceToCreate]]
    """a Benchmark for each variant, as the API server is to be asked whether it would take it"""
    record_race: RecordRace
    priors: Callable[[Json, ComparisonSeen], Mapping[str, Prior]]
    """the noise of each family of numbers that is known of what a Comparison races, from what was learnt"""
    race_seconds: Callable[[Json, ComparisonSeen], float | None]
    """how long a race of it will take, from the same"""
    learnt: Learn


@dataclass
class ComparisonReconciler(ReconcileLoop[ComparisonStatus]):
    """Drives one Comparison from its first sight to its end."""

    deciders: Deciders = field(kw_only=True)
    refusal: str = ""
    hindrance: str = ""
    """a quota's refusal, as a sentence"""
    unstored: UnstoredFields = field(default_factory=lambda: UnstoredFields(steering=COMPARISON_STEERING))
    subject: ComparisonSubject | None = None
    """what the last look was at, while a block is raced: with its variants it is large, and many may wait"""

    @property
    def kind(self) -> str:
        """The kind of what is driven."""
        return COMPARISON_KIND

    async def _look_once(self, *, woken: bool) -> float:
        comparison = await self._newest()
        if comparison is None or is_over(comparison):
            return self._resync  # until its end is told
        try:
            seen = build_comparison_seen(comparison, self.operator.settings, datetime.now(UTC), self.subject)
        except ValidationError as error:
            await self._take_in_unreadable(error, ComparisonSpec.__name__)
            return 0
        self.subject = seen.subject if seen.status.block and not is_set_aside(self.body) else None
        if self.intended is not None:
            await self._write(comparison, seen.status, self.intended)
            return 0
        if self.operator.places.lags(self.uid, self._held(seen.status)):
            return 0.5  # the event of our own write will wake it
        races = self.operator.races.of(self.uid, seen.subject.namespace)
        turn = self.operator.places.turn(self.uid)
        seen = replace(seen, races=races, turn=turn, foreign=self.foreign, refusal=self.refusal)
        seen = replace(seen, hindrance=self.hindrance if seen.status.block else "")
        seen = replace(seen, pruned=self.unstored.fields)
        if not woken and seen.status.block:
            seen = await self._look_at("races", seen)
        seen, todo = await self._decide(seen)
        if not self._holds_what_it_needs(seen.status, todo.status):
            return 0  # another one took the place while this one was reading what it decides by
        if self.unstored.differs(seen.status, todo.status, time.monotonic()):
            if todo.learn and todo.status.phase in OVER:  # nobody looks again at what is over
                await learn(self._api_server, seen, self.deciders.learnt)
            await self._write(comparison, seen.status, todo.status)
            return 0
        return await self._act(seen, todo)

    async def _decide(self, seen: ComparisonSeen) -> tuple[ComparisonSeen, ComparisonPlan]:
        todo = self.deciders.plan(seen)
        while todo.look:
            for what in todo.look:
                seen = await self._look_at(what, seen)
            # Judging thousands of numbers takes seconds, which are nobody else's: the Lease is to be renewed meanwhile.
            todo = await asyncio.to_thread(self.deciders.plan, seen) if seen.records else self.deciders.plan(seen)
        return seen, todo

    async def _look_at(self, what: ComparisonLook, seen: ComparisonSeen) -> ComparisonSeen:
        api_server = self._api_server
        match what:
            case "dry_runs":
                trials = self.deciders.trials(seen)
                try:
                    said = await try_variants(api_server, seen.subject, trials, self._is_refusal)
                except ApiError as error:
                    if not error.over_quota:
                        raise
                    return replace(seen, hindrance=error.quota_words)
                return replace(seen, dry_runs=said)
            case "races":
                return replace(seen, confirmed=True, races=await read_races(api_server, seen))
            case "records":
                await self._enter(self.operator.large_records)
                return replace(seen, records=await read_blocks(api_server, seen))
            case "machines":
                return replace(seen, machines=await read_machines(api_server))
            case "priors":
                there = await api_server.find("ConfigMap", seen.subject.namespace, NOISE_CONFIG_MAP) or {}
                data = there.get("data") or {}
                took = self.deciders.race_seconds(data, seen)
                return replace(seen, priors=self.deciders.priors(data, seen), race_seconds=took)

    async def _act(self, seen: ComparisonSeen, todo: ComparisonPlan) -> float:
        try:
            self.foreign = await self._perform(seen, todo)
            self.hindrance = ""
        except ApiError as error:
            if error.over_quota:  # no event tells of its room: try again
                self.hindrance = error.quota_words
                return 0 if not seen.hindrance else _LOOK_AGAIN_SECONDS
            if not self._is_refusal(error):
                raise
            self.refusal = error.message
            self.logger.warning("refused: %s", error)
            return 0 if seen.refusal != self.refusal else self._resync
        if self.foreign != seen.foreign:
            return 0
        if self.foreign:  # it is not ours, so no event will tell when it has gone: try again
            return 2.0
        return 0 if todo.record else self._next_look(todo.wake_in)

    async def _perform(self, seen: ComparisonSeen, todo: ComparisonPlan) -> str:
        """Carry out the acts in order; return a sentence when a foreign object is in the way. Raises ApiError."""
        if todo.create or todo.record:
            await self._bide()
        if todo.create and (foreign := await create_race(self._api_server, seen.subject, todo.create)):
            return foreign
        if todo.record:
            await self._enter(self.operator.large_records)
            record_race = self.deciders.record_race
            if foreign := await record_block(self._api_server, seen, todo.record, record_race):
                return foreign
        if todo.learn:
            await learn(self._api_server, seen, self.deciders.learnt)
        return ""

    async def _send(self, there: Json, status: ComparisonStatus) -> Json:
        return await write_status(self._api_server, there, status, COMPARISON_KIND)

    async def _remove_children(self) -> list[str]:
        return []  # no right to delete Benchmarks is needed for anything else: the one that races runs to its end

    def _held(self, status: ComparisonStatus) -> PlaceKind | None:
        return "race" if status.admitted_time else None

    def _announcements(self, before: ComparisonStatus, after: ComparisonStatus) -> Iterable[Announcement]:
        return comparison_announcements(before, after)

    def _phase_words(self, status: ComparisonStatus) -> str:
        return comparison_words(status)

    def _has_written(self, before: ComparisonStatus, after: ComparisonStatus) -> None:
        if _stage(after) != _stage(before):
            self.foreign = self.refusal = self.hindrance = ""
        if after.phase in OVER and before.phase not in OVER:
            VERDICTS.labels(after.verdict or _NO_VERDICT).inc()


def _stage(status: ComparisonStatus) -> tuple[object, ...]:
    block = status.block
    return (block.number, block.attempt, len(block.races), block.stage) if block else (status.phase,)
