"""A Benchmark from apply to its end, and everything that may happen to it on the way.

One operator, installed for the whole cluster with a queue of one, serves all tests of this file in turn.
"""

import json
import time

import pytest
from tests.fixtures.message_form import looks_like

from fairlap.api.status import MOST_REMARKS
from fairlap.plan.basis.steps import account_name
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.reasons import Reason

from .fakes import STEP, UID
from .manifests import Json, benchmark, http_benchmark
from .stage import Stage

TRACK: Json = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "mine", "labels": {"tests": "keep"}},
    "data": {"track.json": "{}"},
}


pytestmark = pytest.mark.usefixtures("operator")


def conditions(status: Json) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c["reason"]) for c in status["conditions"]}


def test_from_apply_to_numbers(stage: Stage, namespace: str) -> None:
    stage.apply({**TRACK, "metadata": {**TRACK["metadata"], "namespace": namespace}})
    spec = {
        "elasticsearch": {
            "version": "9.0.0",
            "java": 21,
            "nodes": 2,
            "index": {"shards": 2, "replicas": 1, "codec": "best_compression"},
            "storage": {"size": "1Gi", "className": "fast"},
            "scheduling": {"nodeSelector": {"disk": "fast"}, "tolerations": [{"key": "bench", "operator": "Exists"}]},
        },
        "race": {"track": {"configMap": {"name": "mine"}}, "params": {"a": {"b": [1]}}, "userTags": {"team": "x"}},
        "repetitions": 2,
    }
    stage.apply(benchmark(namespace, "bm", **spec))
    status = stage.ends(namespace, "bm")
    assert status["phase"] == "Succeeded", status
    assert stage.runs(namespace) == ["bm-check", "bm-smoke", "bm-race-1", "bm-race-2"]
    told = conditions(status)
    assert {kind: told[kind][0] for kind in told} == {
        "Accepted": "True",
        "ClusterReady": "False",
        "SettingsVerified": "True",
        "RacesValid": "True",
        "LoadGeneratorShared": told["LoadGeneratorShared"][0],
        "LoadGeneratorSaturated": "False",
        "ScheduleNotKept": "False",
        "Complete": "True",
        "Failed": "False",
    }
    assert status["racesDone"] == "2/2"
    assert [(race["name"], race["valid"]) for race in status["races"]] == [
        ("smoke", True), ("race-1", True), ("race-2", True),
    ]  # fmt: skip
    assert status["observedGeneration"] == 1
    bulk = next(task for task in status["results"]["tasks"] if task["task"] == "bulk-index")
    assert bulk["throughput"] == {"median": 11000, "min": 11000, "max": 11000, "races": 2}
    noise = next(task for task in status["noise"]["tasks"] if task["task"] == "bulk-index")
    assert noise["numbers"][0]["message"] == "unknown: 2 races have exactly the same number"
    assert status["environment"]["java"].startswith("21.")
    # The check said that this track takes no codec.
    assert status["nodeSettings"] == {"index.codec": "best_compression"}
    (image,) = status["environment"]["images"]
    assert "docker.elastic.co/elasticsearch/elasticsearch@sha256:" in image
    assert status["startTime"] <= status["admittedTime"] <= status["completionTime"]
    stage.is_clean(namespace)
    for name in stage.runs(namespace):
        record = stage.find("configmaps", namespace, name)
        assert record is not None
        assert json.loads(text_of(record, "record.json") or "")["raceId"].startswith(f"{namespace}.bm.")
        assert set(record["binaryData"]) == {"record.json.gz", "resources.json.gz", "race.json.gz", "rally.log.gz"}


