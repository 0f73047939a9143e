"""Whether requests failed, and whether no more of them than the user accepts in that task. Pure."""

from collections.abc import Iterator

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.basis.sweep_plan import allowed_errors
from fairlap.plan.verdict.violation import Violation
from fairlap.results.remarks import RaceRemark
from fairlap.wording.percentages import short_percent
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Counts, Record, Task
from fairlap_race.contract.specification.race_spec import Mode

_ROUNDING = 1e-9


def violation(record: Record, spec: BenchmarkSpec) -> Violation | None:
    """Return that requests of a task failed, more than race.allow.errorRate accepts there."""
    allowed = allowed_errors(spec.race)
    for task in record.tasks:
        share = allowed.get(task.task, 0.0)
        if not (_failed(task) or (task.rally and task.rally.error_rate)) or _is_within(task, share, record.mode):
            continue
        accepted = f", and race.allow.errorRate accepts {short_percent(share)}" if share else ""
        return Violation(Reason.ERROR_RATE, f"{_counted(task)}{accepted}; {_first(task)}")
    return None


def remarks(record: Record) -> Iterator[RaceRemark]:
    """Yield for each task whose failed requests are accepted how many of how many they are."""
    swept, probes = record.track.sweep, record.probe_names
    for task in record.tasks:
        share = record.track.allowed_errors.get(task.task)
        if share is not None and _failed(task):
            accepted = f"race.allow.errorRate accepts {short_percent(share)}"
            if swept and swept.search and task.task in probes:  # where any share is an answer
                accepted = f"race.capacity.objective.errorRate is {short_percent(swept.search.error_rate)}"
            part = short_percent(_failed(task) / max(1, _sent(task)))
            text = f"which is {part}, and {accepted}; {_first(task)}"
            yield RaceRemark(Reason.ERRORS_ACCEPTED, f"{_counted(task)}, {text}")


def _is_within(task: Task, share: float, mode: str) -> bool:
    """Tell whether at most `share` of all requests failed, and of the measured ones; of a smoke test's, not all."""
    if not share:
        return False
    if mode == Mode.SMOKE:  # of a handful of requests one is more than any share that somebody would accept
        return _failed(task) < _sent(task)
    # Where Rally kept some requests only, its rate is that of these; the counts are of all.
    rally = (task.rally.error_rate or 0.0) if task.rally and task.times_kept is None else 0.0
    measured = task.errors.normal <= share * task.samples.normal + _ROUNDING
    return measured and rally <= share + _ROUNDING and _failed(task) <= share * _sent(task) + _ROUNDING


def _counted(task: Task) -> str:
    warmup = f"({task.errors.warmup} of them in the warm-up)"
    return f"task {task.task}: {_failed(task)} of {_sent(task)} requests failed {warmup}"


def _first(task: Task) -> str:
    return f"the first answer: {task.first_error or 'not recorded'}"


def _failed(task: Task) -> int:
    return _all(task.errors)


def _sent(task: Task) -> int:
    return _all(task.samples)


def _all(counts: Counts) -> int:
    return counts.warmup + counts.normal
