"""Each way in which a Benchmark can fail: the reason, the words, and nothing left behind.

All of them run at once under one operator, since most of the time is spent waiting; each test looks at one.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.fixtures.message_form import looks_like

from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record

from .controlplane import ControlPlane
from .fakes import BOOTSTRAP
from .manifests import benchmark
from .operator_process import Operator
from .stage import Stage

pytestmark = pytest.mark.longest(1)
Json = dict[str, Any]
CHECK_ONLY = ("check",)


@dataclass(frozen=True)
class Case:
    """One Benchmark that must fail."""

    reason: str
    words: str
    knobs: Json = field(default_factory=dict)
    spec: Json = field(default_factory=dict)
    runs: tuple[str, ...] = ("smoke", "race-1")
    """steps that were started"""
    valid: str = "0/1"

    @property
    def before_a_cluster(self) -> bool:
        """Whether the fault is found before a cluster is asked for."""
        return self.runs == CHECK_ONLY or (not self.runs and not self.knobs and self.words != "not on this cluster")


IMPATIENT = {"timeouts": {"provisioning": "60s", "race": "1h"}}
HOLD = "tests.fairlap.dev/hold"
ON_SMOKE = {"steps": ("smoke",)}
WITH_PARAMS = {"race__params": {"bulk_size": 100}}
FAILURES = "failures"
"""The namespace of all cases; the control plane stays, and what is forbidden here is fine elsewhere."""
# What a shared cluster's policy may do: refuse an object that the schema allows.
POLICY = [
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "no-refused-cluster"},
        "spec": {
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": FAILURES}},
                "resourceRules": [
                    {
                        "apiGroups": ["elasticsearch.k8s.elastic.co"],
                        "apiVersions": ["*"],
                        "operations": ["CREATE"],
                        "resources": ["elasticsearches"],
                    }
                ],
            },
            "validations": [
                {"expression": "!object.metadata.name.startsWith('refused-')", "message": "not on this cluster"}
            ],
        },
    },
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "no-refused-cluster"},
        "spec": {"policyName": "no-refused-cluster", "validationActions": ["Deny"]},
    },
]
CASES: dict[str, Case] = {
    # before anything is created
    "unknown-track": Case("UnknownTrack", "log_ingest", spec={"race__track": {"builtin": "geonamez"}}, runs=()),
    "unknown-challenge": Case(
        "UnknownChallenge", "default, quick, high-concurrency, ramp-up", spec={"race__challenge": "nope"}, runs=()
    ),
    "java-unknown": Case("InvalidSpec", "JDK images for: 17, 21", spec={"elasticsearch__java": 24}, runs=()),
    "heap-too-big": Case("InvalidSpec", "leaves too little", spec={"elasticsearch__heap": "2g"}, runs=()),
    "eck-setting": Case(
        "InvalidSpec", "which ECK manages", spec={"elasticsearch__config": {"cluster.name": "x"}}, runs=()
    ),
    "credentials": Case(
        "InvalidSpec", "basic_auth_password", spec={"race__clientOptions": {"basic_auth_password": "x"}}, runs=()
    ),
    "no-config-map": Case(
        "TrackNotFound", "does not exist", spec={"race__track": {"configMap": {"name": "none"}}}, runs=()
    ),
    "no-requests": Case(
        "RequestsInvalid", "does not exist",
        spec={"race__track": {"builtin": "replay"}, "race__requests": {"configMap": {"name": "none"}}}, runs=(),
    ),
    # found by rendering the track
    "track-invalid": Case(
        "TrackInvalid", "track.json, line 7", knobs={"race": "track", "steps": CHECK_ONLY}, spec=WITH_PARAMS,
        runs=CHECK_ONLY,
    ),
    "challenge-in-track": Case(
        "UnknownChallenge", "there are: default", knobs={"race": "unknown-challenge", "steps": CHECK_ONLY},
        spec=WITH_PARAMS, runs=CHECK_ONLY,
    ),
    # the cluster
    "unschedulable": Case(
        "Unschedulable", "2 Insufficient memory", knobs={"cluster": "unschedulable", **ON_SMOKE}, spec=IMPATIENT,
        runs=(),
    ),
    "image-pull": Case(
        "ImagePull", "elasticsearch:9.0.0: Back-off pulling image", knobs={"cluster": "image-pull", **ON_SMOKE},
        spec=IMPATIENT, runs=(),
    ),
    "crash-loop": Case(
        "ElasticsearchBootstrap", BOOTSTRAP, knobs={"cluster": "crash-loop", **ON_SMOKE}, runs=()
    ),
    "never-green": Case(
        "ClusterNotGreen", "health is yellow", knobs={"cluster": "never-green"}, spec=IMPATIENT,
        runs=("smoke",),
    ),
    "no-endpoints": Case(
        "ProvisioningTimeout", "0/1 http endpoints ready", knobs={"cluster": "no-endpoints"}, spec=IMPATIENT,
        runs=("smoke",),
    ),
    "refused-cluster": Case("InvalidSpec", "not on this cluster", runs=()),
    # the race
    "race-image-pull": Case(
        "ImagePull", "container rally", knobs={"race": "image-pull"},
        spec=IMPATIENT,
    ),
    "dies": Case("RecordMissing", "its log ends with: INFO the runner began", knobs={"race": "dies"}),
    "out-of-memory": Case("LoadGeneratorOutOfMemory", "OOMKilled", knobs={"race": "out-of-memory"}),
    "race-evicted": Case("Evicted", "was evicted: The node was low on resource", knobs={"race": "evicted"}),
    "garbage": Case("RecordMissing", "cannot be read", knobs={"race": "garbage"}),
    "race-timeout": Case("RaceTimeout", "not over", knobs={"race": "timeout"}),
    # the truth about the race
    "error-rate": Case("ErrorRate", "7 of 250 requests failed", knobs={"race": "error-rate"}),
    "documents": Case("DocumentCountMismatch", "99999", knobs={"race": "documents"}),
    "codec": Case(
        "SettingsNotApplied", "codec was to be best_compression, Elasticsearch has default", knobs={"race": "codec"},
        spec={"elasticsearch__index": {"codec": "best_compression"}},
    ),
    "refresh": Case(
        "SettingsNotApplied", "index access-logs: index.refresh_interval was to be 30s, Elasticsearch has 1s",
        knobs={"race": "refresh"}, spec={"elasticsearch__index": {"settings": {"refresh_interval": "30s"}}},
    ),
    "restarted": Case("ElasticsearchRestarted", "restarted (Error, exit code 143)", knobs={"cluster": "restart"}),
    "es-out-of-memory": Case("OutOfMemory", "(OOMKilled, exit code 137)", knobs={"cluster": "out-of-memory"}),
    "heap-exhausted": Case("OutOfMemory", "its Java heap is too small", knobs={"cluster": "heap-exhausted"}),
    "es-evicted": Case(
        "Evicted", 'was evicted: Usage of EmptyDir volume "elasticsearch-data" exceeds the limit "1Mi"',
        knobs={"cluster": "evicted"},
    ),
    "track-changed": Case(
        "TrackChanged", "race-1, race-2", knobs={"race": "track-changed", "steps": ("race-2",)},
        spec={"repetitions": 2, "smokeTest": False}, runs=("race-1", "race-2"), valid="1/2",
    ),
    "smoke-test-fails": Case(
        "ErrorRate", "smoke: ", knobs={"race": "error-rate", **ON_SMOKE}, runs=("smoke",)
    ),
    "second-race-fails": Case(
        "DocumentCountMismatch", "race-2: ", knobs={"race": "documents", "steps": ("race-2",)},
        spec={"repetitions": 3, "smokeTest": False}, runs=("race-1", "race-2"), valid="1/3",
    ),
}  # fmt: skip


# The cases whose messages docs/reasons.md shows.
DOCUMENTED = (
    "unknown-track", "unknown-challenge", "java-unknown", "no-config-map", "no-requests", "never-green",
    "no-endpoints", "dies",
    "out-of-memory", "es-out-of-memory", "es-evicted", "track-changed",
)  # fmt: skip


@pytest.fixture(scope="module")
def overdue(stage: Stage, plane: ControlPlane) -> Iterator[Operator]:
    """An operator with what takes minutes to fail, begun before all else.

    A race that never ends is ended two minutes after its timeout; pods that a quota forbids are waited for, and so is
    a cluster that somebody else's finalizer holds.
    """
    namespaces = [stage.make_namespace(name) for name in ("overdue", "crowded", "holding")]
    stage.behave("overdue", race="hangs")
    stage.behave("holding", run=(5.0, 5.0))
    forbid_pods(stage, "crowded")
    operator = Operator(plane, "overdue", scope__namespaces=namespaces, maxActive=4)
    operator.environment["FAIRLAP_CLEANUP_SECONDS"] = "30"
    operator.start()
    stage.apply(
        benchmark("overdue", smokeTest=False, timeouts={"race": "2s"}),
        benchmark("crowded", "no-node", smokeTest=False, **IMPATIENT),
        benchmark("crowded", "no-check", smokeTest=False, **IMPATIENT, **WITH_PARAMS),
        benchmark("holding", "held", smokeTest=False),
    )
    stage.until(lambda: stage.find("elasticsearches", "holding", "held-race-1"), "the cluster")
    stage.patch("elasticsearches", "holding", "held-race-1", {"metadata": {"finalizers": [HOLD]}})
    yield operator
    operator.stop()
    for namespace in namespaces:
        stage.forget(namespace)


def forbid_pods(stage: Stage, namespace: str) -> None:
    """Give a namespace a quota that has room for no pod at all, and wait until the API server goes by it."""
    meta = {"name": "full", "namespace": namespace}
    stage.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": {"pods": "0"}}})
    # The quota controller, which does not run here, would write what is used.
    status = {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}
    stage.patch("resourcequotas", namespace, "full", status, "status")
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, "name": "any"}, "spec": spec}
    stage.until(lambda: stage.would_refuse(pod, "exceeded quota"), "the quota is in force", 30)


@pytest.fixture(scope="module")
def failing(stage: Stage, plane: ControlPlane, overdue: Operator) -> Iterator[str]:
    """A namespace with one Benchmark for each case, and the operator at work on all of them."""
    namespace = stage.make_namespace(FAILURES)
    stage.apply(*POLICY)
    forbidden: Json = {"apiVersion": "elasticsearch.k8s.elastic.co/v1", "kind": "Elasticsearch"}
    forbidden["metadata"] = {"name": "refused-0", "namespace": namespace}
    forbidden["spec"] = {"version": "9.0.0", "nodeSets": [{"name": "default", "count": 1}]}
    stage.until(lambda: stage.would_refuse(forbidden, "not on this cluster"), "the policy is in force", 30)
    for name, case in CASES.items():
        stage.behave(namespace, name, **case.knobs)
    stage.apply(*(benchmark(namespace, name, **case.spec) for name, case in CASES.items()))
    operator = Operator(plane, namespace, maxActive=len(CASES), maxChecks=len(CASES))
    operator.start()
    yield namespace
    operator.lives()
    operator.stop()
    assert not operator.refused(), operator.refused()[:3]
    stage.promises_kept(namespace)


def _produced() -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.produces(case.reason)) for name, case in CASES.items()]


@pytest.mark.parametrize("name", _produced())
def test_fails_with_reason_and_words(stage: Stage, failing: str, name: str) -> None:
    case = CASES[name]
    status = stage.ends(failing, name, seconds=200)
    told = {key: status.get(key) for key in ("phase", "reason", "message", "progress", "racesDone")}
    assert (status["phase"], status["reason"]) == ("Failed", case.reason), told
    assert case.words in status["message"], told
    known = Reason(case.reason)
    if name in DOCUMENTED:
        said = status["message"].removeprefix("smoke: ").removeprefix("race-1: ")
        assert looks_like(known.example, said), f"{said}\nis not of the form\n{known.example}"
    conditions = {c["type"]: c for c in status["conditions"]}
    assert (conditions["Failed"]["status"], conditions["Failed"]["reason"]) == ("True", case.reason)
    assert conditions["Complete"]["status"] == "False"
    assert status["racesDone"] == case.valid
    assert [run.removeprefix(f"{name}-") for run in stage.runs(failing) if run.startswith(f"{name}-")] == [*case.runs]
    assert status["completionTime"]
    assert "step" not in status
    if case.before_a_cluster:
        assert conditions["Accepted"]["status"] == "False"
        assert "admittedTime" not in status, "no cluster was ever asked for"
    assert "finalizers" not in stage.benchmark(failing, name)["metadata"]


def test_kubectl_waits_for_a_failure(stage: Stage, failing: str) -> None:
    done = stage.plane.kubectl("wait", "--for=condition=Failed", "bm/dies", f"--namespace={failing}", "--timeout=240s")
    assert done.returncode == 0, done.stderr


def test_events_tell_the_reason(stage: Stage, failing: str) -> None:
    stage.ends(failing, "error-rate")

    def told() -> set[tuple[str, str]]:
        events = stage.all("events", failing)
        return {(e["type"], e["reason"]) for e in events if e["involvedObject"]["name"] == "error-rate"}

    stage.until(lambda: told() >= {("Warning", "ErrorRate"), ("Normal", "Racing"), ("Warning", "Failed")}, "events", 10)


def test_nothing_but_records_is_left(stage: Stage, failing: str) -> None:
    for name in CASES:
        stage.ends(failing, name, seconds=200)
    stage.is_clean(failing)
    records = {thing["metadata"]["name"] for thing in stage.all("configmaps", failing)}
    expected = set(itertools.chain.from_iterable(
        (f"{name}-{step}" for step in case.runs) for name, case in CASES.items()
    ))  # fmt: skip
    assert {name for name in records if name != "kube-root-ca.crt"} == expected


def test_a_failed_race_keeps_its_log_and_numbers_but_they_do_not_count(stage: Stage, failing: str) -> None:
    status = stage.ends(failing, "second-race-fails")
    good, bad = status["races"]
    assert (good["valid"], bad["valid"], bad["reason"]) == (True, False, "DocumentCountMismatch")
    record = stage.find("configmaps", failing, bad["record"])
    kept = {"record.json.gz", "resources.json.gz", "race.json.gz", "rally.log.gz"}
    assert record is not None and set(record["binaryData"]) == kept
    assert Record.from_json(text_of(record, "record.json")).tasks, "its numbers are in the record"  # type: ignore[union-attr]
    assert {task["throughput"]["races"] for task in status["results"]["tasks"]} == {1}, "and in no result"


@pytest.mark.produces(Reason.PROVISIONING_TIMEOUT)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no-node", "0/1 nodes ready; StatefulSet no-node-race-1-es-default: FailedCreate: create Pod "),
        ("no-check", "pod did not start in time; Job no-check-check: FailedCreate: Error creating: pods "),
    ],
)
def test_a_pod_that_a_quota_forbids_is_explained(stage: Stage, overdue: Operator, name: str, words: str) -> None:
    status = stage.ends("crowded", name, seconds=120)
    overdue.lives()
    assert (status["phase"], status["reason"]) == ("Failed", "ProvisioningTimeout")
    assert words in status["message"] and "exceeded quota: full" in status["message"], status["message"]
    stage.is_clean("crowded")
    stage.promises_kept("crowded")
    assert not overdue.refused(), overdue.refused()[:3]


@pytest.mark.produces(Reason.CLEANUP_TIMEOUT)
def test_a_cluster_that_somebody_holds_is_told(stage: Stage, overdue: Operator) -> None:
    status = stage.ends("holding", "held", seconds=120)
    overdue.lives()
    assert (status["phase"], status["reason"]) == ("Failed", "CleanupTimeout"), status.get("message")
    assert f"Elasticsearch held-race-1 (finalizers: {HOLD})" in status["message"]
    assert looks_like(Reason.CLEANUP_TIMEOUT.example, status["message"]), status["message"]
    assert status["racesDone"] == "1/1", "the numbers of the race count all the same"
    stage.patch("elasticsearches", "holding", "held-race-1", {"metadata": {"finalizers": None}})
    stage.is_clean("holding")
    stage.promises_kept("holding")


def test_a_race_that_never_ends_is_ended(stage: Stage, overdue: Operator) -> None:
    """Last in this file, whose first test began it long ago (the runner itself has two minutes to write its record)."""
    status = stage.ends("overdue", "bm", seconds=150)
    overdue.lives()
    overdue.stop()
    assert (status["phase"], status["reason"]) == ("Failed", "RaceTimeout")
    assert "not over after 2s" in status["message"]
    stage.is_clean("overdue")
    stage.promises_kept("overdue")
