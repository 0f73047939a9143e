"""Puts the steps of a sweep into Rally's track in place of the task that is swept; Rally is not imported here."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from fairlap_race.contract.specification.race_spec import REPLAY
from fairlap_race.contract.specification.sweep import SweepSpec, SweepStep

PAUSE = "pause-before-"
_ENDLESS_WORDS = "{}.duration: the task {} has neither iterations nor a time period of its own"


def expand(track: Any, challenge: str | None, sweep: SweepSpec) -> None:
    """Replace the swept task in the challenge of Rally's `track` by the steps; change nothing without that task.

    With clients as the axis a step sends as fast as it can: a rate that the track asks for would flatten the curve.
    """
    selected = track.find_challenge_or_default(challenge or "")
    selected.schedule[:] = [each for element in selected.schedule for each in _expanded(element, sweep)]


def _expanded(element: Any, sweep: SweepSpec) -> Iterator[Any]:
    leaves = list(element)
    if [leaf.name for leaf in leaves] != [sweep.task]:
        yield element
        return
    # It may be what the filters left of a parallel element, which it was to end.
    task = copy.copy(leaves[0])
    task.completes_parent = task.any_completes_parent = False
    for number, step in enumerate(sweep.steps):
        if number and sweep.interval_seconds:
            yield _pause(task, step, sweep.interval_seconds)
        yield _step(task, step, sweep, number)


def _step(task: Any, step: SweepStep, sweep: SweepSpec, number: int) -> Any:
    found = copy.copy(task)
    found.name, found.params = step.name, dict(task.params)
    found.params.pop("target-interval", None)
    found.params.pop("target-throughput", None)
    if step.target_throughput is not None:
        found.params["target-throughput"] = step.target_throughput
    else:
        found.schedule = None  # one of the track's own would ask for a rate
    clients = step.clients or (sweep.search.clients if sweep.search else None)
    if clients is not None:
        found.clients = clients
        found.params["clients"] = clients
    if sweep.duration_seconds is not None:
        found.warmup_iterations = found.iterations = None
        found.warmup_time_period, found.time_period = sweep.warmup_seconds, sweep.duration_seconds
        if getattr(found, "ramp_up_time_period", None):
            found.ramp_up_time_period = None
    if task.operation.param_source == REPLAY:
        # A source is told of its operation alone: not of the time, which its file may end before, or of its step.
        looped = {"looped": True} if sweep.duration_seconds is not None else {}
        found.operation = copy.copy(task.operation)
        found.operation.params = {**task.operation.params, **looped, "step": number}
    return found


def _pause(task: Any, step: SweepStep, seconds: float) -> Any:
    """Return a task that only waits, once, with one client."""
    found = copy.copy(task)
    name = f"{PAUSE}{step.name}"
    found.name, found.params, found.clients, found.schedule = name, {}, 1, None
    found.warmup_iterations, found.iterations = 0, 1
    found.warmup_time_period = found.time_period = None
    if hasattr(found, "ramp_up_time_period"):
        found.ramp_up_time_period = None
    found.operation = copy.copy(task.operation)
    # Rally finds the parameters of a sleep by its type; only a source of the track's own has a name.
    found.operation.name, found.operation.type, found.operation.param_source = name, "sleep", None
    found.operation.params = {"duration": seconds, "include-in-reporting": False}
    return found


def field_of(sweep: SweepSpec) -> str:
    """Return the field of a Benchmark that the steps come from."""
    return "race.capacity" if sweep.search else "race.sweep"


def objection(challenge: Any, sweep: SweepSpec) -> str:
    """Return what keeps the named task of Rally's `challenge` from being swept, or "".

    That there is no such task is said elsewhere, beside the tasks that there are.
    """
    taken = {leaf.name for element in challenge.schedule for leaf in element}
    if twice := next((name for name in sweep.names if name in taken), ""):
        return (
            f"{field_of(sweep)}.task: a step would be named {twice}, as another task of the challenge is, and their "
            "numbers would be mixed: give that task another name"
        )
    for element in challenge.schedule:
        leaves = list(element)
        task = next((leaf for leaf in leaves if leaf.name == sweep.task), None)
        if task is None:
            continue
        field = field_of(sweep)
        if len(leaves) > 1:
            return (
                f"{field}.task: {sweep.task} runs in parallel with other tasks, and a step would be of all of them: "
                "name a task of its own, or leave the others out (race.excludeTasks)"
            )
        if not task.operation.include_in_reporting:
            return f"{field}.task: {sweep.task} is not measured: Rally reports nothing of it; name another task"
        if task.operation.param_source == REPLAY and task.operation.params.get("order") == "zipf":
            return (
                f"{field}.task: {sweep.task} draws for a cache hit rate (order: zipf), which only the first step would "
                "have, since it fills the cache: write order: random, or race the task without steps"
            )
        if sweep.duration_seconds is None and not (task.iterations or task.time_period or _ends(task)):
            return f"{_ENDLESS_WORDS.format(field, sweep.task)}: write one, for example 30s"
    return ""


def _ends(task: Any) -> bool:
    """Tell whether the parameters of a task come to an end: documents do, unless they begin again, and a file."""
    of_file = task.operation.param_source == REPLAY and task.operation.params.get("order", "file") == "file"
    return (str(task.operation.type) == "bulk" or of_file) and not task.operation.params.get("looped")
