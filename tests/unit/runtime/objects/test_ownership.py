"""Whose an object is: no label, and nothing in another namespace, makes it a Benchmark's."""

import asyncio
from typing import Any

import pytest
from world import START, seen

from fairlap.api.status import Step
from fairlap.kube.api_error import ApiError
from fairlap.plan.basis.conditions import stamp
from fairlap.runtime.objects.ownership import indexed_under, objects_of, owner_uid, step_of
from fairlap.runtime.objects.project import project_child
from fairlap.runtime.objects.writes import create_child
from fairlap.runtime.reconcilers.look import ChildIndexes, select_children

Json = dict[str, Any]
SUBJECT = seen().subject
PLURALS = ("elasticsearches", "jobs", "configmaps", "pods", "endpointslices")


def step(job_uid: str | None = None) -> Step:
    return Step(name="race-1", stage="Running", since=stamp(START), job_uid=job_uid)


def owner(api: str, kind: str, name: str, uid: str = "o1", *, controls: bool = True) -> list[Json]:
    return [{"apiVersion": api, "kind": kind, "name": name, "uid": uid, "controller": controls}]


BY_US = owner("fairlap.dev/v1alpha1", "Benchmark", "bm", SUBJECT.uid)
BY_SET = owner("apps/v1", "StatefulSet", "bm-race-1-es-default")
BY_JOB = owner("batch/v1", "Job", "bm-race-1", "job-1")
BY_SERVICE = owner("v1", "Service", "bm-race-1-es-http")


def body(owners: list[Json], namespace: str = "ns", role: str = "", **more: Any) -> Json:
    labels = {"fairlap.dev/uid": SUBJECT.uid, "fairlap.dev/step": "race-1", "fairlap.dev/benchmark": "bm"}
    labels |= {"fairlap.dev/role": role} if role else {}
    labels["kubernetes.io/service-name"] = "bm-race-1-es-http"
    meta = {"name": "x", "namespace": namespace, "uid": "x1", "labels": labels, "ownerReferences": owners}
    return {"metadata": meta, "spec": {}, **more}


def children(*things: tuple[str, Json], of: Step | None = None) -> Any:
    """What a decision sees, when the watches have told of these objects."""
    indexes: dict[str, dict[str, list[Json]]] = {plural: {} for plural in PLURALS}
    for plural, thing in things:
        if uid := indexed_under(plural, thing):
            indexes[plural].setdefault(uid, []).append(project_child(plural, thing))
    return select_children(SUBJECT, of or step(), ChildIndexes(*indexes.values()))


OF_JOB = body(BY_JOB, data={"progress": "{}"})
REAL: dict[str, tuple[str, Json]] = {
    "elasticsearch": ("elasticsearches", body(BY_US)),
    "job": ("jobs", body(BY_US)),
    "progress": ("configmaps", body(BY_US, data={"progress": "{}"})),
    "pods": ("pods", body(BY_SET, role="elasticsearch")),
    "ready_endpoints": ("endpointslices", body(BY_SERVICE, endpoints=[{"addresses": ["10.0.0.1"]}])),
}


@pytest.mark.parametrize("what", REAL)
def test_what_the_controllers_make_is_believed(what: str) -> None:
    assert getattr(children(REAL[what]), what)


@pytest.mark.parametrize(("job_uid", "believed"), [("job-1", True), ("job-2", False)])
def test_progress_may_be_of_the_job(job_uid: str, believed: bool) -> None:
    assert bool(children(("configmaps", OF_JOB), of=step(job_uid)).progress) is believed
    assert not children(("configmaps", elsewhere(OF_JOB)), of=step(job_uid)).progress


def elsewhere(thing: Json) -> Json:
    return {**thing, "metadata": {**thing["metadata"], "namespace": "theirs"}}


def ownerless(thing: Json) -> Json:
    return {**thing, "metadata": {**thing["metadata"], "ownerReferences": []}}


def not_controlled(thing: Json) -> Json:
    (reference,) = thing["metadata"]["ownerReferences"]
    return {**thing, "metadata": {**thing["metadata"], "ownerReferences": [{**reference, "controller": False}]}}


def by_another_kind(thing: Json) -> Json:
    (reference,) = thing["metadata"]["ownerReferences"]
    return {**thing, "metadata": {**thing["metadata"], "ownerReferences": [{**reference, "apiVersion": "x.io/v1"}]}}


