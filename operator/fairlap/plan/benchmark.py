"""What should happen next to one Benchmark.

`plan` looks at the status that was last said and at the children there are, and answers with the status to say and
the acts to carry out. The driver writes the status first; only a status that already stands is acted upon. Thus a
crash between any two operations loses nothing, and a race number never runs twice: a Job is created suspended, its
uid is recorded, and only then is it let run; if it vanishes, the race has failed.
"""

from dataclasses import replace
from datetime import timedelta

from fairlap.api.base import Json
from fairlap.api.condition_types import ConditionReason, ConditionType
from fairlap.api.names import KIND
from fairlap.api.phases import OVER
from fairlap.api.quantity import parse_duration
from fairlap.api.status import BenchmarkStatus, Phase, Step
from fairlap.plan.acceptance.accept import objections
from fairlap.plan.basis.conditions import Observation, moment, stamp
from fairlap.plan.basis.deadline import Deadline, wake_in
from fairlap.plan.basis.node_processors import decide
from fairlap.plan.basis.seen import Delete, Plan, Seen
from fairlap.plan.basis.steps import (
    CHECK,
    builds_cluster,
    config_map_key,
    is_preparation,
    needs_check,
    step_after,
    steps,
    title,
    track_words,
)
from fairlap.plan.explain.leftover import describe_leftovers, report_leftovers
from fairlap.plan.explain.readiness import describe_missing, explain_overdue, explain_overdue_run
from fairlap.plan.explain.trouble import (
    Trouble,
    elasticsearch_pods,
    explain_unschedulable,
    find_ending,
    find_mishaps,
    find_troubles,
    is_running,
    load_generators,
    machines_of,
    running_log,
    was_replaced,
)
from fairlap.plan.explain.warned import find_refusal
from fairlap.plan.failure import fail, fail_if_refused, fail_unready, fail_with_log
from fairlap.plan.finish import failed_observations, finish
from fairlap.plan.lifetimes.keep import KEPT
from fairlap.plan.node_memory import lacking_memory
from fairlap.plan.room import RoomSearch, give_way, line_up_again, look_again_in, room_search, take_back
from fairlap.plan.transition import (
    describe_lacking,
    describe_progress,
    describe_success,
    describe_wait,
    enter,
    one_line,
    running_phase,
    update,
)
from fairlap.plan.verdict import checked_by, collect
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.record import Progress

ACCEPTED, CLUSTER_READY = ConditionType.ACCEPTED, ConditionType.CLUSTER_READY
# A pull (or a start) that fails this long has failed at least three times (kubelet backs off 10, 20, 40 s);
# only room for a pod may still come later, when something else ends or a machine is added.
PULL_PATIENCE = timedelta(seconds=120)
# Controllers make pods within seconds; an event that says why there is none comes with the first attempt.
POD_PATIENCE = timedelta(seconds=15)
# The events of progress, Job and pods come over different watches: why a pod ended may be seen a little later.
RECORD_PATIENCE = timedelta(seconds=15)
# The runner ends a race by itself at timeouts.race; the operator waits for its record before it ends the Job. A track
# check is ended by the operator alone.
RUNNER_GRACE = timedelta(seconds=120)
# Tools apply a folder in some order: the track's ConfigMap may come a little after the Benchmark.
TRACK_PATIENCE = timedelta(seconds=20)


def plan(seen: Seen) -> Plan:
    """Return what follows from what is seen; deterministic, and repeatable until something changes."""
    if seen.status.phase in OVER:
        return Plan(seen.status)
    decided = _decide(seen)
    if decided.status.failing and not seen.status.failing and not seen.confirmed and seen.status.step:
        # What an index lacks may be there, and what it shows may be old: the objects themselves are asked first.
        return Plan(seen.status, look=("children",))
    status = finish(decided.status, decided.observed, seen.subject.generation, seen.pruned, seen.now)
    return replace(decided, status=status, observed=())


