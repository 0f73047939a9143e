"""What should happen next to one Benchmark.

`plan` looks at the status that was last said and at the children there are, and answers with the status to say and
the acts to carry out. The driver writes the status first; only a status that already stands is acted upon. Thus a
crash between any two operations loses nothing, and a race number never runs twice: a Job is created suspended, its
uid is recorded, and only then is it let run; if it vanishes, the race has failed.
"""

from dataclasses import replace
from datetime import timedelta

from fairlap.api.base import Json
from fairlap.api.quantity import parse_duration
from fairlap.api.status import TERMINAL, BenchmarkStatus, Phase, Stage, Step
from fairlap.plan.accept import objections
from fairlap.plan.conditions import moment, stamp, with_condition
from fairlap.plan.explain.leftover import left_over, told
from fairlap.plan.explain.readiness import missing, overdue, overdue_run
from fairlap.plan.explain.trouble import (
    Trouble,
    elasticsearch_pods,
    ending,
    explained,
    is_ready,
    is_running,
    load_generators,
    mishaps,
    replaced,
    running_log,
    troubles,
)
from fairlap.plan.explain.warned import why_not_ready
from fairlap.plan.keep import KEPT
from fairlap.plan.seen import Plan, Seen
from fairlap.plan.steps import (
    CHECK,
    SMOKE,
    builds_cluster,
    is_preparation,
    needs_check,
    step_after,
    steps,
    title,
    track_words,
)
from fairlap.plan.verdict import collect
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.record import Progress

# A pull (or a start) that fails this long has failed at least three times (kubelet backs off 10, 20, 40 s);
# only room for a pod may still come later, when something else ends or a machine is added.
PULL_PATIENCE = timedelta(seconds=120)
# The record's event and the Job's come over different watches: the record may be seen a little later.
RECORD_PATIENCE = timedelta(seconds=15)
# The runner ends a race by itself at timeouts.race; the operator waits for its record before it ends the Job. A track
# check is ended by the operator alone.
RUNNER_GRACE = timedelta(seconds=120)
# What fits a line of kubectl's table beside the other columns; conditions have the whole sentence.
PROGRESS_LENGTH = 120
# Tools apply a folder in some order: the track's ConfigMap may come a little after the Benchmark.
TRACK_PATIENCE = timedelta(seconds=20)


def plan(seen: Seen) -> Plan:
    """Return what follows from what is seen; deterministic, and repeatable until something changes."""
    status = seen.status
    if status.phase in TERMINAL:
        return Plan(status)
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
    subject, spec = seen.subject, seen.subject.spec
    status = BenchmarkStatus(
        phase="Pending",
        progress="checking the specification",
        observed_generation=subject.generation,
        start_time=stamp(seen.now),
        version=spec.elasticsearch.version if spec.elasticsearch else "",
        track=track_words(spec.race.track),
        challenge=spec.race.challenge or "",
        races_done=f"0/{spec.repetitions}",
    )
    found = objections(spec, seen.settings)
    if not found:
        if not needs_check(spec):
            status = with_condition(status, "Accepted", "True", "BuiltinTrack", f"track {status.track}", seen.now)
        return Plan(status)
    message = ". ".join(objection.message for objection in found)
    status = with_condition(status, "Accepted", "False", found[0].reason, message, seen.now)
    return _end(replace(seen, status=status), "Failed", found[0].reason, message)


def _between_steps(seen: Seen) -> Plan:
    status, spec = seen.status, seen.subject.spec
    if status.failing:
        return _end(seen, "Failed", status.reason, status.message)
    upcoming = step_after(spec, status.finished_step)
    if upcoming is None:
        return _end(seen, "Succeeded", "RacesValid", f"{status.races_done} races are valid")
    if spec.suspend:
        text = f"suspended before {title(spec, upcoming)}"
        return Plan(_update(status, phase="Pending", progress=text, admitted_time=None))
    if upcoming == CHECK and spec.target is None:
        return _check_track(seen)
    # On an existing cluster even a look waits for its turn: before that it would see another Benchmark's indices.
    if not seen.turn.mine:
        text = f"waiting for {seen.turn.ahead} before it in the queue, the last is {seen.turn.behind}"
        return Plan(_update(status, phase="Queued", progress=text))
    status = _update(status, admitted_time=status.admitted_time or stamp(seen.now))
    if upcoming == CHECK:
        return _check_track(replace(seen, status=status))
    return Plan(_enter(status, upcoming, "Provisioning" if spec.elasticsearch else "Starting", seen))