def test_an_existing_cluster(stage: Stage, namespace: str) -> None:
    target = {"hosts": ["https://shop:9200"], "credentialsSecret": {"name": "user"}, "caSecret": {"name": "ca"}}
    stage.apply(benchmark(namespace, elasticsearch=None, target=target))
    status = stage.ends(namespace, "bm")
    assert status["phase"] == "Succeeded", status
    assert stage.runs(namespace) == ["bm-probe", "bm-check", "bm-smoke", "bm-race-1"]
    told = conditions(status)
    assert told["ClusterReady"] == ("True", "TargetAnswers")
    assert told["TargetChecked"] == ("True", "TrackWillChange")
    assert (status["version"], status["target"]["nodes"], status["target"]["rally"]) == ("8.11.0", 3, "2.13")
    events = stage.plane.kubectl("get", "events", f"--namespace={namespace}", "-o", "json").stdout
    said = {event["reason"]: event["message"] for event in json.loads(events)["items"]}
    assert "deletes index access-logs" in said["TargetChecked"]
    stage.is_clean(namespace)


def test_an_http_target(stage: Stage, namespace: str) -> None:
    requests = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "queries", "namespace": namespace}}
    stage.apply({**requests, "data": {"requests.ndjson": "/d/select?table=Pages\n"}})
    stage.apply(http_benchmark(namespace, race__sweep={"task": "requests", "clients": [1, 2]}))
    status = stage.ends(namespace, "bm")
    assert status["phase"] == "Succeeded", status
    assert stage.runs(namespace) == ["bm-check", "bm-smoke", "bm-race-1"]
    told = conditions(status)
    assert told["Accepted"] == ("True", "RequestsRead") and "SettingsVerified" not in told
    assert status["track"] == "requests.ndjson"
    assert status["environment"]["k6Version"] == "1.8.1"
    assert status["environment"]["httpHosts"] == ["one:10041 (groonga)", "two:10041 (groonga)"]
    tasks = {task["task"]: task for task in status["results"]["tasks"]}
    assert list(tasks) == ["requests@1", "requests@2"]
    assert tasks["requests@1"]["http"]["requestsByHost"] == {"one:10041": 1500, "two:10041": 1500}
    assert tasks["requests@1"]["http"]["statusShares"] == {"200": 1}
    assert not [remark for race in status["races"] for remark in race.get("remarks", ())]
    stage.plane.kubectl("delete", "configmap", "queries", f"--namespace={namespace}")
    stage.is_clean(namespace)


def test_kubectl_wait_and_describe(stage: Stage, namespace: str) -> None:
    stage.apply(benchmark(namespace, smokeTest=False))
    wait = ("wait", "--for=condition=Complete", "bm/bm", f"--namespace={namespace}", "--timeout=240s")
    assert stage.plane.kubectl(*wait).returncode == 0
    # Events are sent beside the work; the last may come a moment later.
    describe = ("describe", "bm", "bm", f"--namespace={namespace}")
    stage.until(lambda: "Succeeded" in stage.plane.kubectl(*describe).stdout.split("Events:")[1], "the event", 10)


def test_progress_is_shown_while_it_races(stage: Stage, namespace: str) -> None:
    stage.behave(namespace, run=(2.0, 2.0))
    stage.apply(benchmark(namespace, smokeTest=False))
    seen: list[str] = []

    def over() -> bool:
        status = stage.status(namespace, "bm")
        text = f"{status.get('phase')}: {status.get('progress')}"
        if text not in seen:
            seen.append(text)
        return status.get("phase") == "Succeeded"

    stage.until(over, "Succeeded", 30)
    assert "Racing: race 1/1 · bulk-index 10 %" in seen
    assert "Racing: race 1/1 · bulk-index 60 %" in seen


