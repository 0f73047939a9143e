"""Running: the step's Job is let run once, watched until its record is there, and the record is judged."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from fairlap.api.base import Json
from fairlap.api.quantity import parse_duration
from fairlap.api.raw import as_mapping
from fairlap.api.status import Step
from fairlap.plan.basis.conditions import moment, stamp
from fairlap.plan.basis.deadline import Deadline, wake_in
from fairlap.plan.basis.seen import Plan, Seen
from fairlap.plan.basis.steps import is_preparation, title
from fairlap.plan.explain.readiness import explain_overdue_run
from fairlap.plan.explain.trouble import (
    Trouble,
    elasticsearch_pods,
    explain_unschedulable,
    find_ending,
    find_troubles,
    is_running,
    load_generators,
    machines_of,
    running_log,
    was_replaced,
)
from fairlap.plan.explain.warned import find_refusal
from fairlap.plan.failure import fail, fail_if_refused, fail_unready, fail_with_log
from fairlap.plan.room import RoomSearch, give_lost_place_up, look_again_in, room_search
from fairlap.plan.stages.patience import fail_or_give_way, pods_refused, pull_deadline, stage_deadline, until_pods
from fairlap.plan.transition import describe_progress, enter, one_line, running_phase, update
from fairlap.plan.verdict import collect
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Progress

# The runner ends a race by itself at timeouts.race; the operator waits for its record before it ends the Job. A track
# check is ended by the operator alone.
RUNNER_GRACE: Final = timedelta(seconds=120)
# The events of progress, Job and pods come over different watches: why a pod ended may be seen a little later.
_RECORD_PATIENCE: Final = timedelta(seconds=15)
# After its grace a kubelet kills a container and says so at once; clocks differ, and so do watches.
_END_PATIENCE: Final = timedelta(seconds=75)
# Phases of a pod.
_ENDED: Final = ("Succeeded", "Failed")


def running(seen: Seen, step: Step) -> Plan:
    """Return the plan while a step's Job is there and afterwards; of one that is lost no race begins anew."""
    children = seen.children
    progress = Progress.from_json(children.progress)
    if progress and progress.stage == "done":
        return _collecting(seen, step)
    if children.job is None or children.job["metadata"]["uid"] != step.job_uid:
        return _by_record_alone(seen, step) or fail(
            seen, Reason.JOB_LOST, "the race's Job was deleted before the race had written its record"
        )
    if (ended := _job_ended(children.job)) is not None:
        return _by_record_alone(seen, step) or _ended_without_record(seen, ended)
    suspended, step = bool(children.job["spec"].get("suspend")), _as_started(seen, step, progress)
    if suspended and step.job_started:  # letting it run would begin the race anew
        words = "the race's Job was suspended by somebody while it ran, which ends its pod"
        return _by_record_alone(seen, step) or fail(seen, Reason.JOB_LOST, words)
    going = _going(children.pods)
    if going and going.passed(seen.now):
        return _by_record_alone(seen, step) or fail(seen, Reason.JOB_LOST, _describe_lost(children.pods))
    todo = _while_it_runs(seen, step, progress, suspended=suspended)
    if going is None or todo.wake_in is None:
        return todo
    return replace(todo, wake_in=min(todo.wake_in, wake_in(seen.now, going)))


def _going(pods: Sequence[Json]) -> Deadline | None:
    """Return until when the load generator's unended pods may still be there, all of which are deleted; else None.

    No Job ends before its pods do, and none does on a machine that is lost, for as long as its Node is there.
    """
    ends = [pod["metadata"].get("deletionTimestamp") for pod in _unended(pods)]
    return Deadline(max(map(moment, ends)), _END_PATIENCE) if ends and all(ends) else None


def _unended(pods: Sequence[Json]) -> list[Json]:
    """Return the load generator's pods whose end was not told."""
    return [pod for pod in load_generators(pods) if pod.get("status", {}).get("phase") not in _ENDED]


def _describe_lost(pods: Sequence[Json]) -> str:
    """Return the sentence for a load generator whose end nobody tells of."""
    lost = _unended(pods)
    on = ", ".join(machines_of(lost)) or "(none)"
    ends = ", ".join(f"{pod['metadata']['name']} was to end at {pod['metadata']['deletionTimestamp']}" for pod in lost)
    return f"pod {ends}, and its machine {on} does not say that it has"


