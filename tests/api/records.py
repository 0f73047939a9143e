"""Plausible records of a race, as the runner would write them."""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.http_record import HostAnswers, HttpAnswers, HttpHost, HttpRecord
from fairlap_race.contract.recorded.record import (
    Counts,
    EnvironmentRecord,
    Fresh,
    IndexRecord,
    LoadGenerator,
    LoadGeneratorHost,
    Node,
    OtherLoad,
    Outcome,
    Pipeline,
    Rally,
    RallyNumbers,
    Record,
    Shard,
    TargetReport,
    Task,
    Throughput,
    Totals,
    Touch,
    Windows,
    timestamp,
)
from fairlap_race.contract.recorded.request_evidence import RequestEvidence, SearchAnswer
from fairlap_race.contract.recorded.track_record import TrackRecord, TrackTask
from fairlap_race.contract.specification.document_plan import DocumentPlan, UncountedTask, WhyUncounted
from fairlap_race.contract.specification.http_spec import HttpSpec
from fairlap_race.contract.specification.race_spec import RACED_AGAIN, REQUIRE_TASKS, Mode, RaceSpec
from fairlap_race.contract.specification.turns import TaskTurns
from fairlap_race.contract.watched_machines.machine_watch import MachineWatch, WatchedSpan
from fairlap_race.contract.watched_machines.resources import (
    ELASTICSEARCH,
    LOAD_GENERATOR,
    Machine,
    MachineTable,
    Sampler,
    TaskUsage,
    Usage,
    Volume,
    missing,
)
from fairlap_race.track.settings_passed import asked

DOCUMENTS = 100_000
TARGET: Mapping[str, Any] = {
    "metadata": {"name": "shop"},
    "spec": {
        "version": "8.11.0",
        "nodeSets": [{"name": "default", "count": 3, "podTemplate": {"spec": {"containers": []}}}],
    },
}
TASKS = (("bulk-index", "bulk", "docs/s"), ("search-request", "search", "ops/s"))


def record(
    spec: RaceSpec, elasticsearch: Mapping[str, Any] | None, started: float, host: LoadGeneratorHost, fault: str = ""
) -> Record:
    """Return what the runner would write for this spec and cluster; `fault` makes it a race that does not count."""
    now = time.time()
    common: dict[str, Any] = {
        "mode": spec.mode,
        "race_id": spec.race_id,
        "started_at": timestamp(started),
        "finished_at": timestamp(now),
        "track": _track(spec, "1" if fault == "track-changed" else "0"),
    }
    if spec.http and fault not in _OUTCOMES:
        return _over_http(spec, spec.http, common, host, now)
    if spec.target and not spec.http:
        elasticsearch = elasticsearch or TARGET
        touch = Touch("index", "access-logs", creates=True, deletes=True)
        common["target"] = TargetReport("shop", "uuid-1", () if spec.mode is Mode.PROBE else (touch,))
    if fault in _OUTCOMES:
        return Record(**common, outcome=_OUTCOMES[fault])
    if spec.mode is Mode.PROBE:
        return Record(
            **common,
            environment=EnvironmentRecord(
                "8.11.0", "abc123", "default", "9.8.0", nodes=_nodes(TARGET), load_generator=host
            ),
        )
    if spec.mode is Mode.CHECK or elasticsearch is None:
        return Record(**common, rally=Rally("2.13.0", 0))
    version, nodes = elasticsearch["spec"]["version"], _nodes(elasticsearch)
    expected = 1000 if spec.mode is Mode.SMOKE else DOCUMENTS
    failed = 7 if fault == "error-rate" else 0
    made = Record(
        **common,
        first_request_at=timestamp(started + 0.01),
        rally_exited_at=timestamp(now),
        rally=Rally("2.13.0", 0, {"actorWakeup": 0.5}),
        environment=EnvironmentRecord(version, "abc123", "default", "10.1.0", nodes=nodes, load_generator=host),
        fresh=Fresh((), 0),
        indices=(
            IndexRecord(
                "access-logs",
                shards=spec.index.shards or 1,
                replicas=spec.index.replicas or 0,
                codec="default" if fault == "codec" else spec.index.codec or "default",
                health="green",
                documents=expected - (1 if fault == "documents" else 0),
                primary_bytes=4_000_000,
                store_bytes=4_000_000,
                settings={
                    **asked(spec.index),
                    **({"index.codec": "default"} if fault == "codec" else {}),
                    **({"index.refresh_interval": "1s"} if fault == "refresh" else {}),
                },
            ),
        ),
        shards=(Shard("access-logs", 0, True, "STARTED", nodes[0].name, expected, 4_000_000),),
        pipelines=(Pipeline("access-logs", expected, 812, 0),),
        nodes_restarted=(),
        tasks=tuple(_task(*task, failed, now) for task in TASKS),
        load_generator=LoadGenerator(17.0, 9.0, 0.97, saturated=True, why="it used 97 % of 2 cores")
        if fault == "saturated"
        else LoadGenerator(4.0, 9.0, 0.2),
        requests=RequestEvidence(answers=tuple(SearchAnswer(name) for name, kind, _ in TASKS if kind == "search")),
        totals=Totals(store_bytes=4_000_000, segments=3, young_gc_count=5, young_gc_millis=40),
    )
    if spec.turns:
        made = replace(made, tasks=tuple(replace(it, turns=TaskTurns(it.task, in_turn=100)) for it in made.tasks))
    if fault == "other-kernel":
        made = replace(made, environment=replace(made.environment, load_generator=replace(host, kernel="6.2.0")))
    if fault == "pipelines":
        made = replace(made, pipelines=(*(made.pipelines or ()), *(Pipeline(f"p{n}", 1, 1) for n in range(100))))
    return _remarked(made, now) if fault == "remarks" else made