def test_the_runner_may_write_its_record_and_nothing_else(stage: Stage, namespace: str) -> None:
    stage.behave(namespace, run=(60.0, 60.0))  # what is asked below takes a second each where others use the machine
    stage.apply(benchmark(namespace, smokeTest=False))
    stage.reaches(namespace, "bm", "Racing")
    account = account_name("bm", stage.benchmark(namespace, "bm")["metadata"]["uid"], "race-1")
    stage.until(lambda: stage.find("rolebindings", namespace, account), "the RoleBinding", 10)

    def may(*what: str) -> bool:
        user = f"--as=system:serviceaccount:{namespace}:{account}"
        return stage.plane.kubectl("auth", "can-i", *what, user, f"--namespace={namespace}").stdout.strip() == "yes"

    # Who may do what is looked up in the API server's own copy of the bindings, which comes a moment later.
    stage.until(lambda: may("patch", "configmaps/bm-race-1"), "the right to write the record", 10)
    assert may("patch", "configmaps/bm-race-1-progress")
    assert may("get", "configmaps/bm-race-1")
    for forbidden in (
        ("patch", "configmaps/bm-smoke"), ("list", "configmaps"), ("delete", "configmaps/bm-race-1"),
        ("get", "secrets"), ("create", "pods"), ("get", "bm"), ("patch", "bm"),
    ):  # fmt: skip
        assert not may(*forbidden), forbidden
    assert stage.benchmark(namespace, "bm")["status"]["phase"] == "Racing", "so that it still had its account"
    stage.delete("benchmarks", namespace, "bm")
    stage.is_clean(namespace)


@pytest.mark.produces(Reason.LOAD_GENERATOR_SHARED)
def test_what_does_not_void_a_race_is_said_in_it(stage: Stage, namespace: str) -> None:
    stage.behave(namespace, race="saturated", shared_node=True)
    stage.apply(benchmark(namespace, smokeTest=False))
    status = stage.ends(namespace, "bm")
    told = conditions(status)
    assert told["Complete"][0] == told["LoadGeneratorShared"][0] == told["LoadGeneratorSaturated"][0] == "True"
    (race,) = status["races"]
    assert race["valid"]
    saturated, shared = race["remarks"]
    assert saturated == {
        "reason": "LoadGeneratorSaturated", "message": "the load generator was saturated: it used 97 % of 2 cores",
    }  # fmt: skip
    assert shared == {
        "reason": "LoadGeneratorShared",
        "message": "Elasticsearch and the load generator shared the machine node-a",
    }
    assert looks_like(Reason.LOAD_GENERATOR_SHARED.example, shared["message"])
    assert (race["elasticsearchOn"], race["loadGeneratorOn"]) == (["node-a"], "node-a")


BUILT = {"elasticsearch": {"version": "9.0.0", "nodes": 2, "index": {"codec": "best_compression"}}}
EXISTING = {"elasticsearch": None, "target": {"hosts": ["http://shop:9200"]}}
REMARKED = (
    Reason.LOAD_GENERATOR_THROTTLED, Reason.SCHEDULE_NOT_KEPT, Reason.DOCUMENTS_NOT_COUNTED, Reason.SHARDS_UNASSIGNED,
    Reason.PRIMARIES_ON_ONE_NODE, Reason.RECORD_CUT, Reason.RALLY_WARNING, Reason.ELASTICSEARCH_THROTTLED,
)  # fmt: skip
OF_BUILT = (
    *(*REMARKED, Reason.LOAD_GENERATOR_SHARED, Reason.PROCESSORS_SHARED, Reason.SETTINGS_ON_NODES),
    *(Reason.MACHINE_SETTINGS, Reason.SETTINGS_PARTLY_VERIFIED),
)
OF_EXISTING = (*REMARKED, Reason.TARGET_SHARED, Reason.LEFT_ON_TARGET)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(BUILT, OF_BUILT, marks=pytest.mark.produces(*OF_BUILT), id="built"),
        pytest.param(EXISTING, OF_EXISTING, marks=pytest.mark.produces(*OF_EXISTING), id="existing"),
    ],
)
def test_each_remark_is_said_with_its_reason_and_too_many_of_one_are_counted(
    stage: Stage, namespace: str, wanted: Json, expected: tuple[Reason, ...]
) -> None:
    stage.behave(namespace, race="remarks", shared_node=True)
    # A parameter of the track asks for its check, which finds out what the nodes must be given.
    stage.apply(benchmark(namespace, smokeTest=False, race__params={"bulk_size": 100}, **wanted))
    status = stage.ends(namespace, "bm")
    assert status["phase"] == "Succeeded", status
    (race,) = status["races"]
    found = race["remarks"]
    assert {it["reason"] for it in found} == {str(reason) for reason in expected}
    assert len(found) == MOST_REMARKS
    for reason in expected:
        messages = [it["message"] for it in found if it["reason"] == reason]
        if reason is not Reason.SCHEDULE_NOT_KEPT:
            assert any(looks_like(reason.example, message) for message in messages), messages
    late = [it["message"] for it in found if it["reason"] == "ScheduleNotKept"]
    assert late[-1].endswith(f"; and {45 - len(late)} more of this reason")
    governors = [it.get("settings", {}).get("governors") for it in status["environment"]["machines"]]
    assert (["powersave"] in governors) == (Reason.MACHINE_SETTINGS in expected) and governors[-1] is None, governors
    told = conditions(status)
    assert told["ScheduleNotKept"] == ("True", "ScheduleNotKept")
    assert told["LoadGeneratorShared"][0] == ("True" if Reason.LOAD_GENERATOR_SHARED in expected else "False")
    assert told["LoadGeneratorSaturated"] == ("False", "NotRemarked"), "it was throttled for a moment only"


