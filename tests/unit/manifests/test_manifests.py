"""Manifests as pure functions: what decides about fairness, safety and cleanup is in them."""

import copy
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlap.api.spec import ASKED_PATH, PROBE_NAME, PROBE_POINTER, BenchmarkSpec, Probe, PullSecret
from fairlap.api.status import NodeProcessors
from fairlap.manifests.affinity import avoid_kept
from fairlap.manifests.elasticsearch import elasticsearch, heap_mib
from fairlap.manifests.race_job import access, job, race_spec, record
from fairlap.plan.acceptance.spec_bounds import objections
from fairlap.plan.basis.seen import Subject
from fairlap.plan.basis.steps import needs_check
from fairlap.results.machine_facts import facts_of
from fairlap.settings import JdkImage, Settings
from fairlap_race.contract.request_files.probe import ProbeSpec, find_wrong_probes
from fairlap_race.contract.specification.document_plan import ExpectedByUser
from fairlap_race.contract.specification.race_spec import (
    MOST_SPEC_BYTES,
    SPEC_VARIABLE,
    CorporaSpec,
    GitSource,
    MetricsStoreSpec,
    RaceSpec,
    RequestsSource,
    parse_spec,
)
from fairlap_race.contract.specification.turns import TurnsSpec
from fairlap_race.linux.settings_files import read_numa_nodes

ASCII = st.characters(min_codepoint=32, max_codepoint=126)
SETTINGS = Settings(race_image="fairlap/race:1", jdk_images={21: JdkImage("jdk:21", "/opt/java")})


def subject(**elasticsearch: Any) -> Subject:
    race = {"track": {"configMap": {"name": "mine"}}, "params": {"bulk_size": 100}}
    spec = BenchmarkSpec.model_validate({"elasticsearch": {"version": "9.0.0", **elasticsearch}, "race": race})
    return Subject(name="bm", namespace="ns", uid="0123456789abcdef", generation=1, spec=spec)


