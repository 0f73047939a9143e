"""Bad input on a real cluster: what a user sees, and that nothing is left."""

import json
import time

import pytest
from tests.fixtures.message_form import looks_like

from fairlap_race.contract.reasons import Reason
from kube import SMALL_JVM, Namespace, benchmark, condition, until

pytestmark = [pytest.mark.e2e, pytest.mark.independent]

TRACK = '{% import "rally.helpers" as rally %}\n{"version": 2, "description": "d",\n "schedule": [{{ nonsense }}]}\n'


def inline(name: str, **files: str) -> dict[str, object]:
    data = {key.replace("_json", ".json"): text for key, text in files.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_a_broken_track_is_found_before_a_cluster_is_built(namespace: Namespace) -> None:
    namespace.apply(inline("broken", track_json=TRACK))
    namespace.apply(benchmark("broken", race={"track": {"configMap": {"name": "broken"}}}))
    done = namespace.attempt("wait", "--for=condition=Failed", "bm/broken", "--timeout=400s", seconds=420)
    status = namespace.status("broken")
    assert done.returncode == 0, status
    assert (status["reason"], condition(status, "Accepted")) == ("TrackInvalid", "False")
    assert "track.json" in status["message"] and "3" in status["message"] and "nonsense" in status["message"]
    assert not status.get("races")
    namespace.nothing_left_of("broken")


def test_a_missing_track_and_an_unknown_challenge_are_said(namespace: Namespace) -> None:
    namespace.apply(benchmark("lost", race={"track": {"configMap": {"name": "nowhere"}}}))
    assert namespace.until_over("lost", 60)["reason"] == "TrackNotFound"
    namespace.apply(benchmark("odd", race={"challenge": "nope"}))
    status = namespace.until_over("odd", 60)
    assert status["reason"] == "UnknownChallenge" and "high-concurrency" in status["message"]


def test_an_unknown_parameter_is_found_before_a_cluster_is_built(namespace: Namespace) -> None:
    namespace.apply(benchmark("typo", race={"params": {"bulk_sizes": 100}}))
    status = namespace.until_over("typo", 120)
    assert status["reason"] == "UnknownParameter" and "bulk_sizes" in status["message"]


@pytest.mark.produces(Reason.ELASTICSEARCH_BOOTSTRAP)
def test_a_setting_that_elasticsearch_refuses_is_explained_by_its_log(namespace: Namespace) -> None:
    config = {"no.such.setting": True}
    namespace.apply(benchmark("badsetting", elasticsearch={"config": config}, race={"params": {}}))
    status = namespace.until_over("badsetting", 420)
    assert status["reason"] == "ElasticsearchBootstrap" and "no.such.setting" in status["message"]
    assert looks_like(Reason.ELASTICSEARCH_BOOTSTRAP.example, status["message"]), status["message"]
    namespace.nothing_left_of("badsetting")


@pytest.mark.produces(Reason.PROVISIONING_TIMEOUT)
def test_a_cluster_that_needs_longer_than_it_may(namespace: Namespace) -> None:
    for name in ("hasty", "hasty-again", "hasty-at-last"):
        namespace.until_no_pod_is_alone()
        namespace.apply(benchmark(name, race={"params": {}}, timeouts={"provisioning": "5s"}))
        status = namespace.until_over(name, 120)
        namespace.nothing_left_of(name)
        if "anti-affinity" not in status["message"]:  # else a test beside this one began to have the machine alone
            break
    assert status["reason"] == "ProvisioningTimeout" and "0/1 nodes ready" in status["message"], status


@pytest.mark.produces(Reason.OUT_OF_MEMORY)
def test_a_memory_limit_that_is_no_more_than_the_heap(namespace: Namespace) -> None:
    little = {"requests": {"cpu": "100m"}, "limits": {"memory": "570Mi"}}
    # As Elasticsearch does by itself: its heap is there at once, and not little by little while it starts.
    cramped = {"resources": little, "jvmOptions": [*SMALL_JVM, "-XX:+AlwaysPreTouch"]}
    namespace.apply(benchmark("cramped", elasticsearch=cramped, race={"params": {}}))
    status = namespace.until_over("cramped", 300)
    # Of the kernel's kill the kubelet may hear nothing but the exit code, which may be that of the launcher.
    assert status["reason"] == "OutOfMemory", status
    assert "OOMKilled" in status["message"] or ", exit code 137)" in status["message"], status
    namespace.nothing_left_of("cramped")


@pytest.mark.long
def test_an_elasticsearch_that_was_killed_while_it_started_voids_no_race(namespace: Namespace) -> None:
    """Kubernetes starts its container again, and the race begins when it is ready."""
    namespace.apply(benchmark("hardstart"))
    pod = "hardstart-race-1-es-default-0"
    inside = ("exec", pod, "-c", "elasticsearch", "--")
    until(lambda: namespace.attempt(*inside, "true").returncode == 0, 300, lambda: "it never ran", pause=0.5)
    namespace.attempt(*inside, "sh", "-c", "kill -9 -1")  # ends with what it kills
    restarts = "jsonpath={.status.containerStatuses[?(@.name=='elasticsearch')].restartCount}"
    until(lambda: namespace.kubectl("get", "pod", pod, "-o", restarts) == "1", 120, lambda: "it was not started again")
    status = namespace.until_over("hardstart")
    assert status["phase"] == "Succeeded", status
    assert status["races"][0]["valid"], status["races"]


def test_deleting_as_soon_as_there_is_a_claim_leaves_none(namespace: Namespace) -> None:
    """ECK makes itself the owner of a claim only some time after Kubernetes has made it: in every second try or so."""
    for _ in range(3):
        wanted = benchmark("early", elasticsearch={"storage": {"size": "1Gi"}}, race={"params": {}})
        namespace.apply(wanted)
        until(lambda: "early" in namespace.kubectl("get", "pvc", "-o", "name"), 60, lambda: "no claim", pause=0.1)
        namespace.kubectl("delete", "bm", "early", "--timeout=200s")
        namespace.nothing_left_of("early", 120)
    until(lambda: looked_at_again(namespace, "early-"), 60, lambda: volumes(namespace))


def test_deleting_while_it_races_removes_everything(namespace: Namespace) -> None:
    wanted = benchmark("deleted", elasticsearch={"storage": {"size": "1Gi"}}, race={"params": {"documents": 100000}})
    namespace.apply(wanted)
    namespace.reach("deleted", "Racing")
    namespace.kubectl("delete", "bm", "deleted", "--timeout=200s")
    namespace.nothing_left_of("deleted", 120)
    until(lambda: "deleted-" not in volumes(namespace), 60, lambda: volumes(namespace))


def looked_at_again(namespace: Namespace, prefix: str) -> bool:
    """Whether no volume is left; touches those without a claim.

    A provisioner that is still making the volume when its claim goes may keep it in its cache as not yet released, and
    then looks at it again only when it changes.
    """
    for volume in json.loads(namespace.kubectl("get", "pv", "-o", "json"))["items"]:
        released = volume.get("status", {}).get("phase") == "Released"
        if released and volume["spec"]["claimRef"]["name"].find(prefix) >= 0:
            name = volume["metadata"]["name"]
            namespace.attempt("annotate", "pv", name, "--overwrite", f"tests.fairlap.dev/seen={time.time():.0f}")
    return prefix not in volumes(namespace)


def volumes(namespace: Namespace) -> str:
    """The claims of all volumes there are."""
    return namespace.kubectl("get", "pv", "-o", "jsonpath={.items[*].spec.claimRef.name}")