@pytest.mark.produces(Reason.ENVIRONMENT_CHANGED)
def test_a_race_in_other_surroundings_is_told_from_the_first(stage: Stage, namespace: str) -> None:
    stage.behave(namespace, race="other-kernel", steps=("race-2",), shared_node=True)
    stage.apply(benchmark(namespace, smokeTest=False, repetitions=3))
    status = stage.ends(namespace, "bm")
    assert status["phase"] == "Succeeded", status
    said = {
        race["name"]: [it["message"] for it in race["remarks"] if it["reason"] == "EnvironmentChanged"]
        for race in status["races"]
    }
    assert (said["race-1"], len(said["race-2"]), said["race-3"]) == ([], 1, [])
    assert looks_like(Reason.ENVIRONMENT_CHANGED.example, said["race-2"][0])
    (noted,) = status["environment"]["differences"]
    assert noted == f"race-2: {said['race-2'][0].removeprefix('unlike in race-1: ')}"
    (of_load,) = (it for it in status["environment"]["machines"] if it["node"] == "load generator")
    assert of_load["kernel"] in noted and of_load["kernel"] != "6.2.0", "it is that of the first race"


def test_containers_that_were_killed_before_the_race_began_void_nothing(stage: Stage, namespace: str) -> None:
    """Their good neighbours, which are killed during the race, are among the failures: restarted, es-out-of-memory."""
    stage.behave(namespace, cluster="hard-start")
    stage.apply(benchmark(namespace, smokeTest=False))
    status = stage.ends(namespace, "bm")
    assert (status["phase"], status["racesDone"]) == ("Succeeded", "1/1"), status
    assert status["races"][0]["valid"], status["races"]


