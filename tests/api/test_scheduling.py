"""Which machines the pods get: the real kube-scheduler, and machines that are there by name only."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus
from fairlap.manifests.affinity import avoid_kept
from fairlap.manifests.elasticsearch import elasticsearch
from fairlap.manifests.race_job import job
from fairlap.plan.basis.seen import Seen, Subject
from fairlap.plan.explain.trouble import explain_unschedulable, find_troubles
from fairlap.queue.turn import Turn
from fairlap.settings import Settings
from fairlap_race.contract.reasons import Reason

from .controlplane import ControlPlane

Json = dict[str, Any]
SCHEDULER = "scheduling-tests"
NAMESPACE = "scheduling"
SMALL = {"limits": {"cpu": "100m", "memory": "64Mi"}}
EXCLUSIVE = {"scheduling": {"exclusiveNodes": True}}


class Bench:
    """The pods of one Benchmark, made from its manifests as ECK and the Job controller would."""

    def __init__(self, plane: ControlPlane, name: str, race: Json | None = None, **elasticsearch: Any) -> None:
        self.plane, self.name = plane, name
        self.spec = BenchmarkSpec.model_validate(
            {
                "elasticsearch": {"version": "9.0.0", "resources": SMALL, **elasticsearch},
                "race": {"track": {"builtin": "log_ingest"}, "resources": SMALL, **(race or {})},
            }
        )
        self.subject = Subject(name=name, namespace=NAMESPACE, uid=f"uid-{name}", generation=1, spec=self.spec)

    def seen(self, **kept: str) -> Seen:
        return Seen(self.subject, BenchmarkStatus(), Settings("race"), datetime.now(UTC), Turn(may_go=True), kept=kept)

    def start_elasticsearch(self, *kept: str) -> list[str]:
        """The machines of the Elasticsearch pods; "" for one that has none; `kept`: Benchmarks with kept clusters."""
        made = avoid_kept(elasticsearch(self.subject, "race-1", Settings("race")), [f"uid-{name}" for name in kept])
        node_set = made["spec"]["nodeSets"][0]
        names = [f"{self.name}-es-{number}" for number in range(node_set["count"])]
        for name in names:
            self._create(name, node_set["podTemplate"])
        return [self.machine(name) for name in names]

    def start_load_generator(self, *kept: str) -> str:
        """The machine of Rally's pod; "" when it has none; `kept`: Benchmarks with kept clusters."""
        made = avoid_kept(job(self.subject, "race-1", Settings("race")), [f"uid-{name}" for name in kept])
        self._create(f"{self.name}-rally", made["spec"]["template"])
        return self.machine(f"{self.name}-rally")

    def pod(self, name: str) -> Json:
        found: Json = json.loads(self.plane.kubectl("-n", NAMESPACE, "get", "pod", name, "-o", "json").stdout)
        return found

    def machine(self, name: str) -> str:
        """The pod's machine, once the scheduler has found one or said that there is none."""
        until = time.monotonic() + 240
        while time.monotonic() < until:
            pod = self.pod(name)
            said = [c for c in pod["status"].get("conditions", ()) if c["type"] == "PodScheduled"]
            if pod["spec"].get("nodeName") or said:
                return str(pod["spec"].get("nodeName", ""))
            time.sleep(0.1)
        raise AssertionError(f"the scheduler said nothing about {name}")

    def _create(self, name: str, template: Json) -> None:
        # What decides about machines is kept; images, volumes and accounts are not there.
        spec = {
            key: template["spec"][key] for key in ("affinity", "nodeSelector", "tolerations") if key in template["spec"]
        }
        containers = [
            {"name": c["name"], "image": "none", "resources": c["resources"]} for c in template["spec"]["containers"]
        ]
        spec |= {"containers": containers, "schedulerName": SCHEDULER}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **template["metadata"]}, "spec": spec}
        done = self.plane.kubectl("-n", NAMESPACE, "create", "--filename=-", stdin=json.dumps(pod))
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def scheduler(plane: ControlPlane) -> ControlPlane:
    plane.start_scheduler(SCHEDULER)
    plane.kubectl("create", "namespace", NAMESPACE)
    plane.kubectl("-n", NAMESPACE, "create", "serviceaccount", "default")
    return plane


@pytest.fixture
def machines(scheduler: ControlPlane) -> Iterator[Callable[..., None]]:
    """A function that makes machines: names, and for one that is special a label and a taint of its own name."""
    made: list[str] = []

    def make(*names: str, special: str = "") -> None:
        for name in names:
            labels = {"kubernetes.io/hostname": name, **({"only": name} if name == special else {})}
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
            assert scheduler.kubectl("create", "--filename=-", stdin=json.dumps(node)).returncode == 0
            made.append(name)
            room = {"cpu": "4", "memory": "8Gi", "pods": "20"}
            status = {"status": {"capacity": room, "allocatable": room}}
            taints = [{"key": "only", "value": name, "effect": "NoSchedule"}] if name == special else None
            scheduler.kubectl("patch", "node", name, "--subresource=status", "--patch", json.dumps(status))
            # The API server marks a new machine as not ready, and nobody here would take that back.
            done = scheduler.kubectl("patch", "node", name, "--patch", json.dumps({"spec": {"taints": taints}}))
            assert done.returncode == 0, done.stderr

    yield make
    scheduler.kubectl("-n", NAMESPACE, "delete", "pod", "--all", "--grace-period=0", "--force")
    scheduler.kubectl("delete", "node", *made)


