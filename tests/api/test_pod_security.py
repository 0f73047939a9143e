"""Pods in a namespace of the Pod Security level `restricted`, as a real API server judges them."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from tests.fixtures.message_form import looks_like

from fairlap.api.spec import BenchmarkSpec
from fairlap.manifests.elasticsearch import elasticsearch
from fairlap.manifests.race_job import job
from fairlap.plan.basis.seen import Subject
from fairlap.settings import JdkImage, Settings
from fairlap_race.contract.reasons import Reason

from .controlplane import ControlPlane
from .manifests import benchmark
from .operator_process import Operator
from .stage import Stage

Json = dict[str, Any]
Install = Callable[..., Operator]
SETTINGS = Settings(race_image="race:1", jdk_images={21: JdkImage(image="jdk:21", path="/jdk")})
# What ECK 3.5 gives each container that has no security context of its own, from Elasticsearch 8.8 on.
BY_ECK = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "privileged": False,
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
}


def subject() -> Subject:
    spec = {"elasticsearch": {"version": "9.0.0", "java": 21}, "race": {"track": {"builtin": "log_ingest"}}}
    return Subject("bm", "ns", "uid-1", 1, BenchmarkSpec.model_validate(spec))


def with_eck(pod: Json) -> Json:
    """The pod template as ECK completes it: images, and security where there is none."""
    for container in (*pod["initContainers"], *pod["containers"]):
        container.setdefault("image", "elasticsearch:9.0.0")
        container.setdefault("securityContext", BY_ECK)
    return pod | {"securityContext": {"fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}}}


def pods() -> dict[str, Json]:
    cluster = elasticsearch(subject(), "race-1", SETTINGS)["spec"]["nodeSets"][0]["podTemplate"]["spec"]
    return {
        "elasticsearch": with_eck(cluster),
        "load-generator": job(subject(), "race-1", SETTINGS)["spec"]["template"]["spec"],
    }


def restricted(plane: ControlPlane) -> str:
    """A new namespace that enforces the level."""
    name = f"restricted-{uuid.uuid4().hex[:8]}"
    level = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": level}}
    assert plane.kubectl("create", "-f", "-", stdin=json.dumps(namespace)).returncode == 0
    return name


@pytest.mark.parametrize("role", ["elasticsearch", "load-generator"])
def test_pods_fit_the_level_restricted(plane: ControlPlane, role: str) -> None:
    name = restricted(plane)
    spec = {**pods()[role], "serviceAccountName": "default"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "namespace": name}, "spec": spec}
    if role == "elasticsearch":
        pod["spec"].setdefault("volumes", [])
    done = plane.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))
    assert "violates PodSecurity" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr


@pytest.mark.produces(Reason.POD_REFUSED)
def test_a_cluster_whose_pods_the_level_refuses_ends_the_race_soon(
    stage: Stage, namespace: str, install: Install
) -> None:
    """The pods of the fake ECK are like those of an old version: its containers have no security of their own."""
    done = stage.plane.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    assert done.returncode == 0, done.stderr
    install(namespace)
    stage.apply(benchmark(namespace))  # its deadline is 15 minutes
    status = stage.ends(namespace, "bm")
    assert (status["phase"], status["reason"]) == ("Failed", "PodRefused"), status
    said = status["message"].removeprefix("smoke: ")
    assert looks_like(Reason.POD_REFUSED.example, said.replace("-smoke-", "-race-1-")), said
    (failed,) = (c["message"] for c in status["conditions"] if c["type"] == "Failed")
    assert "What to do: Give the namespace a level that allows it" in failed
    stage.is_clean(namespace)