def test_suspend_and_resume(stage: Stage, namespace: str) -> None:
    stage.behave(namespace, run=(1.0, 1.0))
    stage.apply(benchmark(namespace, suspend=True, smokeTest=False, repetitions=2))
    stage.until(lambda: "suspended" in stage.status(namespace, "bm").get("progress", ""), "it says suspended", 15)
    assert stage.all("elasticsearches", namespace) == []
    stage.patch("benchmarks", namespace, "bm", {"spec": {"suspend": False}})
    stage.reaches(namespace, "bm", "Racing")
    stage.patch("benchmarks", namespace, "bm", {"spec": {"suspend": True}})
    text = "suspended before race 2/2"
    stage.until(lambda: stage.status(namespace, "bm").get("progress") == text, text, 20)
    assert stage.runs(namespace) == ["bm-race-1"], "the race under way ran to its end, no further one started"
    stage.is_clean(namespace)
    stage.patch("benchmarks", namespace, "bm", {"spec": {"suspend": False}})
    # kubectl takes what was said of an older generation for not met, and each change of suspend makes a new one.
    wait = ("wait", "--for=condition=Complete", "bm/bm", f"--namespace={namespace}", "--timeout=120s")
    assert stage.plane.kubectl(*wait).returncode == 0
    status, meta = stage.ends(namespace, "bm"), stage.benchmark(namespace, "bm")["metadata"]
    assert status["racesDone"] == "2/2" and status["observedGeneration"] == meta["generation"] == 4
    assert {told["observedGeneration"] for told in status["conditions"]} == {4}
    # What is over may be suspended by a patch that names many: it is not raced again, and nobody waits for it in vain.
    stage.patch("benchmarks", namespace, "bm", {"spec": {"suspend": True}})
    stage.until(lambda: stage.status(namespace, "bm")["observedGeneration"] == 5, "the newest generation is said", 20)
    assert stage.plane.kubectl(*wait).returncode == 0
    later = stage.status(namespace, "bm")
    assert {told["observedGeneration"] for told in later["conditions"]} == {5}
    back = [{**each, "observedGeneration": 4} for each in later["conditions"]]
    assert {**later, "observedGeneration": 4, "conditions": back} == status, "nothing else of it was written"


def test_a_suspended_one_does_not_hold_the_queue(stage: Stage, namespace: str) -> None:
    stage.apply(benchmark(namespace, "first", suspend=True))
    stage.until(lambda: stage.status(namespace, "first").get("progress"), "it is seen", 15)
    stage.apply(benchmark(namespace, "second", smokeTest=False))
    assert stage.ends(namespace, "second")["phase"] == "Succeeded"


@pytest.mark.parametrize(
    ("keep", "fault", "kept"),
    [("Always", "", True), ("Always", "documents", True), ("OnFailure", "documents", True), ("OnFailure", "", False)],
)
def test_keep_cluster(stage: Stage, namespace: str, keep: str, fault: str, kept: bool) -> None:
    stage.behave(namespace, race=fault)
    stage.apply(benchmark(namespace, keepCluster=keep))
    status = stage.ends(namespace, "bm")
    assert status["phase"] == ("Failed" if fault else "Succeeded")
    clusters = [thing["metadata"]["name"] for thing in stage.all("elasticsearches", namespace)]
    assert clusters == (["bm-race-1"] if kept else [])
    assert conditions(status)["ClusterReady"][0] == ("True" if kept else "False")
    assert stage.all("jobs", namespace) == []
    stage.delete("benchmarks", namespace, "bm")
    stage.is_clean(namespace)


def test_the_queue_never_lets_two_race_at_once(stage: Stage, namespace: str) -> None:
    names = [f"q{number}" for number in range(4)]
    stage.behave(namespace, "q0", run=(3.0, 3.0))
    for name in names:
        stage.apply(benchmark(namespace, name, smokeTest=False))
        stage.reaches(namespace, name, "Racing" if name == "q0" else "Queued")
    assert "before it in the queue" in stage.status(namespace, "q3")["progress"]
    for name in names:
        assert stage.ends(namespace, name)["phase"] == "Succeeded"
    assert stage.world.most_running[namespace] == 1
    order = sorted(names, key=lambda name: (stage.status(namespace, name)["admittedTime"], name))
    assert order == names, "first come, first served"


def test_a_queue_of_many_made_at_once_never_stands_still(stage: Stage, namespace: str) -> None:
    stage.behave(namespace, eck=(0.0, 0.02), run=(0.0, 0.05))
    names = [f"many-{number}" for number in range(16)]
    stage.apply(*(benchmark(namespace, name, smokeTest=False) for name in names))
    for name in names:
        assert stage.ends(namespace, name, seconds=60)["phase"] == "Succeeded"
    assert stage.world.most_running[namespace] == 1


