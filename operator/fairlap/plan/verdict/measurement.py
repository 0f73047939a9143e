"""Whether there was a measurement at all, and whether it was long enough to stand for more than chance."""

from collections.abc import Iterator, Sequence
from typing import Final

from fairlap.api.percentiles import fewest_requests
from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.verdict.violation import Violation
from fairlap.results.remarks import RaceRemark
from fairlap.results.throttled_nodes import matters
from fairlap.results.unread_tasks import unread_tasks
from fairlap.wording.counts import counted
from fairlap.wording.durations import tenths_of_seconds
from fairlap_race.contract.as_percent import as_percent
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record, Task
from fairlap_race.contract.recorded.settling import LATENCY
from fairlap_race.contract.recorded.task_spans import seconds_of
from fairlap_race.contract.some_of import some_of
from fairlap_race.contract.specification.race_spec import Mode

FEWEST_REQUESTS: Final = fewest_requests("p90")
SHORTEST_SECONDS: Final = 10.0
_LATE_SHARE: Final = 0.05
"""Of the time in which a task was to be measured: so much of it may a last request of the warm-up take."""
_OPENED_SHARE: Final = 0.01
"""Of the measured requests: so many that open a connection are in the p99 of their times."""
_SHOWN = 5


def violation(record: Record, _: BenchmarkSpec) -> Violation | None:
    """Return why nothing of the race is a measurement; None when at least one task is."""
    reported = {task.name for task in record.track.tasks if task.reported}
    if any(task.samples.normal for task in record.tasks if task.task in reported):
        return None
    names = _shown([task.name for task in record.track.tasks])
    if reported and reported <= drowned_probes(record):
        return Violation(
            Reason.NO_TASKS,
            f"at no rate that was tried anything was measured before it was given up ({names}): begin with a lower "
            "race.capacity.targetThroughput.from, or see what keeps the server from answering",
        )
    return Violation(
        Reason.NO_TASKS,
        f"no task of the schedule is measured: Rally reports on none of its {len(record.track.tasks)} tasks ({names}); "
        "put a bulk or a search into it, or let includeTasks and excludeTasks leave one",
    )


def drowned_probes(record: Record) -> frozenset[str]:
    """Return the probes of a search that broke its objective so far that nothing was measured: an answer, too."""
    sweep = record.track.sweep
    measured = {task.task for task in record.tasks if task.samples.normal}
    steps = sweep.steps if sweep and sweep.search else ()
    return frozenset(step.name for step in steps if step.kept is False and step.name not in measured)


def remarks(record: Record) -> Iterator[RaceRemark]:
    """Yield what a reader must know of how much was measured; nothing of a smoke test, which measures nothing."""
    if record.mode == Mode.SMOKE or record.outcome.reason:
        return
    reported = {task.name for task in record.track.tasks if task.reported}
    measured = [task for task in record.tasks if task.task in reported and task.samples.normal]
    few = [
        f"{it.task} {counted(it.samples.normal, 'request')}" for it in measured if it.samples.normal < FEWEST_REQUESTS
    ]
    short = [words for task in measured for words in (_short(task), _hung(task)) if words]
    names = {task.task for task in measured}
    cold = [task.task for task in _first_bulks(record.tasks) if task.task in names and not task.samples.warmup]
    if few:
        yield RaceRemark(Reason.FEW_SAMPLES, f"few requests were measured: {_shown(few)}")
    if thinned := [f"{it.task} {it.times_kept} of {it.samples.normal}" for it in measured if it.times_kept is not None]:
        text = f"times are those of a part of the measured requests (race.downSampling): {_shown(thinned)}"
        yield RaceRemark(Reason.TIMES_DOWN_SAMPLED, text)
    if short:
        yield RaceRemark(Reason.SHORT_MEASUREMENT, f"measured for a short time: {_shown(short)}")
    if cold and record.target is None:
        yield RaceRemark(Reason.NO_WARMUP, f"measured without a warm-up on a cold JVM: {_shown(cold)}")
    if cut := _cut_warmups(measured):
        yield RaceRemark(Reason.WARMUP_TOO_SHORT, cut)
    if opened := [words for task in measured if (words := _opened(task))]:
        yield RaceRemark(Reason.CONNECTIONS_OPENED, f"measured requests opened a connection first: {_shown(opened)}")
    beyond = probes_beyond(record)
    told = [task for task in measured if not (task.task in beyond and _waits_longer(task))]
    if moving := [words for task in told if (words := _unsettled(task))]:
        yield RaceRemark(Reason.NOT_SETTLED, f"had not settled when they were measured: {_shown(moving)}")


def probes_beyond(record: Record) -> frozenset[str]:
    """Return the probes at which a search found its rate to be beyond what can be carried."""
    swept = record.track.sweep
    return frozenset(step.name for step in swept.steps if step.kept is False) if swept else frozenset()


def _waits_longer(task: Task) -> bool:
    """Return whether its requests wait longer and longer, as they do at a rate beyond what can be carried."""
    it = task.settling
    return it is not None and it.measure == LATENCY and (it.change or 0.0) > 0


