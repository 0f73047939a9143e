"""On which machines pods may be, and away from whom."""

import copy
from collections.abc import Collection, Iterable, Iterator, Sequence

from fairlap.api.base import Json
from fairlap.api.names import IN_TURN_LABEL, ROLE_ELASTICSEARCH, ROLE_LABEL, STEP_LABEL, UID_LABEL
from fairlap.api.spec import Scheduling
from fairlap.plan.basis.seen import Subject
from fairlap.plan.basis.steps import CHECK, PROBE

_MACHINE = "kubernetes.io/hostname"
_WISHED = "preferredDuringSchedulingIgnoredDuringExecution"
_EARLIER = (16, 8, 4, 2, 1)
"""weights of the first names of a list: together they change little of the score of a machine that is not in it"""
_DEMANDED = "requiredDuringSchedulingIgnoredDuringExecution"


def keep_apart(subject: Subject, role: str) -> Json:
    """Return a wish not to share a machine with this Benchmark's pods of a role; a small cluster cannot grant it."""
    return {
        "weight": 100,
        "podAffinityTerm": {
            "topologyKey": _MACHINE,
            "labelSelector": {"matchLabels": {UID_LABEL: subject.uid, ROLE_LABEL: role}},
        },
    }


def alone() -> Json:
    """Return the demand to share a machine with no pod of any Benchmark, in any namespace.

    The scheduler keeps it both ways: a pod with this demand goes to no machine that has such a pod, and afterwards no
    such pod comes to its machine, whatever that pod itself demands.
    """
    return {
        "topologyKey": _MACHINE,
        "labelSelector": {"matchExpressions": [{"key": ROLE_LABEL, "operator": "Exists"}]},
        "namespaceSelector": {},
    }


def away_from(kept: Iterable[str]) -> Json:
    """Return the demand to share a machine with no cluster that was kept; `kept`: the uids of its Benchmarks."""
    return {
        "topologyKey": _MACHINE,
        "labelSelector": {
            "matchLabels": {ROLE_LABEL: ROLE_ELASTICSEARCH},
            "matchExpressions": [{"key": UID_LABEL, "operator": "In", "values": sorted(kept)}],
        },
        "namespaceSelector": {},
    }


def anti_affinity(subject: Subject, roles: tuple[str, ...], *, exclusive: bool = False) -> Json:
    """Return a pod's affinity: a wish to be away from this Benchmark's `roles`, or the demand to be alone."""
    if exclusive:
        return {"podAntiAffinity": {_DEMANDED: [alone()]}}
    wishes = [keep_apart(subject, role) for role in roles]
    return {"podAntiAffinity": {_WISHED: wishes}}


def away_from_strangers(subject: Subject, beside: Collection[str] = ()) -> Json:
    """Return the demand to share a machine with no pod of another Benchmark that races; it is kept both ways, too.

    `beside`: the uids of Benchmarks that are none of these strangers; nor are those that it is raced in turn with,
    which are made after it.
    """
    in_turn = subject.spec.in_turn
    with_it = [{"key": IN_TURN_LABEL, "operator": "NotIn", "values": [in_turn.block]}] if in_turn else []
    return {
        "topologyKey": _MACHINE,
        "labelSelector": {
            "matchExpressions": [
                {"key": ROLE_LABEL, "operator": "Exists"},
                {"key": UID_LABEL, "operator": "NotIn", "values": [subject.uid, *sorted(beside)]},
                {"key": STEP_LABEL, "operator": "NotIn", "values": [PROBE, CHECK]},
                *with_it,
            ],
        },
        "namespaceSelector": {},
    }


def avoid_kept(manifest: Json, kept: Collection[str]) -> Json:
    """Return a cluster or a Job whose pods also demand to be away from the clusters of the Benchmarks `kept`."""
    return _demanding(manifest, away_from(kept)) if kept else manifest


def avoid_strangers(manifest: Json, subject: Subject, beside: Collection[str] = ()) -> Json:
    """Return a cluster or a Job of a Benchmark whose pods also demand to be away from those of all others.

    All but those of the Benchmarks `beside`, by their uids.
    """
    return _demanding(manifest, away_from_strangers(subject, beside))


def _demanding(manifest: Json, demand: Json) -> Json:
    found = copy.deepcopy(manifest)
    spec = found["spec"]
    for template in [spec["template"]] if "template" in spec else [part["podTemplate"] for part in spec["nodeSets"]]:
        template["spec"]["affinity"]["podAntiAffinity"].setdefault(_DEMANDED, []).append(demand)
    return found


def node_affinity(scheduling: Scheduling | None) -> Json:
    """Return the part of a pod's affinity that names machines: the only ones it may run on, and those it keeps off.

    Machines go by the name of the node, as the evidence has it: the label kubernetes.io/hostname may be another word.
    """
    found: Json = {}
    if scheduling and scheduling.machines:
        # A term takes one name, and one term is enough.
        terms = [{"matchFields": [_named("In", name)]} for name in dict.fromkeys(scheduling.machines)]
        found[_DEMANDED] = {"nodeSelectorTerms": terms}
    if scheduling and scheduling.avoid_machines:
        found[_WISHED] = list(_off(list(dict.fromkeys(scheduling.avoid_machines))))
    return {"nodeAffinity": found} if found else {}


def _off(names: Sequence[str]) -> Iterator[Json]:
    """Yield the wishes to keep off machines: off all of them and, where only these are left, off the earlier ones."""
    yield {"weight": 100, "preference": {"matchFields": [_named("NotIn", name) for name in names]}}
    if len(names) > 1:
        for weight, name in zip(_EARLIER, names, strict=False):
            yield {"weight": weight, "preference": {"matchFields": [_named("NotIn", name)]}}


def _named(operator: str, name: str) -> Json:
    return {"key": "metadata.name", "operator": operator, "values": [name]}


def machines(scheduling: Scheduling | None) -> Json:
    """Return the part of a pod's spec that says which machines it may run on."""
    if scheduling is None:
        return {}
    said = scheduling.to_json()
    return {key: said[key] for key in ("nodeSelector", "tolerations")}
