"""What is kept of the Benchmarks that Comparisons control: only what decisions about a Comparison read."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from fairlap.api.raw import as_list, as_mapping
from fairlap.api.status import PlannedTask
from fairlap.plan.comparison.comparison_seen import SeenRace
from fairlap.queue.summary import leader_uid
from fairlap.runtime.beside.slow_deletions import is_collected
from fairlap_race.contract.specification.turns import is_address

Body = Mapping[str, Any]


class Races:
    """The Benchmarks of all Comparisons, by the uids of both."""

    def __init__(self) -> None:
        self._led: defaultdict[str, dict[str, tuple[str, SeenRace]]] = defaultdict(dict)
        self._leaders: dict[str, str] = {}

    def observe(self, benchmark: Body) -> None:
        """Take in what an event shows of a Benchmark."""
        meta, leader = benchmark["metadata"], leader_uid(benchmark)
        uid = str(meta["uid"])
        if self._leaders.get(uid, "") != leader:
            self.remove(uid)
        if leader:
            self._leaders[uid] = leader
            self._led[leader][uid] = str(meta["namespace"]), seen_race(benchmark)

    def remove(self, uid: str) -> None:
        """Take out a Benchmark that is gone."""
        leader = self._leaders.pop(uid, "")
        if leader and not (self._led[leader].pop(uid, None) and self._led[leader]):
            del self._led[leader]

    def led_by(self, uid: str, namespace: str) -> dict[str, SeenRace]:
        """Return the Benchmarks of a Comparison by name: those in its own namespace."""
        return {race.name: race for where, race in self._led.get(uid, {}).values() if where == namespace}


def seen_race(benchmark: Body) -> SeenRace:
    """Return what a decision about its Comparison may look at of a Benchmark, whatever its status holds."""
    meta, spec, status = benchmark["metadata"], as_mapping(benchmark.get("spec")), as_mapping(benchmark.get("status"))

    def text(of: Body, key: str) -> str:
        return str(of.get(key) or "")

    races = as_list(status.get("races"))
    last = as_mapping(races[-1]) if races else {}
    step = as_mapping(status.get("step"))
    place = step if step.get("meetsAt") else last
    meets_at = text(step, "meetsAt")
    return SeenRace(
        name=str(meta["name"]),
        uid=str(meta["uid"]),
        phase=text(status, "phase"),
        progress=text(status, "progress"),
        reason=text(status, "reason"),
        message=text(status, "message"),
        field=text(status, "field"),
        suspended=bool(spec.get("suspend")) and text(status, "phase") in ("", "Pending"),
        created=text(meta, "creationTimestamp"),
        ended=text(status, "completionTime"),
        deleted=text(meta, "deletionTimestamp") if is_collected(benchmark) else "",
        elasticsearch_on=tuple(map(str, as_list(place.get("elasticsearchOn")))),
        load_generator_on=text(place, "loadGeneratorOn"),
        meets_at=meets_at if is_address(meets_at) else "",
        # Another one's check says the same of all races that follow it.
        tasks=() if spec.get("checkedBy") else tuple(_planned_tasks(status.get("tasks"))),
        gave_way=bool(status.get("gaveWay")),
        processors_refused=as_mapping(status.get("nodeProcessors")).get("refused") is True,
    )


def _planned_tasks(listed: Any) -> Iterator[PlannedTask]:
    for each in as_list(listed):
        with suppress(ValidationError):
            yield PlannedTask.model_validate(each)