def _decide(seen: Seen) -> Plan:
    status = seen.status
    if status.phase is None:
        return _begin(seen)
    if status.step is None:
        return _between_steps(seen)
    match status.step.stage:
        case "Provisioning":
            return _provisioning(seen, status.step)
        case "Starting":
            return _starting(seen, status.step)
        case "Running":
            return _running(seen, status.step)
        case "Cleaning":
            return _cleaning(seen, status.step)


def _begin(seen: Seen) -> Plan:
    spec = seen.subject.spec
    status = BenchmarkStatus(
        phase="Pending",
        progress="checking the specification",
        start_time=stamp(seen.now),
        version=spec.elasticsearch.version if spec.elasticsearch else "",
        track=track_words(spec.race),
        challenge=spec.race.challenge or "",
        races_done=f"0/{spec.repetitions}",
    )
    found = objections(spec, seen.settings)
    if not found:
        builtin = Observation(ACCEPTED, True, ConditionReason.BUILTIN_TRACK, f"track {status.track}")
        return Plan(status, observed=() if needs_check(spec) else (builtin,))
    message = ". ".join(objection.message for objection in found)
    refused = Observation(ACCEPTED, False, found[0].reason, message)
    return _fail(replace(seen, status=status), found[0].reason, message, refused, told=found[0].message)


def _between_steps(seen: Seen) -> Plan:
    status, spec = seen.status, seen.subject.spec
    if status.failing:
        return _fail(seen, status.reason, status.message)
    upcoming = step_after(spec, status.finished_step)
    if upcoming is None:
        return _after_all_steps(seen)
    if spec.suspend:
        text = f"suspended before {title(spec, upcoming)}"
        return Plan(update(status, phase="Pending", progress=text, admitted_time=None))
    if upcoming == CHECK and spec.checked_by and (taken := _take_over(seen)):
        return taken
    if upcoming == CHECK and spec.target is None:
        if not seen.check_turn.mine:
            words = describe_wait(seen.check_turn, "in the line for track checks")
            return Plan(update(status, phase="Pending", progress=words))
        return _check_track(replace(seen, status=update(status, queued_time=None)))
    # On an existing cluster even a look waits for its turn: before that it would see another Benchmark's indices.
    if not seen.turn.mine:
        # A place that its Comparison no longer lends is not its to keep: others wait for it.
        admitted = None if seen.turn.led_by else status.admitted_time
        words = describe_wait(seen.turn, "in the queue")
        return Plan(update(status, phase="Queued", progress=words, admitted_time=admitted))
    status = update(status, admitted_time=status.admitted_time or stamp(seen.now), queued_time=None)
    if upcoming == CHECK:
        return _check_track(replace(seen, status=status))
    if spec.elasticsearch is None:
        return Plan(enter(status, upcoming, "Starting", seen))
    return _provision(replace(seen, status=status), upcoming)


def _after_all_steps(seen: Seen) -> Plan:
    status, spec = seen.status, seen.subject.spec
    if lacking := describe_lacking(spec, status):  # whatever led to it: no success without its races
        return _fail(seen, Reason.INTERNAL_ERROR, lacking)
    return _succeed(seen)


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
            if not Deadline(began, TRACK_PATIENCE).passed(seen.now):
                text = f"waiting for ConfigMap {needed.name} with the key {needed.key}"
                return Plan(update(seen.status, progress=text), wake_in=2)
            has = f"has only {', '.join(sorted(seen.track_keys))}" if seen.track_keys else "does not exist"
            message = (
                f"{needed.field} {needed.name} {has}: create it in namespace {seen.subject.namespace} "
                f"with the key {needed.key} and {needed.beside}"
            )
            own = seen.subject.spec.race.requests is None
            reason = Reason.TRACK_NOT_FOUND if own else Reason.REQUESTS_INVALID
            return _fail(seen, reason, message, Observation(ACCEPTED, False, reason, message))
    return Plan(enter(seen.status, CHECK, "Starting", seen))


