"""How a status goes from one stage to the next: its phase, and the words of its progress."""

from fairlap.api.condition_types import ConditionReason
from fairlap.api.names import is_race
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus, Phase, Stage, Step
from fairlap.plan.basis.conditions import stamp
from fairlap.plan.basis.seen import Seen
from fairlap.plan.basis.steps import PROBE, SMOKE, is_preparation, steps, title
from fairlap.plan.explain.trouble import Trouble
from fairlap.queue.turn import Turn
from fairlap_race.contract.recorded.record import Progress

# What fits a line of kubectl's table beside the other columns; conditions have the whole sentence.
PROGRESS_LENGTH = 120


def update(status: BenchmarkStatus, **changes: object) -> BenchmarkStatus:
    """Return the status with these fields changed."""
    return status.model_copy(update=changes)


def enter(status: BenchmarkStatus, step: str, stage: Stage, seen: Seen, job_uid: str | None = None) -> BenchmarkStatus:
    """Return the status at the beginning of a stage of a step."""
    phase: Phase = "CleaningUp" if stage == "Cleaning" else "Provisioning"
    if is_preparation(step):
        phase = "Pending"
    if stage == "Running":
        phase = running_phase(step, None)
    words = {"Provisioning": "cluster: requested", "Starting": "starting", "Running": "starting the load generator",
             "Cleaning": "removing what it used"}[stage]  # fmt: skip
    return update(
        status,
        step=Step(name=step, stage=stage, since=stamp(seen.now), job_uid=job_uid),
        phase=phase,
        progress=f"{title(seen.subject.spec, step)} · {words}",
    )


def running_phase(step: str, progress: Progress | None, *, over: bool = False) -> Phase:
    """Return the phase while the Job of a step runs; `over`: it has said that it is done."""
    if is_preparation(step):
        return "Pending"
    if over or (progress and progress.stage in ("collecting", "done")):
        return "Collecting"
    return "SmokeTesting" if step == SMOKE else "Racing"


def describe_progress(progress: Progress | None, *, started: bool, over_http: bool = False) -> str:
    """Return what a Job is doing; `started`: its container has been seen running; `over_http`: k6 is what it starts."""
    if progress is None and not started:
        return "starting the load generator"
    if progress is None:
        return "starting k6" if over_http else "starting Rally"
    if progress.stage == "collecting":
        return "reading the results"
    if progress.task:
        return f"{progress.task} {progress.percent} %" if progress.percent is not None else progress.task
    return "preparing the requests" if over_http else "preparing the track"


def describe_success(spec: BenchmarkSpec, status: BenchmarkStatus) -> tuple[ConditionReason, str]:
    """Return why a Benchmark has succeeded, as a reason and in words."""
    if spec.repetitions:
        return ConditionReason.RACES_VALID, f"{status.races_done} races are valid"
    done = " and ".join(title(spec, step) for step in steps(spec) if step != PROBE)
    return ConditionReason.REHEARSED, f"{done} went well; no race was asked for"


def describe_lacking(spec: BenchmarkSpec, status: BenchmarkStatus) -> str:
    """Return the sentence for races that are not valid though all steps have ended, or "": then none has failed."""
    valid = sum(race.valid and is_race(race.name) for race in status.races)
    if valid >= spec.repetitions:
        return ""
    ended = f"all steps have ended, and {valid}/{spec.repetitions} races are valid"
    return f"the operator cannot go on with this Benchmark: {ended}"


def describe_wait(turn: Turn, where: str) -> str:
    """Return what one waits for whose turn it is not; `where` it waits, as "in the queue"."""
    if turn.led_by:
        return f"waiting for its Comparison {turn.led_by}"
    if turn.share:
        where = f"in its namespace, whose share of {turn.share} is taken"
    return f"waiting for {turn.ahead} before it {where}, the last is {turn.behind}"


def one_line(progress: str, hindrance: Trouble | None = None) -> str:
    """Return the progress, with what stands in its way, as long as a line of kubectl's table allows."""
    text = f"{progress} ({hindrance.reason}: {hindrance.message})" if hindrance else progress
    return text if len(text) <= PROGRESS_LENGTH else f"{text[: PROGRESS_LENGTH - 1].rstrip()}…"
