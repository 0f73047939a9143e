"""Cleaning: what the step used is removed, unless its cluster is to be kept; then comes what is next."""

from dataclasses import replace
from datetime import timedelta

from fairlap.api.base import Json
from fairlap.api.condition_types import ConditionReason, ConditionType
from fairlap.api.kinds import ELASTICSEARCH, JOB
from fairlap.api.status import Phase, Step
from fairlap.plan.basis.conditions import Observation
from fairlap.plan.basis.seen import Delete, Plan, Seen
from fairlap.plan.basis.steps import builds_cluster, is_preparation, steps, title
from fairlap.plan.explain.leftover import describe_leftovers, report_leftovers
from fairlap.plan.explain.trouble import load_generators
from fairlap.plan.lifetimes.keep import KEPT
from fairlap.plan.room import line_up_again, take_back
from fairlap.plan.stages.between_steps import between_steps
from fairlap.plan.stages.patience import stage_deadline
from fairlap.plan.transition import update
from fairlap.plan.verdict import collect
from fairlap_race.contract.reasons import Reason


def cleaning(seen: Seen, step: Step) -> Plan:
    """Return the plan until nothing of the step is left but what stays, and then what `between_steps` says."""
    children, spec = seen.children, seen.subject.spec
    if back := take_back(seen, step):
        return back
    keep = _keeps_cluster(seen, step)
    pods = load_generators(children.pods) if keep else children.pods
    elasticsearch = None if keep else children.elasticsearch
    all_things: tuple[tuple[Delete, Json | None], ...] = (("elasticsearch", elasticsearch), ("job", children.job))
    if step.gives_way:  # the Job first: while it is there, its race may still begin and needs its cluster
        all_things = all_things[::-1]
    doomed = [(what, thing) for what, thing in all_things if thing is not None]
    deadline = stage_deadline(seen, step, timedelta(seconds=seen.settings.cleanup_seconds), begun=False)
    builds = builds_cluster(spec, step.name)
    if (doomed or pods) and not deadline.passed(seen.now):
        reason = ConditionReason.CLEANING_UP
        removing = Observation(ConditionType.CLUSTER_READY, False, reason, "the cluster is removed")
        phase: Phase = "Pending" if is_preparation(step.name) else "CleaningUp"
        return Plan(
            update(seen.status, phase=phase, progress=f"{title(spec, step.name)} · removing what it used"),
            delete=tuple(what for what, thing in doomed if not thing["metadata"].get("deletionTimestamp")),
            wake_in=10,
            observed=(removing,) if builds else (),
        )
    if not seen.confirmed and not keep:
        return Plan(seen.status, look=("children",))
    kinds = {"elasticsearch": ELASTICSEARCH.kind, "job": JOB.kind}
    there = [*((kinds[what], thing) for what, thing in doomed), *(("pod", pod) for pod in pods)]
    left = describe_leftovers(seen, step.name, there)
    status = report_leftovers(seen.status, left) if left else seen.status
    if step.gives_way and not left:
        return line_up_again(seen, step)
    if not status.failing:
        status = update(status, finished_step=step.name, gave_way=0, lacking_memory="")
    after = between_steps(replace(seen, status=update(status, step=None)))
    return replace(after, observed=(*(_cluster_after(seen, step, keep, left) if builds else ()), *after.observed))


def _cluster_after(seen: Seen, step: Step, keep: bool, left: str) -> tuple[Observation, ...]:
    """Return what is to be said of a step's own cluster after its cleaning up; `left`: what did not go away."""
    if keep:
        access = collect.describe_access(seen, step)
        reason = ConditionReason.CLUSTER_KEPT
        return (Observation(ConditionType.CLUSTER_READY, True, reason, access), Observation(KEPT, True, reason, access))
    if left:
        return (Observation(ConditionType.CLUSTER_READY, False, Reason.CLEANUP_TIMEOUT, left),)
    removed = "the cluster of the last race is removed"
    return (Observation(ConditionType.CLUSTER_READY, False, ConditionReason.CLUSTER_REMOVED, removed),)


def _keeps_cluster(seen: Seen, step: Step) -> bool:
    spec = seen.subject.spec
    if step.gives_way or not builds_cluster(spec, step.name) or seen.children.elasticsearch is None:
        return False
    last = step.name == steps(spec)[-1]
    return (spec.keep_cluster == "Always" and (last or seen.status.failing)) or (
        spec.keep_cluster == "OnFailure" and seen.status.failing
    )
