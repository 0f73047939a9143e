"""Drives one Benchmark: it looks, plans, writes the status and acts, and sleeps until there is a reason to look again.

The indexes alone are not believed for ever: what is deleted while kopf has lost its watch (410 Gone: it lists again)
stays in them, since no event tells of it. A look that no event caused therefore asks the API server itself.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pydantic import ValidationError

from fairlap.api.base import Json
from fairlap.api.names import KIND
from fairlap.api.phases import is_over
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus
from fairlap.kube.api_error import ApiError
from fairlap.plan.basis.seen import Plan, Refusal, Seen, Subject
from fairlap.plan.benchmark import plan
from fairlap.plan.comparison.kept_clusters import machines_of_kept
from fairlap.queue.summary import PlaceKind, held_place
from fairlap.runtime.announce import Announcement, announcements, phase_words
from fairlap.runtime.last_word import remove_children
from fairlap.runtime.look import ChildIndexes, build_seen, look_at
from fairlap.runtime.perform import perform
from fairlap.runtime.reconcile_loop import ReconcileLoop
from fairlap.runtime.writes import write_status


@dataclass
class BenchmarkReconciler(ReconcileLoop[BenchmarkStatus]):
    """Drives one Benchmark from its first sight to its end."""

    indexes: ChildIndexes
    refusal: Refusal | None = None
    taken_up: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def kind(self) -> str:
        """The kind of what is driven."""
        return KIND

    async def _look_once(self, *, woken: bool) -> float:
        benchmark = await self._newest()
        if benchmark is None or is_over(benchmark):
            return self._resync  # until its end is told
        now = datetime.now(UTC)
        try:
            seen = build_seen(benchmark, self.indexes, self.operator.settings, now)
        except ValidationError as error:
            await self._take_in_unreadable(error, BenchmarkSpec.__name__)
            return 0
        if self.intended is not None:
            await self._write(benchmark, seen.status, self.intended)
            return 0
        children = replace(seen.children, foreign=self.foreign)
        seen = replace(
            seen, children=children, refusal=self.refusal, taken_up=self.taken_up, pruned=self.unstored.fields
        )
        turn, check_turn = self.operator.places.turn(self.uid), self.operator.places.turn(self.uid, "check")
        kept, siblings = self.operator.kept(self.indexes.elasticsearches), self.operator.places.siblings(self.uid)
        strange = {uid: name for uid, name in kept.items() if uid not in siblings}
        beside = frozenset(kept.keys() & siblings)
        seen = replace(seen, turn=turn, check_turn=check_turn, kept=strange, beside=beside)
        seen = replace(seen, in_block=self.operator.is_in_block(self.uid), kept_on=self._kept_on(seen.subject))
        ours = {self.uid, self.operator.places.leader(self.uid, seen.subject.namespace)}
        seen = replace(seen, others_race=bool(self.operator.places.holders() - ours))
        if not seen.status.step and self.operator.places.lags(self.uid, held_place(seen.status)):
            return 0.5  # the event of our own write will wake it
        if not woken and seen.status.step:
            seen = await look_at("children", seen, self._api_server, self.operator.prometheus)
        seen, todo = await self._decide(seen)
        if not self._holds_what_it_needs(seen.status, todo.status):
            return 0  # another one took the place while this one was reading what it decides by
        if self.unstored.differs(seen.status, todo.status, time.monotonic()):
            await self._write(benchmark, seen.status, todo.status)
            return 0
        return await self._act(seen, todo)

    def _kept_on(self, subject: Subject) -> tuple[str, ...]:
        leader = self.operator.places.leader(self.uid, subject.namespace) if subject.spec.target else ""
        races = self.operator.races.of(leader, subject.namespace)
        built_on = {name: race.elasticsearch_on for name, race in races.items()}
        return machines_of_kept(subject.spec.target, subject.namespace, built_on)

    async def _decide(self, seen: Seen) -> tuple[Seen, Plan]:
        todo = plan(seen)
        while todo.look:
            for what in todo.look:
                seen = await look_at(what, seen, self._api_server, self.operator.prometheus, self._enter_large_records)
            todo = plan(seen)
        return seen, todo

    async def _enter_large_records(self) -> None:
        await self._enter(self.operator.large_records)

    async def _act(self, seen: Seen, todo: Plan) -> float:
        if todo.create or todo.delete or todo.start_job:
            await self._bide()
        try:
            self.foreign = await perform(self._api_server, seen, todo)
        except ApiError as error:
            if not self._is_refusal(error):
                raise
            self.refusal = Refusal("request", error.message)
            self.logger.warning("refused: %s", error)
            return 0 if seen.refusal != self.refusal else self._resync
        if self.foreign != seen.children.foreign:
            return 0
        if self.foreign:  # it is not ours, so no event will tell when it has gone: try again
            return 2.0
        return self._next_look(todo.wake_in)

    async def _send(self, there: Json, status: BenchmarkStatus) -> Json:
        return await write_status(self._api_server, there, status)

    async def _remove_children(self) -> list[str]:
        return await remove_children(self._api_server, self.body["metadata"]["namespace"], self.uid)

    def _held(self, status: BenchmarkStatus) -> PlaceKind | None:
        return held_place(status)

    def _announcements(self, before: BenchmarkStatus, after: BenchmarkStatus) -> Iterable[Announcement]:
        return announcements(before, after)

    def _phase_words(self, status: BenchmarkStatus) -> str:
        return phase_words(status)

    def _has_written(self, before: BenchmarkStatus, after: BenchmarkStatus) -> None:
        if after.step != before.step:
            self.foreign, self.refusal = "", None
