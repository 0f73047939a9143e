"""Looks at Elasticsearch between two steps of the schedule, from within Rally's driver, while no request is measured.

At that moment all of Rally's clients have ended their tasks and wait until the driver starts the next ones. So nothing
that is asked here is measured, and what is found belongs to the step that has just ended. The runner writes what to ask
into one file, and reads what was found from another: a JSON object a line.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairlap_race.contract.codec import decode, encode
from fairlap_race.contract.recorded.cluster_course import TaskCaches
from fairlap_race.contract.recorded.request_evidence import AFTER, BEFORE, RequestEvidence, SearchAnswer, StepCounters
from fairlap_race.contract.request_files.planned_search import PlannedSearch
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.elasticsearch.request_counters import (
    RequestCounters,
    ask_counters,
    ask_shards,
    caches_between,
    queries_between,
    rejected_between,
)
from fairlap_race.elasticsearch.search_answers import described, send_search

PLAN, FOUND = "looks.json", "looks.jsonl"
PATIENCE = 180.0
"""Seconds for all searches after one step: then the race goes on, and what was not asked is said."""
MOST_ANSWERS, MOST_STEPS = 400, 1000
"""That are kept of one race."""
_LONGEST_TROUBLE = 300


@dataclass(frozen=True)
class LookPlan:
    """What to ask, and where; passwords stay in their files."""

    hosts: tuple[str, ...] = ()
    user: str = ""
    password_file: Path | None = None
    api_key_file: Path | None = None
    certificate_file: Path | None = None
    certificate_key_file: Path | None = None
    ca_file: Path | None = None
    tls: bool = False
    searches: tuple[PlannedSearch, ...] = ()
    search_tasks: tuple[str, ...] = ()
    bulk_tasks: tuple[str, ...] = ()
    not_looked_at: Mapping[str, str] = field(default_factory=dict)
    """by task: why its search is not among `searches`"""
    before: bool = False
    """send each search before its step, too"""


ShardsByTask = Mapping[str, dict[str, int] | None]
"""By task: to how many shards of which index its searches go; None where that is not known."""


class StepLooks:
    """Looks after each step that searches, sends bulks, or sends raw requests of which searches are known."""

    def __init__(
        self, plan: LookPlan, client: ElasticsearchClient, found: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._plan = plan
        self._client = client
        self._found = found
        self._clock = clock
        self._by_task: dict[str, list[PlannedSearch]] = {}
        for search in plan.searches:
            self._by_task.setdefault(search.task, []).append(search)
        self._last: RequestCounters | None = None
        self._trouble = ""
        self._places: ShardsByTask = {}
        self._kept = 0

    @staticmethod
    def planned(directory: Path) -> StepLooks | None:
        """Return what the plan in `directory` asks for; None when there is none, or nothing can be asked."""
        try:
            plan = decode(LookPlan, json.loads((directory / PLAN).read_text(encoding="utf-8")))
            files = plan.certificate_file, plan.certificate_key_file
            client = ElasticsearchClient(
                plan.hosts, plan.user, plan.password_file, plan.ca_file, plan.tls, api_key_file=plan.api_key_file,
                certificate=(files[0], files[1]) if files[0] and files[1] else None,
            )  # fmt: skip
        except (OSError, ValueError):
            return None
        return (
            StepLooks(plan, client, directory / FOUND)
            if plan.searches or plan.search_tasks or plan.bulk_tasks
            else None
        )

    def look(self, step: int, ended: Iterable[str], next_ones: Iterable[str]) -> None:
        """Look at what the tasks `ended` of a step (1-based; 0 before the first) did, and what is before the next."""
        ended = tuple(ended)
        searched, wrote = self._in_both(ended, self._plan.search_tasks), self._in_both(ended, self._plan.bulk_tasks)
        asked, coming = self._in_both(ended, self._by_task), self._in_both(next_ones, self._by_task)
        counted = self._in_both(next_ones, (*self._plan.search_tasks, *self._plan.bulk_tasks, *self._by_task))
        now = self._counters() if searched or wrote or asked or counted else None
        places = {task: self._shards_of(task) for task in {*searched, *asked, *coming}}
        if searched or wrote or asked:
            self._write("counters", self._grown(step, searched, asked, wrote, now, places))
        if len(ended) == 1 and (searched or wrote or asked) and self._last and now:
            caches = caches_between(self._last, now, ended[0])
            if caches is not None:
                self._write("caches", caches)
        sent = self._send(asked, AFTER, now, places)
        if self._plan.before:
            sent += self._send(coming, BEFORE, now, places)
        self._last = self._counters() if sent and counted else now
        self._places = {task: places[task] for task in coming}

    @staticmethod
    def _in_both(tasks: Iterable[str], known: Iterable[str]) -> list[str]:
        return sorted(set(tasks) & set(known))

    def _counters(self) -> RequestCounters | None:
        try:
            return ask_counters(self._client)
        except ElasticsearchError as error:
            self._trouble = str(error)[:_LONGEST_TROUBLE]
            return None

    def _grown(
        self,
        step: int,
        searched: list[str],
        asked: list[str],
        wrote: list[str],
        now: RequestCounters | None,
        places: ShardsByTask,
    ) -> StepCounters:
        others = [task for task in asked if task not in searched]
        known = {
            task: [it for it in (self._places.get(task), places[task]) if it is not None]
            for task in (*searched, *others)
        }
        found = StepCounters(
            step=step,
            searches=tuple(searched),
            shards={task: max(sum(it.values()) for it in each) for task, each in known.items() if each},
            bulks=tuple(wrote),
            others=tuple(others),
        )
        if self._last is None or now is None:
            return replace(found, trouble=self._trouble or "they were not read before it")
        # What a task searches that does not say so may be anywhere: nothing is said of its step.
        everywhere = bool(searched) and all(known[task] for task in searched)
        indices = {name for task in searched for it in known[task] for name in it}
        writes, searches = rejected_between(self._last, now)
        queries = queries_between(self._last, now, indices) if everywhere else None
        anywhere = queries_between(self._last, now, {*self._last.queries, *now.queries})
        trouble = ""
        if writes is None or searches is None:
            trouble = "a node came, went or began anew" if now.rejected else "these nodes have no such counters"
        rejected = replace(found, writes_rejected=writes, searches_rejected=searches, trouble=trouble)
        return replace(rejected, queries=queries, anywhere=anywhere)

    def _shards_of(self, task: str) -> dict[str, int] | None:
        found: dict[str, int] = {}
        for index, path in dict.fromkeys((it.index, it.path) for it in self._by_task.get(task, ())):
            # A colon stands before what is on another cluster.
            if index is None or ":" in index:
                return None
            try:
                found |= ask_shards(self._client, index, path)
            except ElasticsearchError:
                return None
        return found if task in self._by_task else None

    def _send(self, tasks: list[str], when: str, now: RequestCounters | None, places: ShardsByTask) -> int:
        """Send the searches of `tasks` and write down their answers; return how many were sent."""
        limit, sent = self._clock() + PATIENCE, 0
        for search in (it for task in tasks for it in self._by_task[task]):
            found = places[search.task]
            if self._kept >= MOST_ANSWERS:
                break
            settled = now is not None and found is not None and not any(now.waiting.get(name, 1) for name in found)
            if self._clock() > limit:
                late = f"the searches before it took longer than {PATIENCE:.0f} s"
                answer = SearchAnswer(**described(search, when, settled=False), trouble=late)
            else:
                answer, sent = send_search(self._client, search, when, settled=settled), sent + 1
            self._write("answer", answer)
            self._kept += 1
        return sent

    def _write(self, kind: str, what: StepCounters | SearchAnswer | TaskCaches) -> None:
        with self._found.open("a", encoding="utf-8") as out:
            out.write(json.dumps({kind: encode(what)}) + "\n")


def read_found(lines: Iterable[str], plan: LookPlan) -> RequestEvidence:
    """Return what was found, from the lines of its file; a last line that was cut off is ignored."""
    steps, answers, caches = list[StepCounters](), list[SearchAnswer](), list[TaskCaches]()
    for line in lines:
        try:
            data: Any = json.loads(line)
        except ValueError:
            continue
        if "counters" in data and len(steps) < MOST_STEPS:
            steps.append(decode(StepCounters, data["counters"]))
        elif "answer" in data:
            answers.append(decode(SearchAnswer, data["answer"]))
        elif "caches" in data and len(caches) < MOST_STEPS:
            caches.append(decode(TaskCaches, data["caches"]))
    return RequestEvidence(tuple(steps), tuple(answers[:MOST_ANSWERS]), plan.not_looked_at, tuple(caches))