def _over_http(
    spec: RaceSpec, http: HttpSpec, common: Mapping[str, Any], host: LoadGeneratorHost, now: float
) -> Record:
    """Return the record of a race over HTTP: every load with its numbers, spread evenly over the hosts."""
    tasks = tuple(TrackTask(load.name, load.name, "http-request", load.clients, reported=True) for load in http.loads)
    share = 3000 // len(spec.hosts)
    answers = HttpAnswers({"200": 3000}, hosts=tuple(HostAnswers(name, share) for name in spec.hosts))
    numbers = RallyNumbers(Throughput(100.0, 100.0, 100.0, 100.0), {"p50": 9.0, "p99": 20.0}, {"p50": 9.0, "p99": 20.0})
    measured = tuple(
        Task(
            load.name, load.name, "http-request", "ops", load.clients, load.rate, started_at=timestamp(now - 40),
            measured_from=timestamp(now - 30), ended_at=timestamp(now), duration_seconds=30.0,
            samples=Counts(1000, 3000), rally=numbers, rate=100.0, support={"p50": 1500, "p99": 30}, http=answers,
        )
        for load in http.loads
    )  # fmt: skip
    made = Record(
        **{**common, "track": TrackRecord("requests.ndjson", digest="sha256:abc", tasks=tasks)},
        environment=EnvironmentRecord(load_generator=host),
        http=HttpRecord("1.8.1", None, 200, 150, tuple(HttpHost(name, 200, "groonga") for name in spec.hosts)),
    )
    if spec.mode is Mode.CHECK or made.http is None:
        return made
    return replace(made, first_request_at=timestamp(now - 40), http=replace(made.http, exit_code=0), tasks=measured)


def hostile(text: str) -> str:
    """Return the record with what no runner writes: deep JSON, a time that is none, numbers of hundreds of digits."""
    data = {**json.loads(text), "startedAt": "x", "raceId": "x" * 10_000, "unheardOf": "@"}
    data["loadGenerator"] |= {"throttledPeriods": 10**401, "wallSeconds": float("nan")}
    return json.dumps(data).replace('"@"', "[" * 900 + "]" * 900)


def _remarked(made: Record, now: float) -> Record:
    """Return the record with something for every remark that a record gives rise to, and 25 tasks that were late."""
    node = made.environment.nodes[0].name
    deleted = UncountedTask("drop-it", "t", WhyUncounted.DELETED, 1000)
    late = tuple(
        replace(_task(f"late-{number}", "search", "ops/s", 0, now), target_throughput=100.0, schedule_share=0.5)
        for number in range(45)
    )
    return replace(
        made,
        rally=replace(made.rally, warnings=("No index template matches",)),
        track=replace(made.track, documents=DocumentPlan((deleted,))),
        tasks=(*made.tasks, *late),
        shards=(
            *(Shard("access-logs", number, True, "STARTED", node, 500, 2_000_000) for number in (0, 1)),
            Shard("access-logs", 0, False, "UNASSIGNED", why="NODE_LEFT"),
        ),
        load_generator=LoadGenerator(4.0, 9.0, 0.2, throttled_periods=7, throttled_seconds=0.2),
        left_out=("shards",),
        target=replace(made.target, others=(OtherLoad("orders", 12, 3),), left=("index access-logs",))
        if made.target
        else None,
    )


