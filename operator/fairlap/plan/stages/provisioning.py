"""Provisioning: the step's cluster is asked for, and waited for until all its nodes are ready."""

from fairlap.api.condition_types import ConditionReason, ConditionType
from fairlap.api.quantity import parse_duration
from fairlap.api.status import Step
from fairlap.plan.basis.conditions import Observation
from fairlap.plan.basis.deadline import wake_in
from fairlap.plan.basis.seen import Plan, Seen
from fairlap.plan.basis.steps import title
from fairlap.plan.explain.readiness import explain_overdue, find_lacking
from fairlap.plan.explain.trouble import (
    Trouble,
    elasticsearch_pods,
    explain_unschedulable,
    find_mishaps,
    find_troubles,
    was_replaced,
)
from fairlap.plan.explain.warned import find_refusal
from fairlap.plan.failure import fail_if_refused, fail_unready
from fairlap.plan.room import give_lost_place_up, look_again_in, room_search
from fairlap.plan.stages.patience import (
    cluster_refused,
    fail_or_give_way,
    pods_refused,
    pull_deadline,
    stage_deadline,
    until_pods,
)
from fairlap.plan.transition import enter, one_line, update


def provisioning(seen: Seen, step: Step) -> Plan:
    """Return the plan until the step's cluster is ready: to create it, to wait, or to fail."""
    spec, children = seen.subject.spec, seen.children
    wanted = spec.elasticsearch
    assert wanted is not None  # noqa: S101 - nothing is provisioned for a target
    allowed = parse_duration(spec.timeouts.provisioning)
    there = children.elasticsearch
    made = there["metadata"].get("creationTimestamp") if there else None
    deadline = stage_deadline(seen, step, allowed, begun=there is not None, at=made)
    room = room_search(seen, deadline)
    if over := fail_if_refused(seen) or give_lost_place_up(seen, step, allowed) or cluster_refused(seen, step):
        return over
    found = find_lacking(children, wanted.nodes)
    lacking = children.foreign or (found.phrase if found else "")
    if not lacking:
        text = f"{wanted.nodes} node(s) of Elasticsearch {wanted.version} are ready"
        ready = Observation(ConditionType.CLUSTER_READY, True, ConditionReason.CLUSTER_READY, text)
        return Plan(enter(seen.status, step.name, "Starting", seen), observed=(ready,))
    if was_replaced(there, children.pods) and seen.evictions is None:
        return Plan(seen.status, look=("evictions",))
    evicted = find_mishaps((), seen.evictions or {})
    troubles = [*evicted, *find_troubles(elasticsearch_pods(children.pods))]
    hindrance = explain_unschedulable(next(iter(troubles), None), seen)
    pull = pull_deadline(deadline, hindrance)
    if stuck := fail_or_give_way(seen, step, hindrance, deadline, pull, room):
        return stuck
    missing = there is not None and len(elasticsearch_pods(children.pods)) < wanted.nodes
    if refused := pods_refused(seen, step, missing, "StatefulSet"):
        return refused
    if deadline.passed(seen.now):
        reason, message = explain_overdue(children, wanted.nodes)
        late = Trouble(reason, children.foreign or message, final=True)
        pods = elasticsearch_pods(children.pods)
        return fail_unready(seen, late, pods, wanted.nodes, "Elasticsearch", "StatefulSet")
    hindrance = hindrance or find_refusal(seen.warnings or (), ("StatefulSet",))
    unready = Observation(ConditionType.CLUSTER_READY, False, ConditionReason.PROVISIONING, lacking)
    if hindrance:
        unready = unready._replace(reason=hindrance.reason, message=f"{lacking} ({hindrance.message})")
    progress = one_line(f"{title(spec, step.name)} · cluster: {lacking}", hindrance)
    return Plan(
        update(seen.status, progress=progress),
        create=("elasticsearch",) if there is None else (),
        wake_in=until_pods(look_again_in(seen, hindrance, room, wake_in(seen.now, deadline, pull)), missing),
        observed=(unready,),
    )