@pytest.mark.parametrize("forge", [elsewhere, ownerless, not_controlled, by_another_kind])
@pytest.mark.parametrize("what", REAL)
def test_a_label_proves_nothing(what: str, forge: Any) -> None:
    plural, thing = REAL[what]
    assert not getattr(children((plural, forge(thing))), what)


@pytest.mark.parametrize(
    ("owners", "role", "job_uid", "believed"),
    [
        (BY_JOB, "load-generator", "job-1", True),
        (BY_JOB, "load-generator", "job-2", False),
        (BY_JOB, "load-generator", None, True),  # the Job is gone, its pods end
        (owner("batch/v1", "Job", "other-race-1", "job-1"), "load-generator", "job-1", False),
        (BY_JOB, "elasticsearch", "job-1", False),
        (BY_SET, "load-generator", "job-1", False),
        (owner("apps/v1", "StatefulSet", "other-race-1-es-default"), "elasticsearch", None, False),
    ],
)
def test_a_pod_is_of_its_job_or_of_the_stateful_set(
    owners: list[Json], role: str, job_uid: str | None, believed: bool
) -> None:
    assert bool(children(("pods", body(owners, role=role)), of=step(job_uid)).pods) is believed


def test_what_is_kept_under_a_uid_is_of_one_namespace() -> None:
    index = {"u": [body(BY_US), body(BY_US, "theirs")]}
    assert objects_of(index, "ns", "u") == [body(BY_US)]
    assert (owner_uid({"metadata": {}}), step_of({"metadata": {}})) == (None, "")


class Server:
    """Has one object, whose name is therefore taken."""

    def __init__(self, there: Json | None) -> None:
        self.there = there

    async def create(self, manifest: Json) -> Json:
        raise ApiError(409, "already exists")

    async def find(self, kind: str, namespace: str, name: str) -> Json | None:
        return self.there


@pytest.mark.parametrize(
    "kind", ["ServiceAccount", "Role", "RoleBinding", "Job", "ConfigMap", "Elasticsearch", "Anything"]
)
@pytest.mark.parametrize(
    ("owners", "ours"),
    [
        (BY_JOB, True),
        (owner("batch/v2", "Job", "bm-race-1", "job-1"), True),
        (owner("batch/v1", "Job", "bm-race-1", "job-0"), False),  # of a Benchmark that was deleted
        (owner("batch/v1", "Job", "bm-race-1", "job-1", controls=False), False),
        (owner("x.io/v1", "Job", "bm-race-1", "job-1"), False),
        ([], False),
    ],
)
def test_what_has_the_name_is_ours_by_its_controller(kind: str, owners: list[Json], ours: bool) -> None:
    wanted = {"kind": kind, "metadata": {"name": "n", "namespace": "ns", "ownerReferences": BY_JOB}}
    server: Any = Server({"metadata": {"ownerReferences": owners}})
    words = asyncio.run(create_child(server, wanted))
    assert words == ("" if ours else f"waiting for {kind} n, which is not of this Benchmark, to go away")


def test_a_conflict_without_an_object_of_the_name_is_no_success() -> None:
    """A quota that is counted anew answers 409, too, and an old object may go between the two requests."""
    wanted = {"kind": "ConfigMap", "metadata": {"name": "n", "namespace": "ns", "ownerReferences": BY_JOB}}
    server: Any = Server(None)
    with pytest.raises(ApiError) as raised:
        asyncio.run(create_child(server, wanted))
    assert (raised.value.status, raised.value.message) == (409, "already exists"), "which is tried again soon"


@pytest.mark.parametrize("status", [0, 403, 422, 500])
def test_what_was_not_created_for_another_cause_is_told_as_it_is(status: int) -> None:
    class Refusing(Server):
        async def create(self, manifest: Json) -> Json:
            raise ApiError(status, "no")

    server: Any = Refusing({"metadata": {"ownerReferences": BY_JOB}})
    wanted = {"kind": "Job", "metadata": {"name": "n", "namespace": "ns", "ownerReferences": BY_JOB}}
    with pytest.raises(ApiError) as raised:
        asyncio.run(create_child(server, wanted))
    assert raised.value.status == status


def test_what_we_control_not_ourselves_is_never_adopted() -> None:
    wanted = {"kind": "ConfigMap", "metadata": {"name": "n", "namespace": "ns", "ownerReferences": []}}
    server: Any = Server({"metadata": {}})
    assert asyncio.run(create_child(server, wanted)).startswith("waiting for ConfigMap n")