def _while_it_runs(seen: Seen, step: Step, progress: Progress | None, *, suspended: bool) -> Plan:
    """Return the plan for a Job that has not ended; `suspended`: it was not let run yet."""
    spec, children = seen.subject.spec, seen.children
    allowed = spec.timeouts.provisioning if is_preparation(step.name) else spec.timeouts.race
    over = Deadline(moment(step.job_started_at or step.since), parse_duration(allowed) + RUNNER_GRACE)
    begun = as_mapping((children.job or {}).get("status")).get("startTime")
    start = stage_deadline(seen, step, parse_duration(spec.timeouts.provisioning), begun=bool(begun), at=begun)
    room = room_search(seen, start)
    if suspended and (refused := _not_let_run(seen, step)):
        return refused
    if not step.job_started and (lost := give_lost_place_up(seen, step, start.allowed)):
        return lost
    if step.job_started and over.passed(seen.now):
        overdue = explain_overdue_run(step.name, allowed, running_log(load_generators(children.pods)))
        return _by_record_alone(seen, step) or fail_with_log(seen, overdue)
    hindrance, pull = None, pull_deadline(start, None)
    if not step.job_started and not suspended:
        found = find_troubles(load_generators(children.pods))
        hindrance = explain_unschedulable(next(iter(found), None), seen)
        pull, missing = pull_deadline(start, hindrance), not load_generators(children.pods)
        refused = pods_refused(seen, step, missing, "Job")
        if stuck := refused or _not_starting(seen, step, hindrance, start, pull, room):
            return stuck if stuck.look else _by_record_alone(seen, step) or stuck
        hindrance = hindrance or find_refusal(seen.warnings or (), ("Job",))
    doing = describe_progress(progress, started=step.job_started, over_http=spec.over_http)
    status = update(
        seen.status,
        phase=running_phase(step.name, progress),
        progress=one_line(children.foreign or f"{title(spec, step.name)} · {doing}", hindrance),
        step=_with_table(step, seen, progress),
    )
    return Plan(
        status,
        create=("record", "access") if suspended else (),
        start_job=suspended,
        wake_in=wake_in(seen.now, over)
        if step.job_started
        else until_pods(
            look_again_in(seen, hindrance, room, wake_in(seen.now, start, pull)),
            not load_generators(children.pods),
        ),
    )


def _as_started(seen: Seen, step: Step, progress: Progress | None) -> Step:
    """Return the step with whether its Job has started, and since when: its time counts from there."""
    if step.job_started or not (progress or any(is_running(pod) for pod in load_generators(seen.children.pods))):
        return step
    return step.model_copy(update={"job_started": True, "job_started_at": step.job_started_at or stamp(seen.now)})


def _with_table(step: Step, seen: Seen, progress: Progress | None) -> Step:
    """Return the step with where those that are raced in turn with it meet, once it says so."""
    if not (progress and progress.meets_at) or step.meets_at:
        return step
    pods = seen.children.pods
    return step.model_copy(
        update={
            "meets_at": progress.meets_at,
            "elasticsearch_on": machines_of(elasticsearch_pods(pods)),
            "load_generator_on": next(iter(machines_of(load_generators(pods))), ""),
        }
    )


def _not_let_run(seen: Seen, step: Step) -> Plan | None:
    """Return the plan for a Job that could not be let run, as without its account; None while it still may be."""
    deadline = stage_deadline(seen, step, parse_duration(seen.subject.spec.timeouts.provisioning), begun=False)
    if deadline.passed(seen.now):
        words = seen.children.foreign or "the race's Job could not be let run in time"
        return fail_if_refused(seen) or fail(seen, Reason.PROVISIONING_TIMEOUT, words)
    return fail_if_refused(seen)


def _not_starting(
    seen: Seen, step: Step, hindrance: Trouble | None, deadline: Deadline, pull: Deadline, room: RoomSearch
) -> Plan | None:
    if stuck := fail_or_give_way(seen, step, hindrance, deadline, pull, room):
        return stuck
    if deadline.passed(seen.now):
        late = Trouble(Reason.PROVISIONING_TIMEOUT, "the load generator's pod did not start in time", final=True)
        return fail_unready(seen, late, load_generators(seen.children.pods), 1, "Job")
    return None


def _by_record_alone(seen: Seen, step: Step) -> Plan | None:
    """Return the plan for a step whose record is there though nothing told that it is done; None when there is none.

    What tells of it is a watch, which may be blind, and a clock, which may be ahead: the record itself is proof.
    """
    if seen.records is None:
        return Plan(seen.status, look=("records",))
    return _collecting(seen, step) if seen.records.get(step.name) is not None else None


def _ended_without_record(seen: Seen, ended: str) -> Plan:
    # The API server's clock and ours may differ: an end that is still to come says as little as one long ago.
    if abs(seen.now - moment(ended)) < _RECORD_PATIENCE:
        return Plan(seen.status, wake_in=wake_in(seen.now, Deadline(moment(ended), _RECORD_PATIENCE)))
    reason, message, log = find_ending(seen.children.pods)
    return fail_with_log(seen, Trouble(reason, message, final=True, log=log))


def _collecting(seen: Seen, step: Step) -> Plan:
    if seen.records is None:
        return Plan(update(seen.status, phase=running_phase(step.name, None, over=True)), look=("records",))
    if seen.evictions is None and was_replaced(seen.children.elasticsearch, seen.children.pods):
        return Plan(seen.status, look=("evictions",))
    status, observed = collect.judge_step(seen, step)
    return Plan(enter(status, step.name, "Cleaning", seen), observed=observed)


def _job_ended(job: Json) -> str | None:
    """Return when a Job has ended, None while it has not."""
    status = job.get("status")
    for condition in status.get("conditions") or () if isinstance(status, dict) else ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return str(condition["lastTransitionTime"])
    return None
