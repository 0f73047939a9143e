"""Names, labels and owners of everything that is made."""

from fairlap.api.base import Json
from fairlap.api.names import (
    API_VERSION,
    BENCHMARK_LABEL,
    IN_TURN_LABEL,
    KIND,
    MANAGED_BY,
    MANAGER,
    ROLE_LABEL,
    STEP_LABEL,
    UID_LABEL,
    is_race,
)
from fairlap.plan.basis.seen import Subject
from fairlap.plan.basis.steps import object_name


def labels(subject: Subject, step: str, role: str | None = None) -> dict[str, str]:
    """Return the labels of an object of one step; `role` is for pods."""
    found = {
        MANAGED_BY: MANAGER,
        BENCHMARK_LABEL: subject.name,
        UID_LABEL: subject.uid,
        STEP_LABEL: step,
    }
    return {**found, ROLE_LABEL: role} if role else found


def in_turn_labels(subject: Subject, step: str) -> dict[str, str]:
    """Return the further label of a pod that sends its requests in turn with those of other Benchmarks."""
    in_turn = subject.spec.in_turn
    return {IN_TURN_LABEL: in_turn.block} if in_turn and is_race(step) else {}


def owner(subject: Subject) -> Json:
    """Return the ownerReference to the Benchmark, so that its deletion deletes everything."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": subject.name,
        "uid": subject.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def metadata(subject: Subject, step: str, owned_by: Json | None = None) -> Json:
    """Return the metadata of an object of one step; owned by the Benchmark unless another owner is given."""
    return {
        "name": object_name(subject.name, step),
        "namespace": subject.namespace,
        "labels": labels(subject, step),
        "ownerReferences": [owned_by or owner(subject)],
    }