def _check_track(seen: Seen) -> Plan:
    config_map = seen.subject.spec.race.track.config_map
    if config_map is not None:
        if seen.track_keys is None:
            return Plan(seen.status, look=("track",))
        if "track.json" not in seen.track_keys:
            if seen.now - moment(seen.status.start_time or stamp(seen.now)) < TRACK_PATIENCE:
                text = f"waiting for ConfigMap {config_map.name} with the key track.json"
                return Plan(_update(seen.status, progress=text), wake_in=2)
            has = f"has only {', '.join(sorted(seen.track_keys))}" if seen.track_keys else "does not exist"
            message = (
                f"race.track.configMap {config_map.name} {has}: create it in namespace {seen.subject.namespace} "
                "with the key track.json and the files that it uses"
            )
            status = with_condition(seen.status, "Accepted", "False", Reason.TRACK_NOT_FOUND, message, seen.now)
            return _end(replace(seen, status=status), "Failed", Reason.TRACK_NOT_FOUND, message)
    return Plan(_enter(seen.status, CHECK, "Starting", seen))


def _provisioning(seen: Seen, step: Step) -> Plan:
    spec, children = seen.subject.spec, seen.children
    wanted = spec.elasticsearch
    assert wanted is not None  # noqa: S101 - nothing is provisioned for a target
    left = _left(seen, step, parse_duration(spec.timeouts.provisioning), begun=children.elasticsearch is not None)
    if refused := _refused(seen, step):
        return refused
    lacking = children.foreign or missing(children, wanted.nodes)
    if not lacking:
        text = f"{wanted.nodes} node(s) of Elasticsearch {wanted.version} are ready"
        status = with_condition(seen.status, "ClusterReady", "True", "ClusterReady", text, seen.now)
        return Plan(_enter(status, step.name, "Starting", seen))
    if replaced(children.elasticsearch, children.pods) and seen.evictions is None:
        return Plan(seen.status, look=("evictions",))
    evicted = mishaps((), seen.evictions or {})
    hindrance = explained(next(iter([*evicted, *troubles(elasticsearch_pods(children.pods))]), None), spec)
    if hindrance and _gives_up(hindrance, seen, step, left):
        return _fail_with_log(seen, hindrance)
    if left <= timedelta(0):
        reason, message = overdue(children, wanted.nodes)
        late = Trouble(reason, children.foreign or message, final=True)
        pods = elasticsearch_pods(children.pods)
        return _fail_unready(seen, late, pods, wanted.nodes, "Elasticsearch", "StatefulSet")
    why, words = (hindrance.reason, f"{lacking} ({hindrance.message})") if hindrance else ("Provisioning", lacking)
    status = with_condition(seen.status, "ClusterReady", "False", why, words, seen.now)
    progress = _one_line(f"{title(spec, step.name)} · cluster: {lacking}", hindrance)
    create = ("elasticsearch",) if children.elasticsearch is None else ()
    return Plan(_update(status, progress=progress), create=create, wake_in=_patience(seen, step, left))  # type: ignore[arg-type]


def _starting(seen: Seen, step: Step) -> Plan:
    left = _left(seen, step, parse_duration(seen.subject.spec.timeouts.provisioning), begun=False)
    if refused := _refused(seen, step):
        return refused
    if left <= timedelta(0):
        return _fail(seen, Reason.PROVISIONING_TIMEOUT, seen.children.foreign or "the race's Job could not be created")
    job = seen.children.job
    if job is None:
        words = seen.children.foreign or f"{title(seen.subject.spec, step.name)} · starting"
        status = _update(seen.status, progress=words)
        return Plan(status, create=("record", "job"), wake_in=left.total_seconds())
    return Plan(_enter(seen.status, step.name, "Running", seen, job_uid=job["metadata"]["uid"]))


def _running(seen: Seen, step: Step) -> Plan:
    spec, children = seen.subject.spec, seen.children
    progress = Progress.from_json(children.progress)
    if progress and progress.stage == "done":
        return _collecting(seen, step)
    if children.job is None or children.job["metadata"]["uid"] != step.job_uid:
        return _fail(seen, Reason.JOB_LOST, "the race's Job was deleted before the race had written its record")
    if (ended := _job_ended(children.job)) is not None:
        if seen.now - moment(ended) < RECORD_PATIENCE:
            return Plan(seen.status, wake_in=1)
        reason, message, log = ending(children.pods)
        return _fail_with_log(seen, Trouble(reason, message, final=True, log=log))
    allowed = spec.timeouts.provisioning if is_preparation(step.name) else spec.timeouts.race
    suspended = bool(children.job["spec"].get("suspend"))
    left = _left(seen, step, parse_duration(allowed) + RUNNER_GRACE, begun=not suspended)
    if left <= timedelta(0):
        return _fail_with_log(seen, overdue_run(step.name, allowed, running_log(load_generators(children.pods))))
    started = step.job_started or any(is_running(pod) for pod in load_generators(children.pods))
    hindrance = None
    if not started and not suspended:
        hindrance = explained(next(iter(troubles(load_generators(children.pods))), None), spec)
        if stuck := _not_starting(seen, step, hindrance):
            return stuck
    status = _update(
        seen.status,
        phase=_racing_phase(step.name, progress),
        progress=_one_line(f"{title(spec, step.name)} · {_doing(progress, started)}", hindrance),
        step=step.model_copy(update={"job_started": started}),
    )
    wake_in = left if started else min(left, PULL_PATIENCE)
    return Plan(
        status, create=("access",) if suspended else (), start_job=suspended, wake_in=max(wake_in.total_seconds(), 1)
    )