def _provisioning(seen: Seen, step: Step) -> Plan:
    spec, children = seen.subject.spec, seen.children
    wanted = spec.elasticsearch
    assert wanted is not None  # noqa: S101 - nothing is provisioned for a target
    allowed = parse_duration(spec.timeouts.provisioning)
    deadline = _deadline(seen, step, allowed, begun=children.elasticsearch is not None)
    pull, room = _deadline(seen, step, PULL_PATIENCE), room_search(seen, step, allowed)
    if refused := fail_if_refused(seen):
        return refused
    lacking = children.foreign or describe_missing(children, wanted.nodes)
    if not lacking:
        text = f"{wanted.nodes} node(s) of Elasticsearch {wanted.version} are ready"
        ready = Observation(CLUSTER_READY, True, ConditionReason.CLUSTER_READY, text)
        return Plan(enter(seen.status, step.name, "Starting", seen), observed=(ready,))
    if was_replaced(children.elasticsearch, children.pods) and seen.evictions is None:
        return Plan(seen.status, look=("evictions",))
    evicted = find_mishaps((), seen.evictions or {})
    found = [*evicted, *find_troubles(elasticsearch_pods(children.pods))]
    hindrance = explain_unschedulable(next(iter(found), None), seen)
    if stuck := _is_stuck(seen, step, hindrance, deadline, pull, room):
        return stuck
    missing = children.elasticsearch is not None and len(elasticsearch_pods(children.pods)) < wanted.nodes
    if refused := _pods_refused(seen, step, missing, "StatefulSet"):
        return refused
    if deadline.passed(seen.now):
        reason, message = explain_overdue(children, wanted.nodes)
        late = Trouble(reason, children.foreign or message, final=True)
        pods = elasticsearch_pods(children.pods)
        return fail_unready(seen, late, pods, wanted.nodes, "Elasticsearch", "StatefulSet")
    hindrance = hindrance or find_refusal(seen.warnings or (), ("StatefulSet",))
    unready = Observation(CLUSTER_READY, False, ConditionReason.PROVISIONING, lacking)
    if hindrance:
        unready = unready._replace(reason=hindrance.reason, message=f"{lacking} ({hindrance.message})")
    progress = one_line(f"{title(spec, step.name)} · cluster: {lacking}", hindrance)
    return Plan(
        update(seen.status, progress=progress),
        create=("elasticsearch",) if children.elasticsearch is None else (),
        wake_in=_until_pods(look_again_in(seen, hindrance, room, wake_in(seen.now, deadline, pull)), missing),
        observed=(unready,),
    )


def _starting(seen: Seen, step: Step) -> Plan:
    deadline = _deadline(seen, step, parse_duration(seen.subject.spec.timeouts.provisioning), begun=False)
    if refused := fail_if_refused(seen):
        return refused
    if deadline.passed(seen.now):
        return fail(seen, Reason.PROVISIONING_TIMEOUT, seen.children.foreign or "the race's Job could not be created")
    job = seen.children.job
    if job is None:
        words = seen.children.foreign or f"{title(seen.subject.spec, step.name)} · starting"
        status = update(seen.status, progress=words)
        return Plan(status, create=("record", "job"), wake_in=wake_in(seen.now, deadline))
    return Plan(enter(seen.status, step.name, "Running", seen, job_uid=job["metadata"]["uid"]))


