"""Drives one Benchmark: it looks, plans, writes the status and acts, and sleeps until there is a reason to look again.

The indexes alone are not believed for ever: what is deleted while kopf has lost its watch (410 Gone: it lists again)
stays in them, since no event tells of it. A look that no event caused therefore asks the API server itself.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from fairlap.api.base import Json
from fairlap.api.names import KIND
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus
from fairlap.kube.api_error import ApiError
from fairlap.plan.basis.seen import BenchmarkLook, Plan, Refusal, Seen, Subject
from fairlap.plan.benchmark import plan
from fairlap.plan.comparison.kept_clusters import is_kept_for, machines_of_kept
from fairlap.plan.outdated_crd import STEERING
from fairlap.queue.summary import held_place
from fairlap.runtime.beside.last_word import remove_children
from fairlap.runtime.loop.announce import announcements, phase_words
from fairlap.runtime.loop.driven_kind import DrivenKind
from fairlap.runtime.loop.reconcile_loop import ReconcileLoop
from fairlap.runtime.reconcilers.look import ChildIndexes, build_seen, look_at
from fairlap.runtime.reconcilers.perform import perform


@dataclass
class BenchmarkReconciler(ReconcileLoop[BenchmarkStatus, Seen, Plan]):
    """Drives one Benchmark from its first sight to its end."""

    kind: ClassVar[DrivenKind[BenchmarkStatus]] = DrivenKind(
        name=KIND,
        spec=BenchmarkSpec.__name__,
        steering=STEERING,
        held=held_place,
        waits_for_events=lambda status: not status.step,
        to_confirm=lambda status: ("children",) if status.step else (),
        announcements=announcements,
        phase_words=phase_words,
    )
    indexes: ChildIndexes
    refusal: Refusal | None = None
    hindrance: str = ""
    """a quota's refusal, as a sentence"""
    events_unread_since: float = 0.0
    """since when Kubernetes' events about evictions could not be listed; 0 while they can"""
    taken_up: datetime = field(default_factory=lambda: datetime.now(UTC))

    def _see(self, there: Json) -> Seen:
        return build_seen(there, self.indexes, self.operator.settings, datetime.now(UTC))

    def _see_more(self, seen: Seen) -> Seen:
        children = replace(seen.children, foreign=self.foreign or self.hindrance)
        pruned = self.writer.unstored.fields
        seen = replace(seen, children=children, refusal=self.refusal, taken_up=self.taken_up, pruned=pruned)
        turn, check_turn = self.operator.places.turn(self.uid), self.operator.places.turn(self.uid, "check")
        kept, siblings = self.operator.kept(), self.operator.places.siblings(self.uid)
        strange = {uid: name for uid, name in kept.items() if uid not in siblings}
        beside = frozenset(kept.keys() & siblings)
        seen = replace(seen, turn=turn, check_turn=check_turn, kept=strange, beside=beside)
        seen = replace(seen, kept_for_it=is_kept_for(turn.led_by, seen.subject.spec.target, seen.subject.namespace))
        seen = replace(seen, in_block=self.operator.is_in_block(self.uid), kept_on=self._kept_on(seen.subject))
        seen = replace(seen, lost_place=self.operator.places.has_lost_place(self.uid))
        ours = {self.uid, self.operator.places.leader(self.uid, seen.subject.namespace)}
        strangers = self.operator.places.strangers(self.uid, seen.subject.namespace)
        others = self.operator.places.holders() - ours
        return replace(seen, others_race=bool(others), strangers_race=bool(strangers))

    def _kept_on(self, subject: Subject) -> tuple[str, ...]:
        leader = self.operator.places.leader(self.uid, subject.namespace) if subject.spec.target else ""
        races = self.operator.races.led_by(leader, subject.namespace)
        built_on = {name: race.elasticsearch_on for name, race in races.items()}
        return machines_of_kept(subject.spec.target, subject.namespace, built_on)

    async def _look_at(self, what: BenchmarkLook, seen: Seen) -> Seen:
        try:
            found = await look_at(what, seen, self._api_server, self.operator.prometheus, self._enter_large_records)
        except ApiError as error:
            if what != "evictions" or not self._are_events_given_up():
                raise
            # They only name the cause: pods and the race's record say themselves whether a node was lost.
            self.logger.warning("whether a pod was evicted is not known, since events were not listed: %s", error)
            return replace(seen, evictions={})
        if what == "evictions":
            self.events_unread_since = 0.0
        return found

    def _are_events_given_up(self) -> bool:
        """Take in that events could not be listed; return whether that is so for too long to wait for them."""
        now = time.monotonic()
        self.events_unread_since = self.events_unread_since or now
        return now - self.events_unread_since >= self.operator.settings.cleanup_seconds

    async def _enter_large_records(self) -> None:
        await self._enter(self.operator.large_records)

    async def _plan(self, seen: Seen) -> Plan:
        # What many races of a fine search say takes seconds, which are nobody else's: the Lease is to be renewed.
        return await asyncio.to_thread(plan, seen) if seen.records else plan(seen)

    async def _before_write(self, seen: Seen, todo: Plan) -> None:
        pass  # what it does, it says first

    def _set_down(self, seen: Seen, todo: Plan) -> Seen:
        return seen  # no act follows from a record, but a status first

    async def _perform(self, seen: Seen, todo: Plan) -> str:
        if todo.create or todo.delete or todo.start_job:
            await self.writer.wait_until_allowed()
        foreign, self.hindrance = await perform(self._api_server, seen, todo), ""
        return foreign

    def _retry_seconds(self, seen: Seen, error: ApiError) -> float | None:
        known, self.hindrance = self.hindrance, error.quota_words or self.hindrance
        # A full quota, too, is tried again as any other failure, once it was told.
        return 0 if self.hindrance and not known else None

    def _is_news(self, refusal: str) -> bool:
        before, self.refusal = self.refusal, Refusal("request", refusal)
        return before != self.refusal

    def _has_written(self, before: BenchmarkStatus, after: BenchmarkStatus) -> None:
        if after.step != before.step:
            self.foreign, self.refusal, self.hindrance = "", None, ""
            self.events_unread_since = 0.0

    def _has_ended(self, last_status: Mapping[str, Any]) -> None:
        pass  # its phase is counted as long as it is there

    async def _remove_children(self) -> list[str]:
        return await remove_children(self._api_server, self.body["metadata"]["namespace"], self.uid)
