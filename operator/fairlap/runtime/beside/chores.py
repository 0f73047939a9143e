"""What is done for Benchmarks beside their races, even when they are over: none changes a record, old ones are removed.

Each chore is a task that begins when its Benchmark is seen to need it and can be begun again by any other operator.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from fairlap.api.base import Json
from fairlap.api.kinds import ELASTICSEARCH, JOB
from fairlap.api.names import COMPARISON_KIND, KIND, UID_LABEL
from fairlap.api.phases import is_over
from fairlap.kube.api_error import ApiError
from fairlap.kube.api_server import ApiServer
from fairlap.kube.backoff import doubled
from fairlap.plan.basis.conditions import moment, stamp
from fairlap.plan.basis.deadline import is_ahead
from fairlap.plan.comparison.kept_clusters import still_needs_cluster
from fairlap.plan.lifetimes import expiry, rerun, rerun_history
from fairlap.plan.lifetimes.keep import has_kept_cluster, kept_until
from fairlap.queue.summary import leader_uid
from fairlap.runtime.beside.last_word import REMOVED, Doing, count_unforeseen, delete_children
from fairlap.runtime.objects.ownership import owner_uid
from fairlap.runtime.objects.project import bounded_copy, ended_run
from fairlap.runtime.objects.reads import find_run, list_children
from fairlap.runtime.objects.writes import annotate, create_if_free
from fairlap_race.contract.some_of import some_of

log = logging.getLogger(__name__)
Work = Callable[[Json], Coroutine[Any, Any, None]]
_LOOK_AGAIN_SECONDS = 300.0
_LOOK_AT_COMPARISON_SECONDS = 10.0
MOST_NAMES: Final = 5
"""of objects that are told in an event"""
_TOGETHER_SECONDS = 2.0
"""At a start all runs of a kind are seen at once, and one look at their history is enough."""
PostEvent = Callable[[Mapping[str, Any], str, str, str], None]
"""posts an event: about what, type, reason, message"""


@dataclass
class Chores:
    """The tasks that run, by Benchmark and kind."""

    post_event: PostEvent
    connection: Callable[[], ApiServer]
    clusters_of: Callable[[str, str], list[Json]]
    """the Elasticsearch objects of a Benchmark by its namespace and uid, as last seen"""
    names_in: Callable[[str], set[str]]
    """the names of the Benchmarks in a namespace, as last seen"""
    left_of: Callable[[str, str], list[Json]] = lambda *_: []
    """the clusters and Jobs of a Benchmark that nobody has deleted, by its namespace and uid, as last seen"""
    _tasks: dict[tuple[str, str], asyncio.Task[None]] = field(default_factory=dict)
    _began: datetime = field(default_factory=lambda: datetime.now(UTC))

    def look(self, benchmark: Mapping[str, Any]) -> None:
        """Begin what a Benchmark needs and nobody does yet; what cannot be made sense of is counted and left alone."""
        now = datetime.now(UTC)
        needs: Iterable[tuple[Doing, Callable[[Mapping[str, Any]], object], Work]] = (
            ("keep", lambda benchmark: kept_until(benchmark, now), self._remove_kept),
            ("leftover", self._find_leftover, self._remove_leftover),
            ("expire", lambda benchmark: expiry.is_due(benchmark, now), self._expire),
            ("rerun", rerun.requested_value, self._rerun),
            ("history", rerun_history.limited_history, self._limit_history),
        )
        for kind, need, work in needs:
            try:
                if need(benchmark) is not None:
                    self._begin(expiry.summary_for_expiry(benchmark) if kind == "expire" else benchmark, kind, work)
            except Exception:  # who called has others to look after
                count_unforeseen(kind)
                log.exception("%s of %s was left alone", kind, benchmark["metadata"]["name"])

    def forget(self, uid: str) -> None:
        """End what was begun for a Benchmark that is gone: its cluster goes with it."""
        for key in [key for key in self._tasks if key[0] == uid]:
            self._tasks[key].cancel()

    def running(self) -> list[asyncio.Task[None]]:
        """Return the chores that are not done yet."""
        return list(self._tasks.values())

    async def stop(self) -> None:
        """End everything; another operator begins it again."""
        tasks = self.running()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, benchmark: Mapping[str, Any], kind: str, work: Work) -> None:
        meta = benchmark["metadata"]
        about = f"{meta['namespace']}/{rerun.first_name(benchmark)}" if kind == "history" else str(meta["uid"])
        key = (about, kind)
        if key in self._tasks:
            return
        # A rerun that was refused is not made anew: the run that it made may have been deleted meanwhile.
        doing = do_patiently(work, bounded_copy(benchmark), again=kind != "rerun")
        task = asyncio.create_task(doing, name=f"{kind} {key[0]}")
        self._tasks[key] = task
        task.add_done_callback(lambda _: self._tasks.pop(key, None))

    def _find_leftover(self, benchmark: Mapping[str, Any]) -> Json | None:
        """Return something that a Benchmark which is over has left and does not keep; None where there is nothing."""
        meta = benchmark["metadata"]
        left = self.left_of(meta["namespace"], meta["uid"]) if is_over(benchmark) else []
        kept = self.clusters_of(meta["namespace"], meta["uid"]) if left and has_kept_cluster(benchmark) else []
        return next((each for each in left if each not in kept), None)

    async def _remove_leftover(self, benchmark: Json) -> None:
        """Delete what could not be deleted in time for the end of a Benchmark. Raises ApiError while it cannot be."""
        meta = benchmark["metadata"]
        kinds = (JOB.kind,) if has_kept_cluster(benchmark) else REMOVED
        found = await delete_children(self.connection(), meta["namespace"], meta["uid"], kinds)
        if names := [name for name, deleted_now in found.items() if deleted_now]:
            words = f"deleted what its end had left: {some_of(names, MOST_NAMES)}"
            self.post_event(benchmark, "Normal", "LeftoverRemoved", words)

    async def _remove_kept(self, benchmark: Json) -> None:
        due = kept_until(benchmark, datetime.now(UTC))
        if due is None:
            return
        if leader_uid(benchmark):
            await self._wait_for_comparison(benchmark, due)
        else:
            due = await _wait_for(benchmark, kept_until) or due
        for there in await self._kept_clusters(benchmark, due):
            if not there["metadata"].get("deletionTimestamp"):
                await self.connection().delete(ELASTICSEARCH.kind, there)
                name = there["metadata"]["name"]
                self.post_event(benchmark, "Normal", "ClusterRemoved", f"the time to keep the cluster {name} is over")

    async def _kept_clusters(self, benchmark: Json, due: datetime) -> list[Json]:
        """Return the clusters of a Benchmark as the API server has them: a watch may be blind. Raises ApiError.

        Of thousands whose time was over before the start none is asked for: the first lists have what is left.
        """
        namespace, uid = benchmark["metadata"]["namespace"], benchmark["metadata"]["uid"]
        if due < self._began:
            return self.clusters_of(namespace, uid)
        try:
            return await list_children(self.connection(), ELASTICSEARCH.kind, namespace, uid)
        except ApiError as error:
            if error.status != 404:  # as where ECK is not there any more
                raise
            return []

    async def _wait_for_comparison(self, benchmark: Json, due: datetime) -> None:
        """Wait until the Comparison that keeps a cluster needs it no more. Raises ApiError."""
        while datetime.now(UTC) < due:
            there = await self._comparison_of(benchmark)
            if there is None or not still_needs_cluster(there, benchmark["metadata"]["name"]):
                return
            await asyncio.sleep(_LOOK_AT_COMPARISON_SECONDS)

    async def _expire(self, benchmark: Json) -> None:
        due = await _wait_for(benchmark, expiry.expires_at)
        if due is None:
            return
        api_server, meta = self.connection(), benchmark["metadata"]
        while True:
            found = await find_run(api_server, KIND, meta["namespace"], meta["name"])
            if found is None or found["metadata"]["uid"] != meta["uid"]:
                return
            if expiry.is_due(found, datetime.now(UTC)) is None:
                return
            if not await self._is_compared_yet(found):
                break
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        try:
            await self._remove_records(found, due)
        except ApiError as error:
            if not error.forbidden:
                raise
            text = f"{error.message}; install the operator with rbac.deleteExpired=true"
            self.post_event(found, "Warning", "ExpiryForbidden", text)

    async def _is_compared_yet(self, benchmark: Json) -> bool:
        """Return whether a Comparison that has not ended controls the Benchmark. Raises ApiError."""
        there = await self._comparison_of(benchmark)
        return there is not None and not is_over(there)

    async def _comparison_of(self, benchmark: Json) -> Json | None:
        """Return the Comparison that controls the Benchmark; None when none does, or it is gone. Raises ApiError."""
        uid, meta = leader_uid(benchmark), benchmark["metadata"]
        name = next((each["name"] for each in meta.get("ownerReferences") or () if uid and each["uid"] == uid), "")
        there = await find_run(self.connection(), COMPARISON_KIND, meta["namespace"], name) if name else None
        return there if there is not None and there["metadata"]["uid"] == uid else None

    async def _remove_records(self, benchmark: Json, due: datetime) -> None:
        api_server, meta = self.connection(), benchmark["metadata"]
        if expiry.takes_benchmark(benchmark):
            await api_server.delete(KIND, benchmark)  # and with it, by their owner, its records
            return
        for kind in ("ConfigMap", "Job"):
            query = {"labelSelector": f"{UID_LABEL}={meta['uid']}"}
            for there in await api_server.list_metadata(kind, (meta["namespace"],), query):
                if owner_uid(there) == meta["uid"]:
                    await api_server.delete(kind, there)
        # Said last: until then any operator begins it again.
        await annotate(api_server, benchmark, {expiry.EXPIRED: stamp(due)})
        self.post_event(benchmark, "Normal", "Expired", "the time of its records is over: they are removed")

    async def _rerun(self, benchmark: Json) -> None:
        api_server, meta = self.connection(), benchmark["metadata"]
        taken = set[str]()
        while True:
            found = await find_run(api_server, KIND, meta["namespace"], meta["name"])
            value = rerun.requested_value(found) if found and found["metadata"]["uid"] == meta["uid"] else None
            if found is None or value is None:
                return
            if refused := rerun.objection(found):
                await self._refuse_rerun(found, value, refused)
                return
            upcoming = rerun.announced(found, value)
            if upcoming is None and await self._has_run(found, value):
                await annotate(api_server, found, {rerun.DONE: value})
                return
            if upcoming is None:
                name = rerun.free_name(rerun.first_name(found), self.names_in(meta["namespace"]))
                upcoming = rerun.Next(value, name)
                said = await annotate(api_server, found, {rerun.SAID: upcoming.to_text()})
                found = {**found, "metadata": said["metadata"]}
            await self._run_again(found, upcoming, taken)

    async def _refuse_rerun(self, benchmark: Json, value: str, words: str) -> None:
        self.post_event(benchmark, "Warning", "RerunRefused", words)
        await annotate(self.connection(), benchmark, {rerun.DONE: value})

    async def _has_run(self, benchmark: Json, value: str) -> bool:
        """Return whether there is the run that this value asked for: a replace removes what was noted. Raises ApiError.

        Nobody can tell of one that was deleted meanwhile, too.
        """

        def made(run: Json) -> Json | None:
            return {} if rerun.was_made_for(run, benchmark, value) else None

        query = {"labelSelector": f"{rerun.OF}={rerun.first_name(benchmark)}"}
        return bool(await self.connection().list_objects(KIND, benchmark["metadata"]["namespace"], query, made))

    async def _limit_history(self, benchmark: Json) -> None:
        await asyncio.sleep(_TOGETHER_SECONDS)
        api_server, query = self.connection(), {"labelSelector": f"{rerun.OF}={rerun.first_name(benchmark)}"}
        runs = await api_server.list_objects(KIND, benchmark["metadata"]["namespace"], query, ended_run)
        for there in rerun_history.surplus(runs, datetime.now(UTC)):
            try:
                await api_server.delete(KIND, there)  # and with it, by their owner, its records
            except ApiError as error:
                if not error.forbidden:
                    raise
                text = f"{error.message}; install the operator with rbac.deleteExpired=true"
                self.post_event(benchmark, "Warning", "HistoryLimitForbidden", text)
                return
            words = f"{there['metadata']['name']} and its records are removed: rerunHistoryLimit keeps newer ones"
            self.post_event(benchmark, "Normal", "HistoryLimited", words)

    async def _run_again(self, benchmark: Json, upcoming: rerun.Next, taken: set[str]) -> None:
        """Create the next run, or say another name where that is taken; `taken`: the names found so, and that one.

        Events may not tell of any: without these, two that are taken would be tried in turn for ever.
        """
        api_server, meta = self.connection(), benchmark["metadata"]
        try:
            created: Json | None = await create_if_free(api_server, rerun.manifest(benchmark, upcoming))
        except ApiError as error:
            if not error.final:
                raise
            await self._refuse_rerun(benchmark, upcoming.value, f"{upcoming.name} was refused: {error.message}")
            return
        if created is None:
            created = await find_run(api_server, KIND, meta["namespace"], upcoming.name)
            if created is None:  # the name is free: a quota was counted anew just then, or what had the name has gone
                raise ApiError(409, f"Benchmark {upcoming.name} was not created, and nothing has its name")
            if not rerun.was_made_for(created, benchmark, upcoming.value):
                # The name was taken by somebody else meanwhile: say another one.
                taken.add(upcoming.name)
                there = {*self.names_in(meta["namespace"]), *taken}
                another = rerun.Next(upcoming.value, rerun.free_name(rerun.first_name(benchmark), there))
                await annotate(api_server, benchmark, {rerun.SAID: another.to_text()})
                return
        await annotate(api_server, benchmark, {rerun.DONE: upcoming.value})
        self.post_event(benchmark, "Normal", "Rerun", f"Benchmark {upcoming.name} runs the same again")
        self.post_event(
            created, "Normal", "RerunOf", f"the same as Benchmark {meta['name']}, asked for by its annotation"
        )


async def _wait_for(benchmark: Json, due_at: Callable[[Json, datetime], datetime | None]) -> datetime | None:
    """Wait until a time after the end of a Benchmark; return it, None when there is none."""
    due = due_at(benchmark, datetime.now(UTC))
    if due is None:
        return None
    await _wait_until(due)
    now = datetime.now(UTC)
    if not is_ahead(moment(benchmark["status"]["completionTime"]), now):
        # It may have been our own clock that was wrong when this began.
        due = due_at(benchmark, now) or due
        await _wait_until(due)
    return due


async def _wait_until(due: datetime) -> None:
    # A wall clock can be set, so a long wait is made of short ones.
    while (left := (due - datetime.now(UTC)).total_seconds()) > 0:  # noqa: ASYNC110 - nobody tells when it is late
        await asyncio.sleep(min(left, _LOOK_AGAIN_SECONDS))


async def do_patiently(work: Work, benchmark: Json, *, again: bool) -> None:
    """Do the work until it is done, whatever goes wrong with the API server.

    `again`: even what was refused, for a webhook or a policy may change its mind.
    """
    failures, told = 0, False
    while True:
        try:
            await work(benchmark)
        except ApiError as error:
            if error.final and not again:
                log.warning("given up for %s: %s", benchmark["metadata"]["name"], error)
                return
            pause = _LOOK_AGAIN_SECONDS if error.final else doubled(0.5, failures, 30.0)
            if not error.final:
                log.info("again in %.0f s: %s", pause, error)
                failures += 1
            elif not told:
                log.warning("refused for %s, again every %.0f s: %s", benchmark["metadata"]["name"], pause, error)
                told = True
            await asyncio.sleep(pause * random.uniform(0.7, 1.3))  # noqa: S311 - jitter, not a secret
        except Exception:  # else asyncio would tell of it only when the task is thrown away
            count_unforeseen("chore")
            log.exception("given up for %s", benchmark["metadata"]["name"])
            return
        else:
            return