def _running(seen: Seen, step: Step) -> Plan:
    spec, children = seen.subject.spec, seen.children
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
    allowed = spec.timeouts.provisioning if is_preparation(step.name) else spec.timeouts.race
    over = Deadline(moment(step.job_started_at or step.since), parse_duration(allowed) + RUNNER_GRACE)
    start = _deadline(seen, step, parse_duration(spec.timeouts.provisioning))
    room = room_search(seen, step, start.allowed)
    pull = _deadline(seen, step, PULL_PATIENCE)
    if suspended and (refused := _not_let_run(seen, step)):
        return refused
    if step.job_started and over.passed(seen.now):
        overdue = explain_overdue_run(step.name, allowed, running_log(load_generators(children.pods)))
        return _by_record_alone(seen, step) or fail_with_log(seen, overdue)
    hindrance = None
    if not step.job_started and not suspended:
        found = find_troubles(load_generators(children.pods))
        hindrance = explain_unschedulable(next(iter(found), None), seen)
        missing = not load_generators(children.pods)
        refused = _pods_refused(seen, step, missing, "Job")
        if stuck := refused or _not_starting(seen, step, hindrance, start, pull, room):
            return stuck if stuck.look else _by_record_alone(seen, step) or stuck
        hindrance = hindrance or find_refusal(seen.warnings or (), ("Job",))
    status = update(
        seen.status,
        phase=running_phase(step.name, progress),
        progress=one_line(
            children.foreign or f"{title(spec, step.name)} · {describe_progress(progress, started=step.job_started)}",
            hindrance,
        ),
        step=_with_table(step, seen, progress),
    )
    return Plan(
        status,
        create=("record", "access") if suspended else (),
        start_job=suspended,
        wake_in=wake_in(seen.now, over)
        if step.job_started
        else _until_pods(
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


def _pods_refused(seen: Seen, step: Step, missing: bool, owner: str) -> Plan | None:
    """Return the plan for pods that are `missing` for a while: to ask whether Kubernetes refuses them, or to fail."""
    if not missing or not _deadline(seen, step, POD_PATIENCE).passed(seen.now):
        return None
    if seen.warnings is None:
        return Plan(seen.status, look=("warnings",))
    refusal = find_refusal(seen.warnings, (owner,))
    return fail(seen, refusal.reason, refusal.message) if refusal and refusal.final else None


def _until_pods(seconds: float, missing: bool) -> float:
    """Return when to look again: soon while pods are `missing`, for no event tells that Kubernetes refuses them."""
    return min(seconds, POD_PATIENCE.total_seconds()) if missing else seconds


def _not_let_run(seen: Seen, step: Step) -> Plan | None:
    """Return the plan for a Job that could not be let run, as without its account; None while it still may be."""
    deadline = _deadline(seen, step, parse_duration(seen.subject.spec.timeouts.provisioning), begun=False)
    if deadline.passed(seen.now):
        words = seen.children.foreign or "the race's Job could not be let run in time"
        return fail_if_refused(seen) or fail(seen, Reason.PROVISIONING_TIMEOUT, words)
    return fail_if_refused(seen)


def _not_starting(
    seen: Seen, step: Step, hindrance: Trouble | None, deadline: Deadline, pull: Deadline, room: RoomSearch
) -> Plan | None:
    if stuck := _is_stuck(seen, step, hindrance, deadline, pull, room):
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
    if abs(seen.now - moment(ended)) < RECORD_PATIENCE:
        return Plan(seen.status, wake_in=wake_in(seen.now, Deadline(moment(ended), RECORD_PATIENCE)))
    reason, message, log = find_ending(seen.children.pods)
    return fail_with_log(seen, Trouble(reason, message, final=True, log=log))


def _collecting(seen: Seen, step: Step) -> Plan:
    if seen.records is None:
        return Plan(update(seen.status, phase=running_phase(step.name, None, over=True)), look=("records",))
    if seen.evictions is None and was_replaced(seen.children.elasticsearch, seen.children.pods):
        return Plan(seen.status, look=("evictions",))
    status, observed = collect.judge_step(seen, step)
    return Plan(enter(status, step.name, "Cleaning", seen), observed=observed)


def _cleaning(seen: Seen, step: Step) -> Plan:
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
    deadline = _deadline(seen, step, timedelta(seconds=seen.settings.cleanup_seconds), begun=False)
    builds = builds_cluster(spec, step.name)
    if (doomed or pods) and not deadline.passed(seen.now):
        removing = Observation(CLUSTER_READY, False, ConditionReason.CLEANING_UP, "the cluster is removed")
        phase: Phase = "Pending" if is_preparation(step.name) else "CleaningUp"
        return Plan(
            update(seen.status, phase=phase, progress=f"{title(spec, step.name)} · removing what it used"),
            delete=tuple(what for what, thing in doomed if not thing["metadata"].get("deletionTimestamp")),
            wake_in=10,
            observed=(removing,) if builds else (),
        )
    if not seen.confirmed and not keep:
        return Plan(seen.status, look=("children",))
    kinds = {"elasticsearch": "Elasticsearch", "job": "Job"}
    there = [*((kinds[what], thing) for what, thing in doomed), *(("pod", pod) for pod in pods)]
    left = describe_leftovers(seen, step.name, there)
    status = report_leftovers(seen.status, left) if left else seen.status
    if step.gives_way and not left:
        return line_up_again(seen, step)
    if not status.failing:
        status = update(status, finished_step=step.name, gave_way=0, lacking_memory="")
    after = _between_steps(replace(seen, status=update(status, step=None)))
    return replace(after, observed=(*(_cluster_after(seen, step, keep, left) if builds else ()), *after.observed))


def _cluster_after(seen: Seen, step: Step, keep: bool, left: str) -> tuple[Observation, ...]:
    """Return what is to be said of a step's own cluster after its cleaning up; `left`: what did not go away."""
    if keep:
        access = collect.describe_access(seen, step)
        reason = ConditionReason.CLUSTER_KEPT
        return (Observation(CLUSTER_READY, True, reason, access), Observation(KEPT, True, reason, access))
    if left:
        return (Observation(CLUSTER_READY, False, Reason.CLEANUP_TIMEOUT, left),)
    removed = "the cluster of the last race is removed"
    return (Observation(CLUSTER_READY, False, ConditionReason.CLUSTER_REMOVED, removed),)


def _succeed(seen: Seen) -> Plan:
    reason, message = describe_success(seen.subject.spec, seen.status)
    told = f"{seen.status.races_done} races valid" if seen.subject.spec.repetitions > 0 else message
    observed = (
        Observation(ConditionType.COMPLETE, True, reason, message),
        Observation(ConditionType.FAILED, False, reason, message),
    )
    return Plan(_ended(seen, phase="Succeeded", progress=one_line(told), reason="", message=""), observed=observed)


def _fail(seen: Seen, reason: str, message: str, *observed: Observation, told: str = "") -> Plan:
    """Return the plan that ends a Benchmark; `told`: the first of several sentences, where `message` has more."""
    progress, kept = one_line(told or message), message[:4096]
    status = _ended(seen, phase="Failed", progress=progress, reason=str(reason), message=kept)
    return Plan(status, observed=(*observed, *failed_observations(KIND, reason, message)))


def _ended(seen: Seen, **changes: object) -> BenchmarkStatus:
    return update(seen.status, completion_time=stamp(seen.now), step=None, failing=False, **changes)


def _deadline(seen: Seen, step: Step, allowed: timedelta, *, begun: bool = True) -> Deadline:
    """Return the deadline of the stage; `begun`: what takes the time goes on without the operator."""
    since = moment(step.since)
    if not begun and seen.taken_up:
        # While the operator was away, nothing could happen that only it begins.
        since = max(since, seen.taken_up)
    return Deadline(since, allowed)


def _is_stuck(
    seen: Seen, step: Step, trouble: Trouble | None, deadline: Deadline, pull: Deadline, room: RoomSearch
) -> Plan | None:
    if trouble is None:
        return None
    in_vain = room.all_tries if trouble.reason == Reason.UNSCHEDULABLE else pull
    if trouble.final or in_vain.passed(seen.now) or deadline.passed(seen.now):
        return fail_with_log(seen, trouble)
    return give_way(seen, step, trouble, room)


def _keeps_cluster(seen: Seen, step: Step) -> bool:
    spec = seen.subject.spec
    if step.gives_way or not builds_cluster(spec, step.name) or seen.children.elasticsearch is None:
        return False
    last = step.name == steps(spec)[-1]
    return (spec.keep_cluster == "Always" and (last or seen.status.failing)) or (
        spec.keep_cluster == "OnFailure" and seen.status.failing
    )


def _job_ended(job: dict[str, object]) -> str | None:
    status = job.get("status")
    conditions = status.get("conditions") or () if isinstance(status, dict) else ()
    for condition in conditions:
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return str(condition["lastTransitionTime"])
    return None