def pod_of(manifest: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = manifest["spec"]["nodeSets"][0]["podTemplate"]["spec"]
    return found


@pytest.mark.parametrize("make", [elasticsearch, job])
def test_everything_has_an_owner_a_fixed_name_and_our_labels(make: Any) -> None:
    meta = make(subject(), "race-1", SETTINGS)["metadata"]
    assert (meta["name"], meta["namespace"]) == ("bm-race-1", "ns")
    assert meta["ownerReferences"][0]["uid"] == "0123456789abcdef"
    assert meta["labels"]["fairlap.dev/uid"] == "0123456789abcdef"
    of_record = record(subject(), "race-1")["metadata"]
    assert of_record == {**meta, "labels": {**meta["labels"], "fairlap.dev/part": "record"}}


def told_in(manifest: dict[str, Any]) -> str:
    (text,) = (it["value"] for it in container_of(manifest)["env"] if it["name"] == SPEC_VARIABLE)
    return str(text)


def container_of(manifest: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = manifest["spec"]["template"]["spec"]["containers"][0]
    return found


@pytest.mark.parametrize("step", ["check", "smoke", "race-1"])
@pytest.mark.parametrize(
    ("race", "over_http"),
    [
        ({"params": {"a": "ä" * 50_000, "b": "x" * 11_000}}, False),
        ({"params": {"a": "𝄞" * 13_000, "b": [1] * 12_000},
          "userTags": {f"{n:03}": "x" * 400 for n in range(50)}}, False),
        ({"sweep": {"task": "t" * 180, "clients": [*range(1, 201)], "duration": "1s"},
          "allow": {"errorRate": {"t" * 180: 0.5}}}, False),
        ({"sweep": {"task": "requests", "clients": [*range(1, 201)]}, "load": {"clients": 1, "duration": "1s"},
          "requests": {"configMap": {"name": "r"}}, "track": None}, True),
    ],
)  # fmt: skip
def test_what_is_accepted_fits_into_one_variable(race: dict[str, Any], over_http: bool, step: str) -> None:
    hosts = [f"http://{'h' * 50}-{number}.example.com:9200" for number in range(20)]
    built = {"target": {"kind": "http", "hosts": hosts}} if over_http else {"elasticsearch": {"version": "9.0.0"}}
    of = {**built, "timeouts": {"race": "100h"}, "race": {"track": {"configMap": {"name": "mine"}}, **race}}
    spec = BenchmarkSpec.model_validate(of)
    assert not list(objections(spec))
    asked = Subject(name="b" * 40, namespace="n" * 63, uid="0" * 36, generation=1, spec=spec)
    told = told_in(job(asked, step, SETTINGS))
    assert len(told.encode()) <= MOST_SPEC_BYTES and (step != "race-1" or len(told.encode()) > 37_000)
    assert parse_spec(told) == race_spec(asked, step, SETTINGS)


def test_no_letter_of_a_param_is_changed_on_its_way() -> None:
    params = {"a": "ä𝄞\n\u2028\0", "b": "$$ $(POD_NAME) $", "$(c)": "\\ \\u0024"}
    asked = subject()
    race = asked.spec.race.model_copy(update={"params": params})
    told = told_in(job(replace(asked, spec=asked.spec.model_copy(update={"race": race})), "race-1", SETTINGS))
    assert "ä𝄞" in told and "$" not in told and parse_spec(told).params == params
    half = asked.spec.race.model_copy(update={"params": {"a": "\ud800"}})
    told = told_in(job(replace(asked, spec=asked.spec.model_copy(update={"race": half})), "race-1", SETTINGS))
    assert parse_spec(told).params == {"a": "?"}, "half a character is none in an environment"


def test_heap_is_half_of_memory_and_requests_are_limits() -> None:
    manifest = elasticsearch(subject(resources={"limits": {"memory": "4Gi", "cpu": "2"}}), "race-1", SETTINGS)
    container = pod_of(manifest)["containers"][0]
    assert container["env"][0]["value"] == "-Xms2048m -Xmx2048m"
    assert container["resources"]["requests"] == container["resources"]["limits"] == {"memory": "4Gi", "cpu": "2"}
    huge = subject(resources={"limits": {"memory": "128Gi"}})
    assert heap_mib(huge.spec.elasticsearch) == 31 * 1024


def test_options_of_the_jvm_come_after_its_heap() -> None:
    manifest = elasticsearch(subject(heap="1g", jvm_options=["-XX:-UseG1GC", "-XX:+UseParallelGC"]), "race-1", SETTINGS)
    container = pod_of(manifest)["containers"][0]
    assert container["env"][0]["value"] == "-Xms1g -Xmx1g -XX:-UseG1GC -XX:+UseParallelGC"


def test_storage_is_a_claim_or_the_machine() -> None:
    claimed = elasticsearch(subject(storage={"className": "fast", "size": "20Gi"}), "race-1", SETTINGS)
    claim = claimed["spec"]["nodeSets"][0]["volumeClaimTemplates"][0]
    assert claim["metadata"]["labels"]["fairlap.dev/uid"] == "0123456789abcdef", "ownerless.py finds it by that"
    assert claim["metadata"]["name"] == "elasticsearch-data" and claim["spec"]["storageClassName"] == "fast"
    assert claimed["spec"]["volumeClaimDeletePolicy"] == "DeleteOnScaledownAndClusterDeletion"
    local = elasticsearch(subject(), "race-1", SETTINGS)
    assert "volumeClaimTemplates" not in local["spec"]["nodeSets"][0]
    assert pod_of(local)["volumes"] == [{"name": "elasticsearch-data", "emptyDir": {}}]


def test_pods_name_the_secrets_of_their_registries() -> None:
    spec = subject().spec.model_copy(update={"image_pull_secrets": [PullSecret(name="mine"), PullSecret(name="both")]})
    of = replace(subject(), spec=spec)
    settings = replace(SETTINGS, race_image_pull_secrets=("both", "all"))
    for pod in (job(of, "race-1", settings)["spec"]["template"]["spec"], pod_of(elasticsearch(of, "race-1", settings))):
        assert pod["imagePullSecrets"] == [{"name": "mine"}, {"name": "both"}, {"name": "all"}]
    assert "imagePullSecrets" not in pod_of(elasticsearch(subject(), "race-1", SETTINGS))


def test_no_machine_is_taken_away_from_a_race_and_no_volume_walked_through() -> None:
    template = job(subject(), "race-1", SETTINGS)["spec"]["template"]
    cluster = elasticsearch(subject(), "race-1", SETTINGS)["spec"]["nodeSets"][0]["podTemplate"]
    for pod in (template, cluster):
        assert pod["metadata"]["annotations"] == {
            "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
            "karpenter.sh/do-not-disrupt": "true",
        }
    assert template["spec"]["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"


def test_java_is_copied_from_its_image() -> None:
    pod = pod_of(elasticsearch(subject(java=21), "race-1", SETTINGS))
    jdk = next(container for container in pod["initContainers"] if container["name"] == "jdk")
    assert jdk["image"] == "jdk:21"
    assert {"name": "ES_JAVA_HOME", "value": "/opt/fairlap/jdk"} in pod["containers"][0]["env"]
    plain = pod_of(elasticsearch(subject(), "race-1", SETTINGS))
    assert [container["name"] for container in plain["initContainers"]] == ["fairlap-mounts"]


def test_the_mounts_are_shown_without_more_rights_or_much_memory() -> None:
    (shows,) = pod_of(elasticsearch(subject(), "race-1", SETTINGS))["initContainers"]
    assert shows["resources"]["requests"] == shows["resources"]["limits"]
    security = shows["securityContext"]  # what Pod Security's level restricted asks of a container
    assert security["capabilities"] == {"drop": ["ALL"]} and security["allowPrivilegeEscalation"] is False
    assert security["runAsNonRoot"] is True and security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert "image" not in shows and "volumeMounts" not in shows and shows["command"][:2] == ["sh", "-c"]


def test_a_machine_that_lacks_settings_stops_no_pod_and_what_is_printed_can_be_read() -> None:
    (shows,) = pod_of(elasticsearch(subject(), "race-1", SETTINGS))["initContainers"]
    ended = subprocess.run(shows["command"], capture_output=True, text=True, check=False, timeout=30)
    assert ended.returncode == 0 and "No such file" not in ended.stdout + ended.stderr
    assert ended.stdout.count("==> /proc/self/mountinfo <==") == 1
    found = facts_of(ended.stdout)
    assert found.memory_bytes and found.cpus
    if Path("/sys/kernel/mm/transparent_hugepage/enabled").exists():
        assert found.settings is not None and found.settings.huge_pages in ("always", "madvise", "never")
    if Path("/sys/devices/system/node/node0/cpulist").exists():
        assert found.cpu_numa_nodes == read_numa_nodes(found.cpus)


@pytest.mark.parametrize(
    ("resources", "whole"),
    [
        ({}, None),  # the default names no CPU: what a node is given then is decided apart
        ({"limits": {"cpu": "3", "memory": "4Gi"}, "requests": {"cpu": "3000m"}}, 3),
        ({"limits": {"cpu": "1500m", "memory": "4Gi"}}, None),
        ({"limits": {"cpu": "500m", "memory": "4Gi"}}, None),
        ({"limits": {"cpu": "2", "memory": "4Gi"}, "requests": {"cpu": "1"}}, None),
        ({"limits": {"cpu": "2", "memory": "4Gi"}, "requests": {"memory": "1Gi"}}, None),
        ({"limits": {"memory": "4Gi"}, "requests": {"cpu": "2"}}, None),
        ({"limits": {"cpu": "2"}}, None),
    ],
)
def test_what_shows_the_processors_is_as_large_as_elasticsearch_where_these_are_whole(
    resources: dict[str, Any], whole: int | None
) -> None:
    """A kubelet with the static policy gives a container the processors that an init container of its size had."""
    wanted = subject(**({"resources": resources} if resources else {}))
    pod = pod_of(elasticsearch(wanted, "race-1", SETTINGS))
    (shows,), (main,) = pod["initContainers"], pod["containers"]
    assert wanted.spec.elasticsearch is not None
    assert wanted.spec.elasticsearch.resources.whole_cores() == whole
    assert (shows["resources"] == main["resources"]) is (whole is not None)
    assert whole is not None or shows["resources"]["limits"] == {"cpu": "100m", "memory": "64Mi"}


def test_the_job_is_created_suspended_and_runs_once() -> None:
    spec = job(subject(), "race-1", SETTINGS)["spec"]
    assert spec["suspend"] is True and spec["backoffLimit"] == 0
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize(("step", "seconds"), [("race-1", 900 + 3600 + 300), ("check", 900 + 900 + 300)])
def test_the_jobs_own_deadline_has_room_for_the_wait_for_a_machine(step: str, seconds: int) -> None:
    """It counts from the moment when the Job is let run, and timeouts.race from the start of its pod."""
    timeouts = BenchmarkSpec.model_validate({
        **subject().spec.to_json(), "timeouts": {"provisioning": "15m", "race": "1h"},
    })  # fmt: skip
    found = job(replace(subject(), spec=timeouts), step, SETTINGS)["spec"]
    assert found["activeDeadlineSeconds"] == seconds


def test_no_secret_is_in_the_job() -> None:
    manifest = job(subject(), "race-1", SETTINGS)
    container = manifest["spec"]["template"]["spec"]["containers"][0]
    assert all("secretKeyRef" not in str(env) for env in container["env"])
    assert container["command"] == ["python", "-m", "fairlap_race"]
    security = container["securityContext"]
    assert security["readOnlyRootFilesystem"] and security["capabilities"] == {"drop": ["ALL"]}


def test_the_check_needs_no_cluster() -> None:
    names = {v["name"] for v in job(subject(), "check", SETTINGS)["spec"]["template"]["spec"]["volumes"]}
    assert names == {"work", "tmp", "track"}
    assert race_spec(subject(), "check", SETTINGS).hosts == ()


def test_the_runner_may_touch_its_own_record_only() -> None:
    account, role, binding = access(subject(), "race-1", "job-uid")
    assert role["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["bm-race-1", "bm-race-1-progress"],
            "verbs": ["get", "patch"],
        }
    ]
    (owner,) = account["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == ("Job", "bm-race-1", "job-uid", True)
    names = {thing["metadata"]["name"] for thing in (account, role, binding)}
    assert names == {binding["subjects"][0]["name"], binding["roleRef"]["name"]}
    pod = job(subject(), "race-1", SETTINGS)["spec"]["template"]["spec"]
    assert names == {pod["serviceAccountName"]}


def test_nobody_can_take_the_name_of_an_account_beforehand() -> None:
    """It changes with the Benchmark's uid, which nobody knows before it is there, and with the step."""
    one, again = subject(), replace(subject(), uid="fedcba9876543210")
    names = [job(of, step, SETTINGS)["spec"]["template"]["spec"]["serviceAccountName"]
             for of in (one, again) for step in ("check", "race-1")]  # fmt: skip
    assert len(set(names)) == 4 and not {"bm-check", "bm-race-1"} & set(names)
    assert all(len(name) == len("bm-check-") + 12 for name in names[::2])


@pytest.mark.parametrize("step", ["check", "smoke", "race-1"])
def test_the_runner_understands_what_it_is_told(step: str) -> None:
    told = parse_spec(race_spec(subject(), step, SETTINGS).to_json())
    assert told.record == f"bm-{step}"


def test_by_default_requests_are_limits_for_elasticsearch() -> None:
    whole, share = NodeProcessors(cpu="1", whole=True), NodeProcessors(cpu="500m")
    pod = pod_of(elasticsearch(subject(), "race-1", SETTINGS, processors=whole))
    for container in (*pod["initContainers"], *pod["containers"]):
        assert container["resources"]["requests"] == container["resources"]["limits"] == {"cpu": "1", "memory": "2Gi"}
    container = pod_of(elasticsearch(subject(), "race-1", SETTINGS, processors=share))["containers"][0]
    assert container["resources"] == {"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"memory": "2Gi"}}


def test_the_jdks_container_does_not_cost_the_pod_its_guarantee() -> None:
    pod = pod_of(elasticsearch(subject(java=21), "race-1", SETTINGS))
    jdk = next(container for container in pod["initContainers"] if container["name"] == "jdk")
    assert jdk["resources"] == pod["containers"][0]["resources"]


def test_the_nodes_get_what_the_track_does_not_take() -> None:
    given = {"index.codec": "best_compression"}
    found = elasticsearch(subject(config={"indices.memory.index_buffer_size": "20%"}), "race-1", SETTINGS, given)
    config = found["spec"]["nodeSets"][0]["config"]
    asked = {name: value for name, value in config.items() if value is not False}
    assert asked == {"index.codec": "best_compression", "indices.memory.index_buffer_size": "20%"}


WHOLE = {"search.default_allow_partial_results": False}


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({}, WHOLE),
        ({"search.max_buckets": 7}, {**WHOLE, "search.max_buckets": 7}),
        ({"search": {"max_buckets": 7}}, {**WHOLE, "search": {"max_buckets": 7}}),
        ({"search.default_allow_partial_results": True}, {"search.default_allow_partial_results": True}),
        ({"search": {"default_allow_partial_results": True}}, {"search": {"default_allow_partial_results": True}}),
    ],
)
def test_an_answer_in_part_is_an_error_unless_the_user_says_otherwise(
    config: dict[str, Any], found: dict[str, Any]
) -> None:
    config = elasticsearch(subject(config=config), "race-1", SETTINGS)["spec"]["nodeSets"][0]["config"]
    assert {name: value for name, value in config.items() if name.startswith("search")} == found


def test_the_runner_is_told_of_every_index_setting() -> None:
    index = {"shards": 2, "sourceMode": "stored", "settings": {"translog": {"durability": "async"}}}
    told = parse_spec(race_spec(subject(index=index), "race-1", SETTINGS).to_json()).index
    assert (told.shards, told.source_mode, told.settings) == (2, "stored", {"translog.durability": "async"})


def test_exclusive_nodes_are_a_demand_and_else_a_wish() -> None:
    def affinity(**scheduling: Any) -> Any:
        return pod_of(elasticsearch(subject(scheduling=scheduling), "race-1", SETTINGS))["affinity"]["podAntiAffinity"]

    assert [*affinity()] == ["preferredDuringSchedulingIgnoredDuringExecution"]
    (term,) = affinity(exclusiveNodes=True)["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["namespaceSelector"] == {} and term["labelSelector"]["matchExpressions"][0]["key"] == "fairlap.dev/role"


def machine_terms(affinity: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The machines that a pod may run on, and those that it keeps off, in Kubernetes' words."""
    node = affinity["nodeAffinity"]
    terms = node.get("requiredDuringSchedulingIgnoredDuringExecution", {"nodeSelectorTerms": []})["nodeSelectorTerms"]
    wishes = node.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    may = [field for term in terms for field in term["matchFields"]]
    off = [field for wish in wishes[:1] for field in wish["preference"]["matchFields"]]
    assert all(len(term["matchFields"]) == 1 for term in terms), "one of them"
    assert {(field["key"], field["operator"]) for field in may} <= {("metadata.name", "In")}
    assert {(field["key"], field["operator"]) for field in off} <= {("metadata.name", "NotIn")}
    return [name for field in may for name in field["values"]], [name for field in off for name in field["values"]]


@pytest.mark.parametrize("exclusive", [False, True])
def test_machines_by_their_names_beside_all_else(exclusive: bool) -> None:
    where = {"machines": ["b", "a", "b"], "avoidMachines": ["c", "d"]}
    plain = pod_of(elasticsearch(subject(scheduling={"exclusiveNodes": exclusive}), "race-1", SETTINGS))["affinity"]
    pinned = elasticsearch(subject(scheduling={"exclusiveNodes": exclusive, **where}), "race-1", SETTINGS)
    affinity = pod_of(avoid_kept(pinned, {"u": "ns/old"}))["affinity"]
    assert machine_terms(affinity) == (["b", "a"], ["c", "d"])
    assert "nodeAffinity" not in plain
    for kind, terms in plain["podAntiAffinity"].items():
        assert affinity["podAntiAffinity"][kind][: len(terms)] == terms, "what was asked for before stays"


@pytest.mark.parametrize(
    ("avoided", "order"),
    [
        (["a"], ["b", "c"]),  # alike
        (["a", "b"], ["c", "b", "a"]),
        (["c", "b", "a"], ["a", "b", "c"]),
        ([f"m{number}" for number in range(50)], ["a", "m49", "m2", "m1", "m0"]),
    ],
)
def test_off_all_that_are_avoided_and_else_off_the_first_ones(avoided: list[str], order: list[str]) -> None:
    where = {"avoidMachines": avoided}
    affinity = pod_of(elasticsearch(subject(scheduling=where), "race-1", SETTINGS))["affinity"]["nodeAffinity"]
    wishes = affinity["preferredDuringSchedulingIgnoredDuringExecution"]

    def liking(machine: str) -> int:
        kept = [wish for wish in wishes if all(machine not in it["values"] for it in wish["preference"]["matchFields"])]
        return sum(int(wish["weight"]) for wish in kept)

    likings = [liking(machine) for machine in order]
    known = [liking(machine) for machine in avoided]
    assert max(known) <= liking("another") / 4, "Kubernetes scales them: a free machine is far ahead of all of these"
    assert likings == sorted(likings, reverse=True) and (likings[0] >= 100) is (order[0] not in avoided)
    assert {wish["weight"] for wish in wishes} <= {*range(1, 101)}, "Kubernetes takes no other"


@pytest.mark.parametrize("step", ["check", "smoke", "race-1"])
def test_machines_of_the_load_generator(step: str) -> None:
    def affinity(**where: Any) -> Any:
        it = of_track({"builtin": "log_ingest"}, scheduling=where)
        return job(it, step, SETTINGS)["spec"]["template"]["spec"]["affinity"]

    assert machine_terms(affinity(machines=["a"])) == (["a"], [])
    assert machine_terms(affinity(avoidMachines=["a"])) == ([], ["a"])
    assert "nodeAffinity" not in affinity(nodeSelector={"pool": "load"})
    assert "podAntiAffinity" in affinity(machines=["a"])
    of_cluster = subject(scheduling={"machines": ["a"]})
    assert "nodeAffinity" not in job(of_cluster, step, SETTINGS)["spec"]["template"]["spec"]["affinity"]


def test_only_the_check_is_told_which_tasks_are_required() -> None:
    it = of_track({"builtin": "log_ingest"}, requireTasks=["bulk-index"])
    told = {step: parse_spec(race_spec(it, step, SETTINGS).to_json()) for step in ("check", "smoke", "race-1")}
    assert {step: spec.require_tasks for step, spec in told.items()} == {
        "check": ("bulk-index",), "smoke": (), "race-1": (),
    }  # fmt: skip


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("again", [None, ["search"]])
def test_what_is_raced_again_is_told_to_the_check_of_the_filling_and_to_all_steps_on_the_kept_cluster(
    kept: bool, again: list[str] | None
) -> None:
    place = {"target": {"hosts": ["https://es:9200"]}} if kept else {"elasticsearch": {"version": "9.0.0"}}
    race = {"track": {"builtin": "log_ingest"}}
    spec = BenchmarkSpec.model_validate({**place, "race": race, **({"racedAgain": again} if again else {})})
    it = Subject(name="bm", namespace="ns", uid="0123456789abcdef", generation=1, spec=spec)
    told = {step: parse_spec(race_spec(it, step, SETTINGS).to_json()) for step in ("check", "smoke", "race-1")}
    looked_at = tuple(again or ()) if not kept else ()
    assert [each.raced_again for each in told.values()] == [looked_at, (), ()]
    assert [each.target.kept if each.target else None for each in told.values()] == [bool(again) if kept else None] * 3


def test_a_sweep_is_told_to_check_and_races() -> None:
    sweep = {"task": "search", "clientsRange": {"from": 1, "to": 6, "step": 2}, "duration": "30s", "interval": "10s",
             "order": "random"}  # fmt: skip
    it = of_track({"builtin": "log_ingest"}, sweep=sweep, allow={"errorRate": {"search": 0.1, "bulk": 0.2}})
    steps = ("check", "smoke", "race-1", "race-2")
    told = {step: parse_spec(race_spec(it, step, SETTINGS).to_json()) for step in steps}
    assert told["smoke"].sweep is None and told["check"].sweep is not None
    assert told["check"].allowed_errors == told["smoke"].allowed_errors == {"search": 0.1, "bulk": 0.2}
    one, two = told["race-1"].sweep, told["race-2"].sweep
    assert one is not None and two is not None and one.seed != two.seed, "each race has an order of its own"
    assert (one.duration_seconds, one.warmup_seconds, one.interval_seconds) == (30, 0, 10)
    assert sorted(one.names) == ["search@1", "search@3", "search@5"]
    assert told["race-1"].allowed_errors == {"bulk": 0.2, **dict.fromkeys(one.names, 0.1)}


def test_what_is_expected_is_told_to_all_but_the_smoke_test() -> None:
    it = of_track({"builtin": "log_ingest"}, expect={"documents": {"t": 5}, "totalDocuments": 7})
    told = {step: parse_spec(race_spec(it, step, SETTINGS).to_json()).expect for step in ("check", "smoke", "race-1")}
    stated = ExpectedByUser({"t": 5}, 7)
    assert told == {"check": stated, "smoke": None, "race-1": stated}


@pytest.mark.parametrize("exclusive", [False, True])
def test_kept_clusters_are_kept_away_from(exclusive: bool) -> None:
    cluster = elasticsearch(subject(scheduling={"exclusiveNodes": exclusive}), "race-1", SETTINGS)
    rally = job(subject(), "race-1", SETTINGS)
    for manifest in (cluster, rally):
        before = copy.deepcopy(manifest)
        assert avoid_kept(manifest, ()) == before
        away = avoid_kept(manifest, {"v": "ns/older", "u": "ns/old"})
        assert manifest == before, "what was given is not changed"
        spec = pod_of(away) if manifest is cluster else away["spec"]["template"]["spec"]
        term = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][-1]
        (uids,) = term["labelSelector"]["matchExpressions"]
        assert uids == {"key": "fairlap.dev/uid", "operator": "In", "values": ["u", "v"]}
        assert term["labelSelector"]["matchLabels"] == {"fairlap.dev/role": "elasticsearch"}
        assert (term["namespaceSelector"], term["topologyKey"]) == ({}, "kubernetes.io/hostname")


def test_the_user_that_eck_makes_is_known_by_his_key_alone() -> None:
    target = {"hosts": ["https://es:9200"], "elasticUserSecret": {"name": "es-elastic-user"}}
    spec = BenchmarkSpec.model_validate({"target": target, "race": {"track": {"builtin": "log_ingest"}}})
    it = Subject(name="bm", namespace="ns", uid="0123456789abcdef", generation=1, spec=spec)
    told = race_spec(it, "race-1", SETTINGS)
    assert (told.user, told.user_file, str(told.password_file)) == ("elastic", None, "/run/fairlap/credentials/elastic")
    assert told.target and told.target.credentials_secret == "es-elastic-user"  # noqa: S105 - its name
    (volume,) = (v for v in job(it, "race-1", SETTINGS)["spec"]["template"]["spec"]["volumes"] if "secret" in v)
    assert volume["secret"]["items"] == [{"key": "elastic", "path": "elastic"}]


def test_an_api_key_and_a_certificate_are_files_of_the_race() -> None:
    target = {
        "hosts": ["https://es:9200"], "apiKeySecret": {"name": "key"}, "clientCertificateSecret": {"name": "client"},
    }  # fmt: skip
    spec = BenchmarkSpec.model_validate({"target": target, "race": {"track": {"builtin": "log_ingest"}}})
    it = Subject(name="bm", namespace="ns", uid="0123456789abcdef", generation=1, spec=spec)
    told = race_spec(it, "race-1", SETTINGS)
    assert (told.password_file, told.user_file) == (None, None)
    assert str(told.api_key_file) == "/run/fairlap/credentials/api-key"
    files = told.certificate_file, told.certificate_key_file
    assert [str(file) for file in files] == ["/run/fairlap/certificate/tls.crt", "/run/fairlap/certificate/tls.key"]
    assert told.target
    assert (told.target.credentials_secret, told.target.certificate_secret) == ("key", "client")
    pod = job(it, "race-1", SETTINGS)["spec"]["template"]["spec"]
    secrets = {
        v["secret"]["secretName"]: [i["key"] for i in v["secret"]["items"]] for v in pod["volumes"] if "secret" in v
    }
    assert secrets == {"key": ["api-key"], "client": ["tls.crt", "tls.key"]}
    mounts = {m["name"]: m["mountPath"] for m in pod["containers"][0]["volumeMounts"] if m.get("readOnly")}
    assert mounts == {"credentials": "/run/fairlap/credentials", "certificate": "/run/fairlap/certificate"}


def test_the_load_generator_has_a_scheduling_of_its_own() -> None:
    where = {"nodeSelector": {"pool": "load"}, "tolerations": [{"key": "load", "operator": "Exists"}]}
    spec = BenchmarkSpec.model_validate(
        {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"builtin": "log_ingest"}, "scheduling": where}}
    )
    it = Subject(name="bm", namespace="ns", uid="0123456789abcdef", generation=1, spec=spec)
    pod = job(it, "race-1", SETTINGS)["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"pool": "load"} and pod["tolerations"][0]["key"] == "load"
    assert "nodeSelector" not in pod_of(elasticsearch(it, "race-1", SETTINGS))


def of_track(track: dict[str, Any], **race: Any) -> Subject:
    spec = BenchmarkSpec.model_validate({"elasticsearch": {"version": "9.0.0"}, "race": {"track": track, **race}})
    return Subject(name="bm", namespace="ns", uid="0123456789abcdef", generation=1, spec=spec)


GIT = {"url": "https://example.com/tracks.git", "revision": "main", "path": "shop", "credentialsSecret": {"name": "s"}}


@pytest.mark.parametrize(
    ("track", "commit", "told"),
    [
        ({"builtin": "log_ingest"}, "", {"builtin": "log_ingest"}),
        ({"configMap": {"name": "mine"}}, "", {"path": "/track"}),
        ({"volume": {"claimName": "mine"}}, "", {"path": "/track"}),
        ({"volume": {"claimName": "mine", "path": "a/b"}}, "", {"path": "/track/a/b"}),
        ({"name": "geonames"}, "", {"url": SETTINGS.tracks_repository, "revision": SETTINGS.tracks_revision}),
        ({"name": "geonames", "revision": "9.0", "repository": "https://mirror/x"}, "", {"revision": "9.0"}),
        (
            {"git": GIT}, "",
            {"url": GIT["url"], "revision": "main", "credentials": "/run/fairlap/git", "credentialsSecret": "s"},
        ),
        ({"git": GIT}, "c" * 40, {"revision": "c" * 40}),
    ],
)  # fmt: skip
def test_the_runner_is_told_where_the_track_is(track: dict[str, Any], commit: str, told: dict[str, Any]) -> None:
    spec = race_spec(of_track(track), "race-1", SETTINGS, commit)
    written = json.loads(spec.to_json())["track"]
    given = written["git"] or written
    assert told.items() <= given.items()
    source = parse_spec(spec.to_json()).track.git
    assert (source is not None) == ("git" in track or "name" in track)
    assert source is None or source.path in ("geonames", "shop")


def test_what_the_track_needs_is_mounted() -> None:
    def pod(**race: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        found = job(of_track(**race), "check", SETTINGS)["spec"]["template"]["spec"]
        return {v["name"]: v for v in found["volumes"]}, {m["name"]: m for m in found["containers"][0]["volumeMounts"]}

    volumes, mounts = pod(track={"volume": {"claimName": "mine"}}, corpora={"claimName": "c", "maxSize": "1Gi"})
    assert volumes["track"]["persistentVolumeClaim"] == {"claimName": "mine", "readOnly": True}
    assert mounts["track"]["readOnly"] and "readOnly" not in mounts["corpora"]
    assert volumes["corpora"]["persistentVolumeClaim"] == {"claimName": "c"}
    volumes, mounts = pod(track={"builtin": "log_ingest"}, samples={"claimName": "kept"})
    assert volumes["samples"]["persistentVolumeClaim"] == {"claimName": "kept"} and "readOnly" not in mounts["samples"]
    volumes, mounts = pod(track={"git": GIT})
    assert volumes["git-credentials"]["secret"] == {"secretName": "s", "optional": True, "defaultMode": 0o440}
    assert mounts["git-credentials"]["mountPath"] == "/run/fairlap/git" and mounts["git-credentials"]["readOnly"]


MINE = {"volume": {"claimName": "mine"}}


@pytest.mark.parametrize(
    ("race", "claims", "paths"),
    [
        ({"track": MINE, "corpora": {"claimName": "mine"}, "samples": {"claimName": "mine"}},
         [{"claimName": "mine"}], {"/track": True, "/corpora": False, "/samples": False}),
        ({"track": MINE, "samples": {"claimName": "mine"}},
         [{"claimName": "mine"}], {"/track": True, "/samples": False}),
        ({"track": MINE, "corpora": {"claimName": "c"}, "samples": {"claimName": "c"}},
         [{"claimName": "mine", "readOnly": True}, {"claimName": "c"}],
         {"/track": True, "/corpora": False, "/samples": False}),
        ({"track": {"builtin": "replay"}, "requests": MINE, "samples": {"claimName": "mine"}},
         [{"claimName": "mine"}], {"/requests": True, "/samples": False}),
    ],
)  # fmt: skip
def test_a_claim_is_one_volume_however_often_it_is_mounted(
    race: dict[str, Any], claims: list[dict[str, Any]], paths: dict[str, bool]
) -> None:
    """A kubelet mounts one volume of a claim, and the pod would wait for the other for ever."""
    pod = job(of_track(**race), "race-1", SETTINGS)["spec"]["template"]["spec"]
    names = [each["name"] for each in pod["volumes"] if "persistentVolumeClaim" in each]
    assert [each["persistentVolumeClaim"] for each in pod["volumes"] if each["name"] in names] == claims
    mounts = [each for each in pod["containers"][0]["volumeMounts"] if each["name"] in names]
    assert {each["mountPath"]: each.get("readOnly", False) for each in mounts} == paths


@pytest.mark.parametrize(
    ("resources", "processes"),
    [
        ({}, 2),
        ({"limits": {"cpu": "3500m", "memory": "2Gi"}}, 3),
        ({"requests": {"cpu": "8"}, "limits": {"cpu": "500m", "memory": "2Gi"}}, 1),
        ({"requests": {"cpu": "8"}, "limits": {"memory": "2Gi"}}, 8),
        ({"requests": {"cpu": "500m"}, "limits": {"memory": "2Gi"}}, 1),
        ({"limits": {"memory": "2Gi"}}, 1),
    ],
)
def test_rally_sends_from_as_many_processes_as_it_has_processors(resources: dict[str, Any], processes: int) -> None:
    asked = of_track({"builtin": "log_ingest"}, **({"resources": resources} if resources else {}))
    assert race_spec(asked, "race-1", SETTINGS).cores == processes


VOLUME = Path("/requests")


@pytest.mark.parametrize(
    ("source", "commit", "told"),
    [
        ({"configMap": {"name": "mine"}}, "", RequestsSource(VOLUME)),
        ({"volume": {"claimName": "v", "path": "a/b"}, "file": "x"}, "", RequestsSource(VOLUME / "a/b", file="x")),
        (
            {"git": GIT}, "c" * 40,
            RequestsSource(git=GitSource(GIT["url"], "c" * 40, "shop", Path("/run/fairlap/git"), "s")),
        ),
    ],
)  # fmt: skip
def test_the_runner_is_told_where_the_requests_are(source: dict[str, Any], commit: str, told: RequestsSource) -> None:
    asked = of_track({"builtin": "replay"}, requests=source)
    written = race_spec(asked, "race-1", SETTINGS, commit).to_json()
    assert parse_spec(written).requests == told
    found = job(asked, "check", SETTINGS)["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in found["containers"][0]["volumeMounts"]}
    assert mounts.get("requests") == (None if "git" in source else "/requests")
    assert mounts.get("git-credentials") == ("/run/fairlap/git" if "git" in source else None)
    assert all(it["readOnly"] for it in found["containers"][0]["volumeMounts"] if it["name"] == "requests")


def test_the_runner_is_told_the_bound_in_bytes() -> None:
    told = race_spec(
        of_track({"builtin": "log_ingest"}, corpora={"claimName": "c", "maxSize": "1Gi"}), "race-1", SETTINGS
    )
    assert told.corpora == CorporaSpec(Path("/corpora"), 2**30) and told.offline is False


@pytest.mark.parametrize(
    ("secret", "keys", "told"),
    [
        ({}, [], {}),
        ({"credentialsSecret": {"name": "s"}}, ["username", "password"],
         {"user_file": "username", "password_file": "password"}),
        ({"elasticUserSecret": {"name": "s"}}, ["elastic"], {"password_file": "elastic"}),
        ({"apiKeySecret": {"name": "s"}}, ["api-key"], {"api_key_file": "api-key"}),
    ],
)  # fmt: skip
def test_the_runner_is_told_of_the_metrics_store_and_given_its_secrets_as_files(
    secret: dict[str, Any], keys: list[str], told: dict[str, str]
) -> None:
    store = {"hosts": ["https://keep:9200", "https://keep2:9200"], **secret, "caSecret": {"name": "ca"}}
    asked = of_track({"builtin": "log_ingest"}, metricsStore=store)
    folder = Path("/run/fairlap/metrics-store")
    expected = MetricsStoreSpec(
        hosts=("keep:9200", "keep2:9200"), tls=True, ca_file=Path("/run/fairlap/metrics-store-ca/ca.crt"),
        credentials_secret="s" if secret else None, ca_secret="ca",  # noqa: S106
        **{name: folder / key for name, key in told.items()},  # type: ignore[arg-type]
    )  # fmt: skip
    for step in ("check", "smoke", "race-1"):
        assert parse_spec(race_spec(asked, step, SETTINGS).to_json()).metrics_store == expected
    assert race_spec(asked, "probe", SETTINGS).metrics_store is None
    pod = job(asked, "race-1", SETTINGS)["spec"]["template"]["spec"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounts = {mount["name"]: mount for mount in pod["containers"][0]["volumeMounts"]}
    assert volumes["metrics-store-ca"]["secret"]["secretName"] == "ca" and mounts["metrics-store-ca"]["readOnly"]
    assert ("metrics-store" in volumes) is bool(secret)
    if secret:
        kept = volumes["metrics-store"]["secret"]
        assert kept["secretName"] == "s" and [item["key"] for item in kept["items"]] == keys and kept["optional"]
        assert mounts["metrics-store"] == {"name": "metrics-store", "mountPath": str(folder), "readOnly": True}


def test_a_metrics_store_is_looked_at_by_the_check() -> None:
    alone = of_track({"builtin": "log_ingest"}).spec
    assert not needs_check(alone)
    assert needs_check(of_track({"builtin": "log_ingest"}, metricsStore={"hosts": ["http://keep:9200"]}).spec)


def test_warm_ups_of_races_alone_may_be_prolonged() -> None:
    asked = of_track({"builtin": "log_ingest"}, steady={"maxWarmup": "1m30s"})
    found = {step: race_spec(asked, step, SETTINGS).most_warmup_seconds for step in ("race-1", "check", "smoke")}
    assert found == {"race-1": 90, "check": None, "smoke": None}
    assert race_spec(of_track({"builtin": "log_ingest"}), "race-1", SETTINGS).most_warmup_seconds is None


def test_how_long_the_canary_works_is_the_installation_s_to_say() -> None:
    asked = of_track({"builtin": "log_ingest"})
    assert race_spec(asked, "race-1", SETTINGS).canary_seconds == RaceSpec.canary_seconds == 3
    assert race_spec(asked, "race-1", replace(SETTINGS, canary_seconds=0)).canary_seconds == 0


def test_samples_are_kept_of_races_and_not_of_what_prepares_them() -> None:
    asked = of_track({"builtin": "log_ingest"}, samples={"claimName": "kept"})
    assert race_spec(asked, "race-1", SETTINGS).samples == Path("/samples")
    assert race_spec(asked, "check", SETTINGS).samples is None
    assert race_spec(asked, "smoke", SETTINGS).samples is None


@pytest.mark.parametrize("place", [{"elasticsearch": {"version": "9.0.0"}}, {"target": {"hosts": ["https://es:9200"]}}])
def test_probes_reach_the_runner_without_their_bounds(place: dict[str, Any]) -> None:
    path = "/_nodes/stats/indices?filter_path=nodes.*.indices.request_cache"
    share = {"name": "share", "path": path, "part": "/nodes/*/a~1b", "rest": "/nodes/*/c~0d", "between": [0, 1]}
    rate = {"name": "rate", "path": "/d/status", "pointer": "/1/r", "weight": "/1/n", "between": [40, 60]}
    race = {"track": {"builtin": "log_ingest"}, "probes": [share, rate]}
    it = replace(subject(), spec=BenchmarkSpec.model_validate({**place, "race": race}))
    told = parse_spec(race_spec(it, "race-1", SETTINGS).to_json()).probes
    assert told == (
        ProbeSpec("share", path, part="/nodes/*/a~1b", rest="/nodes/*/c~0d"),
        ProbeSpec("rate", "/d/status", pointer="/1/r", weight="/1/n"),
    )


@given(st.builds(dict, **{  # type: ignore[arg-type]
    field: st.from_regex(re.compile(pattern.removesuffix("$") + r"\Z", re.ASCII), alphabet=ASCII).filter(
        lambda text: len(text) <= 63
    )
    for field, pattern in (("name", PROBE_NAME), ("path", ASKED_PATH), ("pointer", PROBE_POINTER))
}))  # fmt: skip
def test_what_the_schema_lets_through_the_runner_takes(probe: dict[str, str]) -> None:
    made = Probe.model_validate({**probe, "between": [1, 2]})
    assert not list(find_wrong_probes([ProbeSpec(made.name, made.path, made.pointer)]))


@pytest.mark.parametrize(("provisioning", "seconds"), [("1m", 1200), ("15m", 1200), ("30m", 2100), ("24h", 86700)])
def test_races_in_turn_wait_for_the_others_as_long_as_their_pods_may_wait(provisioning: str, seconds: int) -> None:
    spec = of_track({"builtin": "log_ingest"}).spec.model_dump(by_alias=True, exclude_none=True)
    in_turn = {"block": "b", "races": 2, "number": 1, "at": "10.0.0.1:9330"}
    told_of = {**spec, "timeouts": {"provisioning": provisioning}, "inTurn": in_turn}
    asked = replace(of_track({"builtin": "log_ingest"}), spec=BenchmarkSpec.model_validate(told_of))
    told = race_spec(asked, "race-1", SETTINGS)
    assert told.turns == TurnsSpec("b", 2, 1, "10.0.0.1:9330", others_seconds=seconds)
    assert race_spec(asked, "smoke", SETTINGS).turns is None and parse_spec(told.to_json()) == told
