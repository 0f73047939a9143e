"""Whose an object is: its controller's owner reference and its namespace say so; a label only helps to find it.

An owner counts only in its own namespace, so nobody can forge a child from another one. Whoever may write into the
Benchmark's namespace can: docs/security.md says what that means.
"""

from collections.abc import Mapping
from typing import Any

from fairlap.api.base import Json
from fairlap.api.kinds import ELASTICSEARCH, JOB
from fairlap.api.names import KIND, ROLE_LABEL, ROLE_LOAD_GENERATOR, STEP_LABEL, UID_LABEL
from fairlap.api.owners import controller, controller_uid
from fairlap.kube.index import UidIndex
from fairlap.manifests.elasticsearch import NODE_SET
from fairlap.plan.basis.seen import Subject
from fairlap.plan.basis.steps import object_name
from fairlap.plan.comparison.comparison_seen import ComparisonSubject

Body = Mapping[str, Any]


def owner_uid(body: Body) -> str | None:
    """Return the uid of the Benchmark that controls an object; None when none does."""
    return controller_uid(body, KIND) or None


def claimed_uid(body: Body) -> str | None:
    """Return the uid of the Benchmark that an object names in its label, which proves nothing."""
    found = (body["metadata"].get("labels") or {}).get(UID_LABEL)
    return str(found) if found else None


def step_of(thing: Body) -> str:
    """Return the step that a child belongs to, by its label; "" when it has none."""
    return str((thing["metadata"].get("labels") or {}).get(STEP_LABEL, ""))


def is_controlled_by(body: Body, subject: Subject | ComparisonSubject) -> bool:
    """Return whether an object is controlled by this Benchmark or Comparison, and is in its namespace."""
    return body["metadata"].get("namespace") == subject.namespace and controller_uid(body, subject.kind) == subject.uid


def is_of_job(body: Body, subject: Subject, step: str, job_uid: str | None) -> bool:
    """Return whether an object is controlled by the Job of a step; `job_uid` None: the Job is gone, its name says."""
    owner, name = controller(body), object_name(subject.name, step)
    same = (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) == (JOB.api_version, JOB.kind, name)
    return same and body["metadata"].get("namespace") == subject.namespace and owner["uid"] == (job_uid or owner["uid"])


def is_pod_of(pod: Body, subject: Subject, step: str, job_uid: str | None) -> bool:
    """Return whether a pod is of the step's Job, or of the StatefulSet that ECK makes for the step's cluster.

    The uid of the StatefulSet is not known here, since nobody else needs a right to read those, nor is that of a Job
    which is gone (`job_uid` None): their names are this step's alone in its namespace.
    """
    meta, owner, name = pod["metadata"], controller(pod), object_name(subject.name, step)
    if meta.get("namespace") != subject.namespace or claimed_uid(pod) != subject.uid or step_of(pod) != step:
        return False
    if meta["labels"].get(ROLE_LABEL) == ROLE_LOAD_GENERATOR:
        return is_of_job(pod, subject, step, job_uid)
    by_set = ("apps/v1", "StatefulSet", f"{name}-es-{NODE_SET}")
    return (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) == by_set


def is_endpoint_of(endpoint_slice: Body, subject: Subject, step: str) -> bool:
    """Return whether an EndpointSlice is of the http service that ECK makes for the step's cluster."""
    owner, service = controller(endpoint_slice), f"{object_name(subject.name, step)}-es-http"
    wanted = (subject.namespace, subject.uid, "v1", "Service", service)
    of = (endpoint_slice["metadata"].get("namespace"), claimed_uid(endpoint_slice))
    return (*of, owner.get("apiVersion"), owner.get("kind"), owner.get("name")) == wanted


def uid_of(thing: Json | None) -> str | None:
    """Return the uid of an object, None when there is no object."""
    return str(thing["metadata"]["uid"]) if thing else None


def indexed_under(plural: str, body: Body) -> str | None:
    """Return the uid that an object is kept under: of its owner, or the one it names where its owner is another."""
    return owner_uid(body) if plural in (ELASTICSEARCH.plural, JOB.plural) else claimed_uid(body)


def objects_of(index: UidIndex, namespace: str, uid: str) -> list[Json]:
    """Return what an index has of a Benchmark: an owner of another namespace is none."""
    return [thing for thing in index.get(uid, ()) if thing["metadata"].get("namespace") == namespace]