def resources(of: Record, fault: str = "") -> MachineTable:
    """Return the table that the runner would leave beside this record, from node stats and its control group.

    `fault`: disturbed, where the hypervisor gave the machine's processors to others.
    """
    usage = Usage(seconds=60.0, samples=15, cpu_mean_cores=0.5, cpu_peak_cores=0.9, disk_reads=3.0)
    tasks = tuple(TaskUsage(task.task, task.measured_from, usage) for task in of.tasks)
    nodes = [
        Machine(
            node.name, ELASTICSEARCH, memory_limit_bytes=2.0**31, sources={"cpu": "nodeStats", "jvm": "nodeStats"},
            race=replace(usage, heap_peak_bytes=5e8, young_gc_count=4.0), tasks=tasks,
        )
        for node in of.environment.nodes
    ]  # fmt: skip
    if of.load_generator.throttled_periods:  # then the CPU limits of all were tight
        held = replace(usage, throttled_periods=120.0, throttled_seconds=6.0)
        nodes = [
            replace(node, cpu_limit=2.0, tasks=(replace(tasks[0], usage=held), *tasks[1:])) for node in nodes[:1]
        ] + nodes[1:]
    own = Machine(of.environment.load_generator.pod_name or "", LOAD_GENERATOR, race=usage, tasks=tasks)
    machines = tuple(replace(machine, missing=missing(machine)) for machine in (*nodes, own))
    volumes = tuple(Volume(node.name, "/data", "/data", "ext4", 10**10, 9 * 10**9) for node in nodes)
    stolen = WatchedSpan(TASKS[-1][0], 60.0, steal_share=0.2, processors=2.0)
    watch = MachineWatch(tasks=(stolen,)) if fault == "disturbed" else None
    return MachineTable(race_id=of.race_id, sampler=Sampler(4.0, 15), machines=machines, volumes=volumes, watch=watch)


_OUTCOMES = {
    "track": Outcome(Reason.TRACK_INVALID, "track.json, line 7: Expecting ',' delimiter"),
    "unknown-challenge": Outcome(Reason.UNKNOWN_CHALLENGE, "no challenge nope; there are: default"),
    "unknown-task": Outcome(
        Reason.UNKNOWN_TASK,
        "requireTasks: the challenge default has no task search. There are: bulk-index, search-request",
        REQUIRE_TASKS,
    ),
    "changes-what-is-left": Outcome(
        Reason.INVALID_SPEC,
        "racedAgain: task bulk-index (bulk) changes index access-logs, so that each race would find another cluster "
        "than the one before. Leave it out there: it is run once, when the cluster is filled.",
        RACED_AGAIN,
    ),
    "timeout": Outcome(Reason.RACE_TIMEOUT, "the race was not over after its timeout"),
}


def _track(spec: RaceSpec, digit: str) -> TrackRecord:
    clients = int(spec.params.get("bulk_indexing_clients", 4))
    return TrackRecord(
        name=spec.track.builtin or "track",
        challenge=spec.challenge or "default",
        challenges=("default", "quick", "high-concurrency", "ramp-up"),
        digest="sha256:" + digit * 64,
        params=spec.params,
        tasks=tuple(TrackTask(name, name, kind, clients, reported=True) for name, kind, _ in TASKS),
        expected_documents={"access-logs": 1000 if spec.test_mode else DOCUMENTS},
        pipelines=("access-logs",),
        pipeline_documents={"access-logs": 1000 if spec.test_mode else DOCUMENTS},
        # A track that takes everything but the codec.
        passed_as={name: "" if name == "index.codec" else name for name in asked(spec.index)},
    )


def _nodes(elasticsearch: Mapping[str, Any]) -> tuple[Node, ...]:
    name, node_set = elasticsearch["metadata"]["name"], elasticsearch["spec"]["nodeSets"][0]
    containers = node_set["podTemplate"]["spec"]["containers"]
    env = {entry["name"]: entry.get("value") for container in containers for entry in container.get("env", ())}
    options = tuple(str(env.get("ES_JAVA_OPTS", "")).split())
    java = "21.0.8" if "ES_JAVA_HOME" in env else "24.0.1"
    return tuple(
        Node(f"{name}-es-{node_set['name']}-{i}", f"eph{i}", elasticsearch["spec"]["version"], java, "Oracle",
             "OpenJDK 64-Bit Server VM", ("G1",), 2**30, options, 2, 2**31)
        for i in range(node_set["count"])
    )  # fmt: skip


def _task(name: str, kind: str, unit: str, failed: int, now: float) -> Task:
    times = {"p50": 11.0, "p90": 19.0, "p99": 31.0, "p100": 44.0, "mean": 12.0}
    return Task(
        task=name,
        operation=name,
        type=kind,
        unit=unit,
        clients=4,
        started_at=timestamp(now - 60),
        measured_from=timestamp(now - 50),
        ended_at=timestamp(now),
        duration_seconds=50.0,
        samples=Counts(50, 200),
        errors=Counts(0, failed),
        first_error="429 es_rejected_execution_exception" if failed else None,
        rally=RallyNumbers(Throughput(9e3, 1e4, 1.1e4, 1.2e4), times, times, times, failed / 200),
        units_done=1e5,
        windows=Windows(1.0, 8, 1.1e4, 9e3, 1.2e4),
        support={"p50": 100, "p90": 20, "p99": 2},
    )
