"""Drives one Comparison: it looks, plans, writes the status and acts, and is woken by its Benchmarks' events."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, NamedTuple, get_args

from prometheus_client import Counter

from fairlap.api.base import Json
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import ComparisonStatus, Verdict
from fairlap.api.names import COMPARISON_KIND, NOISE_CONFIG_MAP
from fairlap.api.phases import OVER
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
from fairlap.runtime.loop.announce import comparison_announcements, comparison_words
from fairlap.runtime.loop.driven_kind import DrivenKind
from fairlap.runtime.loop.reconcile_loop import ReconcileLoop
from fairlap.runtime.objects.project import is_set_aside
from fairlap.runtime.objects.reads import read_machines
from fairlap.runtime.objects.writes import create_child
from fairlap.runtime.reconcilers.comparison_acts import Learn, RecordRace, create_race, learn, packed_block
from fairlap.runtime.reconcilers.comparison_reads import build_comparison_seen, read_blocks, read_races, try_variants
from fairlap.statistics.moderation import Prior

VERDICTS = Counter("fairlap_comparison_verdicts", "Comparisons that have ended, by what they say", ["verdict"])
_NO_VERDICT = "none"
for _verdict in (*get_args(Verdict), _NO_VERDICT):
    VERDICTS.labels(_verdict)  # exposed from the beginning: Prometheus takes the first value it sees for no increase

_LOOK_AGAIN_SECONDS = 10.0
_BEGINNING: Final[tuple[ComparisonLook, ...]] = ("dry_runs", "priors", "machines")
"""what is read before anything is raced"""


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


def _held(status: ComparisonStatus) -> PlaceKind | None:
    return "race" if status.admitted_time else None


@dataclass
class ComparisonReconciler(ReconcileLoop[ComparisonStatus, ComparisonSeen, ComparisonPlan]):
    """Drives one Comparison from its first sight to its end."""

    kind: ClassVar[DrivenKind[ComparisonStatus]] = DrivenKind(
        name=COMPARISON_KIND,
        spec=ComparisonSpec.__name__,
        steering=COMPARISON_STEERING,
        held=_held,
        waits_for_events=lambda _: True,
        to_confirm=lambda status: ("races",) if status.block else (),
        announcements=comparison_announcements,
        phase_words=comparison_words,
    )
    deciders: Deciders = field(kw_only=True)
    refusal: str = ""
    hindrance: str = ""
    """a quota's refusal, as a sentence"""
    aside_since: dict[str, float] = field(default_factory=dict)
    """when each of its Benchmarks that are set aside was first seen so"""
    subject: ComparisonSubject | None = None
    """what the last look was at, while a block is raced: with its variants it is large, and many may wait"""
    taken_up: datetime = field(default_factory=lambda: datetime.now(UTC))

    def _see(self, there: Json) -> ComparisonSeen:
        seen = build_comparison_seen(there, self.operator.settings, datetime.now(UTC), self.subject)
        self.subject = seen.subject if seen.status.block and not is_set_aside(self.body) else None
        return seen

    def _see_more(self, seen: ComparisonSeen) -> ComparisonSeen:
        races = self.operator.races.led_by(self.uid, seen.subject.namespace)
        turn = self.operator.places.turn(self.uid)
        seen = replace(seen, races=races, turn=turn, foreign=self.foreign, refusal=self.refusal)
        hindrance = self.hindrance if seen.status.block else ""
        seen = replace(seen, hindrance=hindrance, taken_up=self.taken_up)
        return replace(seen, pruned=self.writer.unstored.fields, aside=self._aside())

    def _aside(self) -> frozenset[str]:
        """Return which of its Benchmarks are set aside for so long that they are not waited for any more."""
        # One of them may come back at the next attempt, or is about to say how it ended.
        now, patience = time.monotonic(), self.operator.settings.cleanup_seconds
        self.aside_since = {uid: self.aside_since.get(uid, now) for uid in self.operator.places.aside(self.uid)}
        return frozenset(uid for uid, since in self.aside_since.items() if now - since >= patience)

    async def _look_at(self, what: ComparisonLook, seen: ComparisonSeen) -> ComparisonSeen:
        try:
            return await self._asked(what, seen)
        except ApiError as error:
            begun = bool(seen.status.variants)  # its plans say nothing of this, and would ask again at once
            if begun or what not in _BEGINNING or not (error.over_quota or self.attempts.setbacks.lasts()):
                raise
            # It is all that can be said of one that is not begun, and only what is said has a deadline.
            self.logger.warning("it cannot begin: %s", error)
            words = error.quota_words or f"the API server could not be asked: {error}"
            return replace(seen, hindrance=words)

    async def _asked(self, what: ComparisonLook, seen: ComparisonSeen) -> ComparisonSeen:
        """Return what is seen with what was asked for. Raises ApiError."""
        api_server = self._api_server
        match what:
            case "dry_runs":
                trials = self.deciders.trials(seen)
                said = await try_variants(api_server, seen.subject, trials, self.attempts.setbacks.is_final)
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

    async def _plan(self, seen: ComparisonSeen) -> ComparisonPlan:
        # Judging thousands of numbers takes seconds, which are nobody else's: the Lease is to be renewed meanwhile.
        return await asyncio.to_thread(self.deciders.plan, seen) if seen.records else self.deciders.plan(seen)

    async def _before_write(self, seen: ComparisonSeen, todo: ComparisonPlan) -> None:
        if todo.learn and todo.status.phase in OVER:  # nobody looks again at what is over
            await learn(self._api_server, seen, self.deciders.learnt)

    def _set_down(self, seen: ComparisonSeen, todo: ComparisonPlan) -> ComparisonSeen:
        if todo.learn:
            return seen
        self._leave(self.operator.large_records)
        return replace(seen, records=None)

    async def _perform(self, seen: ComparisonSeen, todo: ComparisonPlan) -> str:
        foreign = await self._create_or_keep(seen, todo)
        self.hindrance = ""
        return foreign

    async def _create_or_keep(self, seen: ComparisonSeen, todo: ComparisonPlan) -> str:
        if todo.create or todo.record:
            await self.writer.wait_until_allowed()
        if todo.create and (foreign := await create_race(self._api_server, seen.subject, todo.create)):
            return foreign
        if todo.record:
            packed = await self._pack(seen, todo.record)
            if packed and (foreign := await create_child(self._api_server, packed)):
                return foreign
        if todo.learn:
            await learn(self._api_server, seen, self.deciders.learnt)
        return ""

    async def _pack(self, seen: ComparisonSeen, name: str) -> Json | None:
        await self._enter(self.operator.large_records)
        try:
            return await packed_block(self._api_server, seen, name, self.deciders.record_race)
        finally:
            self._leave(self.operator.large_records)

    def _next_look(self, todo: ComparisonPlan) -> float:
        return 0 if todo.record else super()._next_look(todo)

    def _retry_seconds(self, seen: ComparisonSeen, error: ApiError) -> float | None:
        if not error.over_quota:
            return None
        self.hindrance = error.quota_words
        return 0 if not seen.hindrance else _LOOK_AGAIN_SECONDS  # no event tells of its room: try again

    def _is_news(self, refusal: str) -> bool:
        before, self.refusal = self.refusal, refusal
        return before != refusal

    def _has_written(self, before: ComparisonStatus, after: ComparisonStatus) -> None:
        if _stage(after) != _stage(before):
            self.foreign = self.refusal = self.hindrance = ""

    def _has_ended(self, last_status: Mapping[str, Any]) -> None:
        VERDICTS.labels(last_status.get("verdict") or _NO_VERDICT).inc()

    async def _remove_children(self) -> list[str]:
        return []  # no right to delete Benchmarks is needed for anything else: the one that races runs to its end


def _stage(status: ComparisonStatus) -> tuple[object, ...]:
    block = status.block
    return (block.number, block.attempt, len(block.races), block.stage) if block else (status.phase,)
