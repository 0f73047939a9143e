"""Between two steps: whether there is another one, whether it is its turn, and what it needs before it begins."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from fairlap.api.condition_types import ConditionType
from fairlap.plan.basis.conditions import Observation, moment, stamp
from fairlap.plan.basis.deadline import Deadline
from fairlap.plan.basis.node_processors import decide
from fairlap.plan.basis.seen import Plan, Seen
from fairlap.plan.basis.steps import CHECK, builds_cluster, config_map_key, step_after, steps, title
from fairlap.plan.node_memory import lacking_memory
from fairlap.plan.stages.ending import end_failed, end_succeeded
from fairlap.plan.transition import describe_lacking, describe_wait, enter, update
from fairlap.plan.verdict import checked_by
from fairlap_race.contract.reasons import Reason

# Tools apply a folder in some order: the track's ConfigMap may come a little after the Benchmark.
_TRACK_PATIENCE: Final = timedelta(seconds=20)


def between_steps(seen: Seen) -> Plan:
    """Return the plan when no step is begun: to begin the next one, to wait for a turn, or to end the Benchmark."""
    status, spec = seen.status, seen.subject.spec
    if status.failing:
        return end_failed(seen, status.reason, status.message)
    upcoming = step_after(spec, status.finished_step)
    if upcoming is None:
        return _after_all_steps(seen)
    if kept_back := _keep_back(seen, upcoming):
        return kept_back
    if upcoming == CHECK and spec.checked_by and (taken := _take_over(seen)):
        return taken
    if upcoming == CHECK and spec.target is None:
        if not seen.check_turn.may_go:
            words = describe_wait(seen.check_turn, "in the line for track checks")
            return Plan(update(status, phase="Pending", progress=words))
        return _check_track(replace(seen, status=update(status, queued_time=None)))
    # On an existing cluster even a look waits for its turn: before that it would see another Benchmark's indices.
    if not seen.turn.may_go:
        # A place that its Comparison no longer lends, or that others have got, is not its to keep.
        admitted = None if seen.turn.led_by or seen.lost_place else status.admitted_time
        words = describe_wait(seen.turn, "in the queue")
        return Plan(update(status, phase="Queued", progress=words, admitted_time=admitted))
    status = update(status, admitted_time=status.admitted_time or stamp(seen.now), queued_time=None)
    if upcoming == CHECK:
        return _check_track(replace(seen, status=status))
    if spec.elasticsearch is None:
        return Plan(enter(status, upcoming, "Starting", seen))
    return _provision(replace(seen, status=status), upcoming)


def _keep_back(seen: Seen, upcoming: str) -> Plan | None:
    """Return the plan for one whose turn is not asked for, since it is suspended, or can never come; else None."""
    spec = seen.subject.spec
    if spec.suspend:
        text = f"suspended before {title(spec, upcoming)}"
        return Plan(update(seen.status, phase="Pending", progress=text, admitted_time=None))
    if spec.target and spec.raced_again and not _may_race_again(seen):
        text = (
            "racedAgain is what a Comparison writes for its races on a cluster that it keeps for them, and the target "
            "is none such: leave racedAgain out"
        )
        refused = Observation(ConditionType.ACCEPTED, False, Reason.INVALID_SPEC, text)
        return end_failed(seen, Reason.INVALID_SPEC, text, refused)
    if not seen.turn.leader_over:
        return None
    text = (
        f"this is a race of Comparison {seen.turn.led_by}, so its turn never comes: delete it; a copy of your own must "
        "not have its metadata.ownerReferences"
    )
    return end_failed(seen, Reason.INVALID_SPEC, text)


def _may_race_again(seen: Seen) -> bool:
    """Return whether one on a target may still be a race on a kept cluster, where tasks of any effect may run."""
    # Anybody may write an owner: what waits for that one's turn does nothing yet.
    return seen.kept_for_it or (bool(seen.turn.led_by) and not seen.turn.may_go)


def _after_all_steps(seen: Seen) -> Plan:
    status, spec = seen.status, seen.subject.spec
    if lacking := describe_lacking(spec, status):  # whatever led to it: no success without its races
        return end_failed(seen, Reason.INTERNAL_ERROR, lacking)
    return end_succeeded(seen)


def _provision(seen: Seen, upcoming: str) -> Plan:
    """Return the plan to build a cluster; before the first one, to find out what the machines have for it."""
    status, spec = seen.status, seen.subject.spec
    built = spec.elasticsearch
    undecided = built is not None and status.node_processors is None and not built.resources.names_cpu()
    first = upcoming == next(it for it in steps(spec) if builds_cluster(spec, it))
    if (undecided or first) and seen.machines is None:
        return Plan(status, look=("machines",))
    if undecided:
        status = update(status, node_processors=decide(spec, seen.machines))
    if first:
        status = update(status, lacking_memory=lacking_memory(spec, seen.machines))
    return Plan(enter(status, upcoming, "Provisioning", seen))


def _take_over(seen: Seen) -> Plan | None:
    """Return the plan to believe the check of the Benchmark that checkedBy names; None when the track is checked."""
    if seen.checker is None:
        return Plan(seen.status, look=("checker",))
    judged = checked_by.judge_other(seen)
    if judged is None:
        return None
    text = f"track check: that of {seen.subject.spec.checked_by} holds"
    return Plan(update(judged.status, finished_step=CHECK, progress=text), observed=judged.observed)


def _check_track(seen: Seen) -> Plan:
    needed = config_map_key(seen.subject.spec.race)
    if needed is not None:
        if seen.track_keys is None:
            return Plan(seen.status, look=("track",))
        if needed.key not in seen.track_keys:
            began = moment(seen.status.start_time or stamp(seen.now))
            if not Deadline(began, _TRACK_PATIENCE).passed(seen.now):
                text = f"waiting for ConfigMap {needed.name} with the key {needed.key}"
                return Plan(update(seen.status, progress=text), wake_in=2)
            has = f"has only {', '.join(sorted(seen.track_keys))}" if seen.track_keys else "does not exist"
            message = (
                f"{needed.field} {needed.name} {has}: create it in namespace {seen.subject.namespace} "
                f"with the key {needed.key} and {needed.beside}"
            )
            own = seen.subject.spec.race.requests is None
            reason = Reason.TRACK_NOT_FOUND if own else Reason.REQUESTS_INVALID
            return end_failed(seen, reason, message, Observation(ConditionType.ACCEPTED, False, reason, message))
    return Plan(enter(seen.status, CHECK, "Starting", seen))