def test_one_that_is_suspended_on_its_way_lets_the_next_begin(stage: Stage, namespace: str) -> None:
    stage.behave(namespace, "first", run=(2.0, 2.0))
    stage.apply(benchmark(namespace, "first", smokeTest=False, repetitions=2))
    stage.reaches(namespace, "first", "Racing")
    stage.apply(benchmark(namespace, "second", smokeTest=False))
    stage.reaches(namespace, "second", "Queued")
    stage.patch("benchmarks", namespace, "first", {"spec": {"suspend": True}})
    assert stage.ends(namespace, "second", seconds=60)["phase"] == "Succeeded"
    assert stage.status(namespace, "first")["progress"] == "suspended before race 2/2"


def test_a_deleted_one_lets_the_next_begin(stage: Stage, namespace: str) -> None:
    stage.behave(namespace, "first", race="hangs")
    stage.apply(benchmark(namespace, "first", smokeTest=False))
    stage.reaches(namespace, "first", "Racing")
    stage.apply(benchmark(namespace, "second", smokeTest=False))
    stage.reaches(namespace, "second", "Queued")
    stage.delete("benchmarks", namespace, "first")
    assert stage.ends(namespace, "second", seconds=60)["phase"] == "Succeeded"


def test_a_race_whose_job_somebody_suspends_is_lost_and_never_runs_again(stage: Stage, namespace: str) -> None:
    """As kubectl or a controller of queues does: to let it run would begin the race anew, under its number."""
    stage.behave(namespace, race="hangs")
    stage.apply(benchmark(namespace, smokeTest=False, repetitions=2))
    stage.until(lambda: (stage.status(namespace, "bm").get("step") or {}).get("jobStarted"), "the race runs", 30)
    stage.patch("jobs", namespace, "bm-race-1", {"spec": {"suspend": True}})
    status = stage.ends(namespace, "bm")
    assert (status["phase"], status["reason"]) == ("Failed", "JobLost")
    assert status["message"] == "the race's Job was suspended by somebody while it ran, which ends its pod"
    assert stage.runs(namespace) == ["bm-race-1"]
    stage.is_clean(namespace)


@pytest.mark.produces(Reason.JOB_LOST)
def test_a_deleted_job_is_a_lost_race_and_never_runs_again(stage: Stage, namespace: str) -> None:
    stage.behave(namespace, race="hangs")
    stage.apply(benchmark(namespace, smokeTest=False, repetitions=2))
    stage.until(lambda: "bm-race-1" in stage.runs(namespace), "the race runs", 30)
    stage.until(lambda: "bulk-index" in stage.status(namespace, "bm").get("progress", ""), "progress", 15)
    stage.delete("jobs", namespace, "bm-race-1")
    status = stage.ends(namespace, "bm")
    assert (status["phase"], status["reason"]) == ("Failed", "JobLost")
    assert looks_like(Reason.JOB_LOST.example, status["message"])
    time.sleep(1)
    assert stage.runs(namespace) == ["bm-race-1"]
    stage.is_clean(namespace)


PHASES = ("Pending", "Queued", "Provisioning", "SmokeTesting", "Racing", "Succeeded", "Failed")


@pytest.mark.parametrize("phase", PHASES)
def test_deletion_in_any_phase_leaves_nothing(stage: Stage, namespace: str, phase: str) -> None:
    fault = {"Failed": "documents"}.get(phase, "")
    volume: Json = {"elasticsearch__storage": {"size": "1Gi"}}
    slow: Json = {"Provisioning": {"eck": (2.0, 2.0)}}.get(phase, {})
    steps = ("smoke",) if phase == "SmokeTesting" else ("race-1",)
    stage.behave(namespace, race="hangs" if phase in ("SmokeTesting", "Racing") else fault, steps=steps, **slow)
    if phase == "Queued":
        stage.behave(namespace, "blocker", race="hangs")
        stage.apply(benchmark(namespace, "blocker", smokeTest=False))
        stage.reaches(namespace, "blocker", "Racing")
    suspended: Json = {"suspend": True} if phase == "Pending" else {}
    stage.apply(benchmark(namespace, **volume, **suspended, smokeTest=phase != "Racing"))
    stage.reaches(namespace, "bm", phase)
    if phase == "Queued":
        stage.delete("benchmarks", namespace, "blocker")
        stage.until(lambda: stage.find("benchmarks", namespace, "blocker") is None, "the blocker is gone", 15)
    done = stage.plane.kubectl("delete", "bm", "bm", f"--namespace={namespace}", "--timeout=240s")
    assert done.returncode == 0, done.stderr
    stage.is_clean(namespace)


