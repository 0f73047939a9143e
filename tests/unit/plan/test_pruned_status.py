"""Whatever field of the status is not stored: a Benchmark's life is the same without it, or it waits for the CRD."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pydantic import ValidationError
from test_room import without_machine
from world import START, cluster, good_record, later, pod, progress, seen, spec

from fairlap.api.phases import OVER
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.conditions import stamp
from fairlap.plan.basis.seen import Children, Plan, Seen
from fairlap.plan.basis.steps import builds_cluster
from fairlap.plan.benchmark import plan
from fairlap.plan.outdated_crd import field_paths, lost_fields, steers, without
from fairlap.plan.verdict.existing_cluster import race_image
from fairlap.queue.summary import summarize
from fairlap.queue.turn import Turn
from fairlap.runtime.objects.writes import status_json
from fairlap.settings import Settings
from fairlap_race.contract.index_settings import CODEC
from fairlap_race.contract.recorded.record import EnvironmentRecord, Record, TargetReport

Json = dict[str, Any]
OWN = {"race": {"params": {"bulk_size": 100}}, "elasticsearch": {"index": {"codec": "default"}}}
ON_TARGET = {"target": {"hosts": ["es.example.com:9200"]}, "race": {"track": {"builtin": "log_ingest"}}}
ONLY_SHOWN = ("results", "environment", "resources", "noise")
"""numbers and evidence: written again from all records after each race, and lost as a whole or in parts alike"""


@dataclass
class Life:
    """One Benchmark and its world, from the first look to its end; nothing in it is random."""

    of: BenchmarkSpec
    pruned: frozenset[str] = frozenset()
    room_after: float = 0.0
    """seconds until there is a machine for an Elasticsearch pod"""
    keys: frozenset[str] = frozenset({"track.json"})
    lose: str = ""
    """the step whose Job vanishes"""
    waits: bool = False
    """whether it waits for the CRD, and nothing goes on"""
    status: BenchmarkStatus = field(default_factory=BenchmarkStatus)
    done: list[Any] = field(default_factory=list)
    """what was made and started, and each change of what the queue sees"""
    written: set[str] = field(default_factory=set)
    """all fields that its statuses ever had"""
    mine: Children = field(default_factory=Children)

    def live(self) -> "Life":
        queued: Any = None
        for number in range(1200):
            look, stored = self._look(later(seconds=5 * number)), status_json(self.status)
            todo = self._plan(look)
            upcoming = status_json(todo.status)
            if without(upcoming, self.pruned) == without(stored, self.pruned):
                self._act(look, todo)
                self._move(number * 5)
                continue
            self.written |= field_paths(upcoming)
            kept = without(upcoming, self.pruned)
            if steers(lost_fields(upcoming, kept)):
                self.waits = True
                return self
            before, self.status = self.status.step, BenchmarkStatus.model_validate(kept)
            if (self.status.step and self.status.step.name) != (before and before.name):
                self.mine = Children()
            meta = {"uid": "u", "namespace": "ns", "name": "bm", "creationTimestamp": stamp(START)}
            found = summarize({"metadata": meta, "spec": self.of.to_json(), "status": kept})
            sees = (found.since != stamp(START), found.admitted, found.lines_up, found.checks, found.awaits_check)
            if sees != queued:
                self.done.append(("queue", queued := sees))
            if self.status.phase in OVER:
                self.done.append((self.status.phase, self.status.reason))
                return self
        self.done.append("never ends")
        return self

    def _look(self, now: Any) -> Seen:
        wanted = Turn(may_go=True, wanted=stamp(START))
        settings = Settings(race_image="main", race_images={"2.3": "older"}, jdk_images={})
        return seen(self.status, self.of, children=self.mine, now=now, turn=wanted, settings=settings)

    def _plan(self, look: Seen) -> Plan:
        while (todo := plan(look)).look:
            asked = todo.look[0]
            found = {"warnings": (), "records": self._records(), "track_keys": self.keys, "confirmed": True}
            name = {"track": "track_keys", "children": "confirmed"}.get(str(asked), str(asked))
            look = replace(look, **{name: found[name]})  # type: ignore[arg-type]
        return todo

    def _records(self) -> Mapping[str, Record | None]:
        good = {name: good_record(name) for name in ("race-1", "race-2")} | {"smoke": good_record("race-1")}
        check = good_record("check")
        on_nodes = {CODEC: ""}
        track = replace(check.track, services=("ml",), revision="c0ffee", passed_as=on_nodes)
        probe = Record(environment=EnvironmentRecord(version="6.0.0", nodes=check.environment.nodes),
                       target=TargetReport(cluster_name="c", cluster_uuid="u"))  # fmt: skip
        found = {**good, "check": replace(check, track=track), "probe": probe}
        over = self.mine.progress == progress("done")
        return found if over or not self.status.step else {**found, self.status.step.name: None}

    def _act(self, look: Seen, todo: Plan) -> None:
        step, status = self.status.step, self.status
        if step is None:
            return
        for what in todo.create:
            if what == "elasticsearch":
                given = (status.node_settings, status.track_services, status.node_processors)
                self.done.append((step.name, what, str(given[:2]), given[2] and (given[2].cpu, given[2].whole)))
                self.mine = replace(self.mine, elasticsearch=cluster(phase="ApplyingChanges"))
            if what == "job":
                self.done.append((step.name, what, race_image(status, look.settings), status.track_revision))
                made = {"metadata": {"uid": f"j-{step.name}"}, "spec": {"suspend": True}, "status": {}}
                self.mine = replace(self.mine, job=made)
        if todo.start_job and self.mine.job:
            self.done.append((step.name, "runs"))
            self.mine = replace(self.mine, job={**self.mine.job, "spec": {"suspend": False}})
        if "elasticsearch" in todo.delete:
            self.mine = replace(self.mine, elasticsearch=None, pods=(), ready_endpoints=0)
        if "job" in todo.delete:
            self.mine = replace(self.mine, job=None)

    def _move(self, seconds: float) -> None:
        step, mine = self.status.step, self.mine
        if step is None:
            return
        if mine.elasticsearch and builds_cluster(self.of, step.name):
            room = seconds >= self.room_after
            made = cluster() if room else cluster(phase="ApplyingChanges")
            pods = [pod("es-0") if room else without_machine("es-0")]
            self.mine = replace(mine, elasticsearch=made, pods=pods, ready_endpoints=int(room))
        if mine.job and not mine.job["spec"]["suspend"] and step.stage == "Running":
            gone = step.name == self.lose
            self.mine = replace(self.mine, **({"job": None} if gone else {"progress": progress("done")}))


LIVES: dict[str, tuple[Json, Json]] = {
    "good": ({**OWN, "repetitions": 2}, {}),
    "existing": ({**ON_TARGET, "smokeTest": False}, {}),
    "no room at first": ({"smokeTest": False}, {"room_after": 400.0}),
    "never room": ({"smokeTest": False}, {"room_after": 1e9}),
    "no track": ({"race": {"track": {"configMap": {"name": "t"}}}}, {"keys": frozenset()}),
    "lost": ({"repetitions": 2}, {"lose": "race-1"}),
}
ENDS = {
    "good": ("Succeeded", ""), "existing": ("Succeeded", ""), "no room at first": ("Succeeded", ""),
    "never room": ("Failed", "Unschedulable"), "no track": ("Failed", "TrackNotFound"), "lost": ("Failed", "JobLost"),
}  # fmt: skip


def life(name: str, pruned: str = "") -> Life:
    asked, world = LIVES[name]
    of = BenchmarkSpec.model_validate(asked) if "target" in asked else spec(**asked)
    return Life(of, frozenset({pruned} - {""}), **world).live()


@pytest.mark.parametrize("name", LIVES)
def test_a_life_is_the_same_without_what_does_not_steer(name: str) -> None:
    whole = life(name)
    assert whole.done[-1] == ENDS[name] and not whole.waits
    for path in sorted(whole.written):
        if path.partition(".")[0] in ONLY_SHOWN and "." in path:
            continue
        try:
            poorer = life(name, path)
        except ValidationError as error:
            pytest.fail(f"without {path} the status cannot be read: {error}")
        assert poorer.waits or poorer.done == whole.done, f"without {path} another life is led: mark it Steers()"