def _not_starting(seen: Seen, step: Step, hindrance: Trouble | None) -> Plan | None:
    left = _left(seen, step, parse_duration(seen.subject.spec.timeouts.provisioning))
    if hindrance and _gives_up(hindrance, seen, step, left):
        return _fail_with_log(seen, hindrance)
    if left <= timedelta(0):
        late = Trouble(Reason.PROVISIONING_TIMEOUT, "the load generator's pod did not start in time", final=True)
        return _fail_unready(seen, late, load_generators(seen.children.pods), 1, "Job")
    return None


def _collecting(seen: Seen, step: Step) -> Plan:
    if seen.records is None:
        return Plan(_update(seen.status, phase=_racing_phase(step.name, None, over=True)), look=("records",))
    if seen.evictions is None and replaced(seen.children.elasticsearch, seen.children.pods):
        return Plan(seen.status, look=("evictions",))
    status = collect.judged(seen, step)
    return Plan(_enter(status, step.name, "Cleaning", seen))


def _cleaning(seen: Seen, step: Step) -> Plan:
    children, spec = seen.children, seen.subject.spec
    keep = _keeps_cluster(seen, step)
    pods = load_generators(children.pods) if keep else children.pods
    doomed = [
        (what, thing)
        for what, thing in (("elasticsearch", None if keep else children.elasticsearch), ("job", children.job))
        if thing is not None
    ]
    began = max(moment(step.since), seen.taken_up or moment(step.since))
    late = seen.now >= began + timedelta(seconds=seen.settings.cleanup_seconds)
    if (doomed or pods) and not late:
        delete = tuple(what for what, thing in doomed if not thing["metadata"].get("deletionTimestamp"))
        status = seen.status
        if builds_cluster(spec, step.name):
            status = with_condition(status, "ClusterReady", "False", "CleaningUp", "the cluster is removed", seen.now)
        phase: Phase = "Pending" if is_preparation(step.name) else "CleaningUp"
        text = f"{title(spec, step.name)} · removing what it used"
        return Plan(_update(status, phase=phase, progress=text), delete=delete, wake_in=10)  # type: ignore[arg-type]
    if not seen.confirmed and not keep:
        return Plan(seen.status, look=("children",))
    kinds = {"elasticsearch": "Elasticsearch", "job": "Job"}
    left = left_over(seen, step.name, [*((kinds[what], thing) for what, thing in doomed), *(("pod", p) for p in pods)])
    status = told(seen.status, left) if left else seen.status
    if builds_cluster(spec, step.name):
        truth, word, text = ("True", "ClusterKept", collect.how_to_reach(seen, step)) if keep else (
            "False", Reason.CLEANUP_TIMEOUT if left else "ClusterRemoved",
            left or "the cluster of the last race is removed")  # fmt: skip
        status = with_condition(status, "ClusterReady", truth, word, text, seen.now)  # type: ignore[arg-type]
        if keep:
            status = with_condition(status, KEPT, "True", KEPT, text, seen.now)
    done = status.finished_step if status.failing else step.name
    return _between_steps(replace(seen, status=_update(status, step=None, finished_step=done)))


# --- small parts -----------------------------------------------------------------------------------------------


def _one_line(progress: str, hindrance: Trouble | None = None) -> str:
    told = f"{progress} ({hindrance.reason}: {hindrance.message})" if hindrance else progress
    return told if len(told) <= PROGRESS_LENGTH else f"{told[: PROGRESS_LENGTH - 1].rstrip()}…"


def _update(status: BenchmarkStatus, **changes: object) -> BenchmarkStatus:
    return status.model_copy(update=changes)


def _enter(status: BenchmarkStatus, step: str, stage: Stage, seen: Seen, job_uid: str | None = None) -> BenchmarkStatus:
    spec = seen.subject.spec
    phase: Phase = "CleaningUp" if stage == "Cleaning" else "Provisioning"
    if is_preparation(step):
        phase = "Pending"
    if stage == "Running":
        phase = _racing_phase(step, None)
    words = {"Provisioning": "cluster: requested", "Starting": "starting", "Running": "starting the load generator",
             "Cleaning": "removing what it used"}[stage]  # fmt: skip
    return _update(
        status,
        step=Step(name=step, stage=stage, since=stamp(seen.now), job_uid=job_uid),
        phase=phase,
        progress=f"{title(spec, step)} · {words}",
    )