def _unsettled(task: Task) -> str:
    """Return the task and how long it took to settle, when it was measured before; "" when not, or not known."""
    it = task.settling
    if it is None or it.settled is not False:
        return ""
    by = it.change or 0.0
    percent = f"{'+' if by > 0 else ''}{as_percent(by, -1.0)}"
    change = f" ({it.measure} {percent} from its beginning to its end)" if it.measure else ""
    return f"{task.task} for {it.unsettled_seconds:.1f} of {it.of_seconds:.1f} s{change}"


def _cut_warmups(tasks: Sequence[Task]) -> str:
    """Return which tasks warmed up for the most that they may, still changing or never judged; "" for none."""
    cut = [(task, it) for task in tasks if (it := task.extended_warmup) and not it.settled]
    if not cut:
        return ""
    changing = [_warmed_for(task) for task, it in cut if not it.unjudged]
    unjudged = [f"{_warmed_for(task)} ({it.unjudged})" for task, it in cut if it.unjudged]
    told = (("it had settled", changing), ("it could be judged whether it had settled", unjudged))
    found = "; ".join(f"before {what}: {_shown(which)}" for what, which in told if which)
    return f"race.steady.maxWarmup {max(it.most_seconds for _, it in cut):g} s was over {found}"


def _opened(task: Task) -> str:
    """Return the task and for how many of its requests a connection was opened; "" where that moves no figure."""
    it, measured = task.http, task.samples.normal
    if it is None or not it.opened:
        return ""
    # Without a rate each client has its connections after its first requests, unless somebody breaks them.
    broke = it.dropped is None and it.opened_again > 0
    if not broke and it.opened < _OPENED_SHARE * measured:
        return ""
    again = f" ({it.opened_again} of them again)" if it.opened_again else ""
    return f"{task.task} {it.opened} of {measured}{again}"


def _warmed_for(task: Task) -> str:
    seconds = task.warmup_seconds
    return f"{task.task} warmed up for {seconds:.1f} s" if seconds is not None else task.task


def _short(task: Task) -> str:
    """Return the task and how long it was measured, when that is short; "" when it is not, or not known."""
    seconds = task.duration_seconds
    # One request is as long as its work: it can be repeated, but not made longer.
    if seconds is None or task.samples.warmup + task.samples.normal == 1:
        return ""
    warmed, late = task.warmup_seconds or 0.0, _began_late(task)
    # A warm-up that race.steady may prolong is as long as the task needs, which says nothing of its measurement.
    if not late and seconds >= SHORTEST_SECONDS and (seconds >= warmed or task.extended_warmup):
        return ""
    planned = f", which was to be {task.planned_warmup_seconds or 0.0:.3g} s" if late else ""
    return f"{task.task} for {seconds:.3g} s" + (f" (after {warmed:.3g} s of warm-up{planned})" if warmed > 0 else "")


def _hung(task: Task) -> str:
    """Return how many of a task's clients hung in a request of their warm-up while it was measured; "" for none."""
    if not task.hung_clients:
        return ""
    which = f"{task.hung_clients} of {counted(task.clients or task.hung_clients, 'client')}"
    less = f"for up to {task.hung_seconds or 0.0:.3g} s less by {which}"
    return f"{task.task} {less}, which hung in a request of the warm-up"


def _began_late(task: Task) -> bool:
    """Return whether a pause took much of its time, of which no figure tells, since it began in the warm-up.

    It is in no measured request, and so longer than all of these: a task of slow requests begins late without any.
    """
    planned, warmed, seconds = task.planned_warmup_seconds, task.warmup_seconds, task.duration_seconds
    if planned is None or warmed is None or seconds is None or task.extended_warmup or task.turns:
        return False
    slowest = task.rally.service_time_millis.get("p100", 0.0) / 1000 if task.rally else 0.0
    late = warmed - planned
    return late > max(slowest, _LATE_SHARE * (late + seconds))


def _first_bulks(tasks: Sequence[Task]) -> Sequence[Task]:
    """Return the bulk tasks that began before any of them had ended."""
    bulks = [task for task in tasks if task.type == "bulk"]
    ends = [end for task in bulks if (end := seconds_of(task.ended_at)) is not None]
    if not ends:
        return bulks[:1]
    first_end = min(ends)
    return [task for task in bulks if (start := seconds_of(task.started_at)) is not None and start < first_end]


def load_generator_throttled(record: Record) -> str:
    """Return that, and in which tasks, the load generator was throttled for enough to be said; "" otherwise.

    Where no task has figures of its own, the race is judged as a whole.
    """
    load, unread = record.load_generator, unread_tasks(record)
    own = [(task.task, task.load) for task in record.tasks if task.load and task.load.throttled_periods is not None]
    found = [
        f"{name} {of.throttled_periods:.0f} periods, {tenths_of_seconds(of.throttled_seconds or 0.0)} s"
        for name, of in own
        if name not in unread and matters(of.judged_seconds, of.throttled_seconds, of.throttled_periods)
    ]
    if not found and (own or not matters(load.wall_seconds, load.throttled_seconds, load.throttled_periods)):
        return ""
    where = f": {_shown(found)}" if found else ""
    return (
        f"the load generator was throttled in {load.throttled_periods or 0} periods, "
        f"{tenths_of_seconds(load.throttled_seconds or 0.0)} s in all{where}"
    )


def _shown(found: Sequence[str]) -> str:
    return some_of(found, _SHOWN, last=", and ")