def test_where_there_is_room_everybody_has_a_machine(scheduler: ControlPlane, machines: Callable[..., None]) -> None:
    machines("m1", "m2", "m3")
    bench = Bench(scheduler, "roomy", nodes=2)
    assert len({*bench.start_elasticsearch(), bench.start_load_generator()} - {""}) == 3


def test_where_there_is_none_the_machine_is_shared(scheduler: ControlPlane, machines: Callable[..., None]) -> None:
    machines("m1")
    bench = Bench(scheduler, "narrow", nodes=2)
    assert [*bench.start_elasticsearch(), bench.start_load_generator()] == ["m1"] * 3


def test_exclusive_machines_are_shared_with_no_pod_of_a_benchmark(
    scheduler: ControlPlane, machines: Callable[..., None]
) -> None:
    machines("m1", "m2", "m3")
    bench, other = Bench(scheduler, "alone", nodes=2, **EXCLUSIVE), Bench(scheduler, "other")
    taken = bench.start_elasticsearch()
    (free,) = {"m1", "m2", "m3"} - {*taken}
    assert len({*taken}) == 2
    assert bench.start_load_generator() == free
    # Another Benchmark does not ask for anything, and yet is kept off.
    assert [*other.start_elasticsearch(), other.start_load_generator()] == [free, free]
    # A third one that asks finds no machine without such a pod.
    assert Bench(scheduler, "third", **EXCLUSIVE).start_elasticsearch() == [""]


def test_what_is_missing_for_exclusive_machines_is_said(scheduler: ControlPlane, machines: Callable[..., None]) -> None:
    machines("m1")
    bench = Bench(scheduler, "tight", **EXCLUSIVE)
    assert (bench.start_elasticsearch(), bench.start_load_generator()) == (["m1"], "")
    (trouble,) = find_troubles([bench.pod("tight-rally")])
    told = explain_unschedulable(trouble, bench.seen())
    assert told is not None and told.reason == Reason.UNSCHEDULABLE
    assert "nodes are available" in told.message and "anti-affinity" in told.message
    assert "exclusiveNodes asks for 1 machine(s)" in told.message


@pytest.mark.long
def test_no_race_is_placed_beside_a_kept_cluster(scheduler: ControlPlane, machines: Callable[..., None]) -> None:
    machines("m1", "m2", "m3")
    (occupied,) = Bench(scheduler, "kept").start_elasticsearch()
    free = {"m1", "m2", "m3"} - {occupied}
    bench = Bench(scheduler, "beside", nodes=3)
    assert {*bench.start_elasticsearch("kept"), bench.start_load_generator("kept")} == free
    # What nobody is told of keeps nobody away: a small cluster that wants it otherwise says so in the chart.
    other = Bench(scheduler, "careless", nodes=3)
    assert {*other.start_elasticsearch()} == {"m1", "m2", "m3"}


def test_a_kept_cluster_on_the_only_machine_is_said(scheduler: ControlPlane, machines: Callable[..., None]) -> None:
    machines("m1")
    assert Bench(scheduler, "kept").start_elasticsearch() == ["m1"]
    bench = Bench(scheduler, "waiting")
    assert bench.start_elasticsearch("kept") == [""]
    told = explain_unschedulable(find_troubles([bench.pod("waiting-es-0")])[0], bench.seen(u="team/kept"))
    assert told is not None and "anti-affinity" in told.message
    assert "no race is placed beside a kept cluster: there is that of team/kept, until" in told.message
    # Kubernetes tells the scheduler when it goes, and the pod that waits gets the machine.
    scheduler.kubectl("-n", NAMESPACE, "delete", "pod", "kept-es-0", "--grace-period=0", "--force")
    deadline = time.monotonic() + 240
    while not bench.pod("waiting-es-0")["spec"].get("nodeName"):
        assert time.monotonic() < deadline, "it never got the machine"
        time.sleep(0.2)


def test_the_load_generator_goes_where_it_is_told(scheduler: ControlPlane, machines: Callable[..., None]) -> None:
    machines("m1", "m2", special="m2")
    there = {"nodeSelector": {"only": "m2"}, "tolerations": [{"key": "only", "value": "m2"}]}
    bench = Bench(scheduler, "told", race={"scheduling": there}, nodes=2)
    assert (bench.start_elasticsearch(), bench.start_load_generator()) == (["m1", "m1"], "m2")
    refused = Bench(scheduler, "refused", race={"scheduling": {"nodeSelector": {"only": "m2"}}})
    assert refused.start_load_generator() == ""