def _end(seen: Seen, phase: Phase, reason: str, message: str) -> Plan:
    good = phase == "Succeeded"
    status = with_condition(seen.status, "Complete", "True" if good else "False", reason, message, seen.now)
    # A status that an older operator wrote may have a reason that this one does not know.
    cure = next((f". What to do: {known.cure}" for known in Reason if known == reason), "")
    told = message if good else f"{message[:3500].rstrip('. ')}{cure}"
    status = with_condition(status, "Failed", "False" if good else "True", reason, told, seen.now)
    return Plan(
        _update(
            status,
            phase=phase,
            progress=_one_line(f"{status.races_done} races valid" if good else message.split(". ", maxsplit=1)[0]),
            reason="" if good else reason,
            message="" if good else message[:4096],
            completion_time=stamp(seen.now),
            step=None,
            failing=False,
        )
    )


def _failing(status: BenchmarkStatus, reason: Reason, message: str) -> BenchmarkStatus:
    return _update(status, failing=True, reason=str(reason), message=message[:4096])


def _fail(seen: Seen, reason: Reason, message: str) -> Plan:
    step = seen.status.step
    assert step is not None  # noqa: S101 - only stages fail
    status = collect.without_record(seen, step, reason, message)
    return Plan(_enter(_failing(status, reason, message), step.name, "Cleaning", seen))


def _fail_with_log(seen: Seen, trouble: Trouble) -> Plan:
    if trouble.log is None:
        return _fail(seen, trouble.reason, trouble.message)
    if trouble.log not in seen.logs:
        return Plan(seen.status, look=(trouble.log,))
    words = seen.logs[trouble.log].strip()
    return _fail(seen, trouble.reason, f"{trouble.message}; its log ends with: {words}" if words else trouble.message)


def _fail_unready(seen: Seen, trouble: Trouble, pods: list[Json], wanted: int, *owners: str) -> Plan:
    """Fail for pods that are missing or not ready at their deadline, with what Kubernetes and their log say of it."""
    unready = [pod for pod in pods if not is_ready(pod)]
    if seen.children.foreign or len(pods) - len(unready) >= wanted:
        return _fail(seen, trouble.reason, trouble.message)
    if seen.warnings is None:
        return Plan(seen.status, look=("warnings",))
    log = running_log(unready)
    told = (
        trouble.message,
        why_not_ready(seen.warnings, pods, wanted, owners),
        f"pod {log.pod} runs but is not ready" if log else "",
    )
    return _fail_with_log(seen, trouble._replace(message="; ".join(filter(None, told)), log=log))


def _refused(seen: Seen, step: Step) -> Plan | None:
    if seen.refusal is None:
        return None
    return _fail(seen, Reason.INVALID_SPEC, f"the {seen.refusal.what} was refused: {seen.refusal.message}")


def _left(seen: Seen, step: Step, allowed: timedelta, *, begun: bool = True) -> timedelta:
    since = moment(step.since)
    if not begun and seen.taken_up:
        # While the operator was away, nothing could happen that only it begins.
        since = max(since, seen.taken_up)
    return since + allowed - seen.now


def _gives_up(trouble: Trouble, seen: Seen, step: Step, left: timedelta) -> bool:
    in_vain = trouble.reason != Reason.UNSCHEDULABLE and seen.now - moment(step.since) >= PULL_PATIENCE
    return trouble.final or in_vain or left <= timedelta(0)


def _patience(seen: Seen, step: Step, left: timedelta) -> float:
    until_pull = PULL_PATIENCE - (seen.now - moment(step.since))
    return max(min(left, until_pull) if until_pull > timedelta(0) else left, timedelta(seconds=1)).total_seconds()


def _keeps_cluster(seen: Seen, step: Step) -> bool:
    spec = seen.subject.spec
    if not builds_cluster(spec, step.name) or seen.children.elasticsearch is None:
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


def _racing_phase(step: str, progress: Progress | None, *, over: bool = False) -> Phase:
    if is_preparation(step):
        return "Pending"
    if over or (progress and progress.stage in ("collecting", "done")):
        return "Collecting"
    return "SmokeTesting" if step == SMOKE else "Racing"


def _doing(progress: Progress | None, started: bool) -> str:
    if progress is None:
        return "starting Rally" if started else "starting the load generator"
    if progress.stage == "collecting":
        return "reading the results"
    if progress.task:
        return f"{progress.task} {progress.percent} %" if progress.percent is not None else progress.task
    return "preparing the track"