def test_deletion_while_it_collects_and_cleans_up(stage: Stage, namespace: str) -> None:
    """These phases are short: delete at random moments around the end of a race."""
    for number in range(6):
        name = f"c{number}"
        stage.apply(benchmark(namespace, name, smokeTest=False))
        stage.until(lambda name=name: f"{name}-race-1" in stage.runs(namespace), "it races", 30)  # type: ignore[misc]
        time.sleep(number * 0.12)
        stage.delete("benchmarks", namespace, name)
    stage.until(lambda: not stage.all("benchmarks", namespace), "all are gone", 20)
    stage.is_clean(namespace)


@pytest.mark.parametrize("kind", ["elasticsearches", "jobs", "configmaps"])
def test_a_foreign_object_is_waited_for_and_left_alone(stage: Stage, namespace: str, kind: str) -> None:
    api, name = {
        "elasticsearches": ("elasticsearch.k8s.elastic.co/v1", "Elasticsearch"),
        "jobs": ("batch/v1", "Job"),
        "configmaps": ("v1", "ConfigMap"),
    }[kind]
    foreign: Json = {
        "apiVersion": api, "kind": name, "metadata": {"name": "bm-race-1", "namespace": namespace, "labels": {
            "tests": "keep", UID: "someone", STEP: "else", "fairlap.dev/benchmark": "x"}},
    }  # fmt: skip
    container = {"name": "x", "image": "x"}
    if kind == "jobs":
        pod = {"restartPolicy": "Never", "containers": [container]}
        foreign["spec"] = {"suspend": True, "template": {"spec": pod}}
    if kind == "elasticsearches":
        foreign["spec"] = {"version": "8.11.0", "nodeSets": [
            {"name": "default", "count": 1, "podTemplate": {"spec": {"containers": [container]}}}
        ]}  # fmt: skip
    stage.apply(foreign)
    uid = stage.find(kind, namespace, "bm-race-1")["metadata"]["uid"]  # type: ignore[index]
    stage.apply(benchmark(namespace, smokeTest=False))
    text = f"waiting for {name} bm-race-1, which is not of this Benchmark"
    stage.until(lambda: text in stage.status(namespace, "bm").get("progress", ""), text, 20)
    time.sleep(1)
    assert stage.find(kind, namespace, "bm-race-1")["metadata"]["uid"] == uid, "left alone"  # type: ignore[index]
    assert stage.runs(namespace) == []
    stage.delete(kind, namespace, "bm-race-1")
    assert stage.ends(namespace, "bm")["phase"] == "Succeeded"


def test_delete_and_recreate_adopts_nothing_of_the_old_one(stage: Stage, namespace: str) -> None:
    stage.behave(namespace, race="hangs")
    stage.apply(benchmark(namespace, smokeTest=False))
    stage.until(lambda: "bm-race-1" in stage.runs(namespace), "the first one races", 30)
    old = stage.benchmark(namespace, "bm")["metadata"]["uid"]
    stage.behave(namespace)
    stage.delete("benchmarks", namespace, "bm")
    stage.until(lambda: stage.find("benchmarks", namespace, "bm") is None, "the first one is gone", 15)
    stage.apply(benchmark(namespace, smokeTest=False))
    status = stage.ends(namespace, "bm")
    assert status["phase"] == "Succeeded", status
    new = stage.benchmark(namespace, "bm")["metadata"]["uid"]
    assert [run.benchmark_uid for run in stage.world.runs if run.namespace == namespace] == [old, new]
    stage.is_clean(namespace)
