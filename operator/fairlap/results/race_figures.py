"""One number of several races, and of one task's requests."""

from collections.abc import Iterable
from statistics import median

from fairlap.api.figure import Figure
from fairlap_race.contract.recorded.record import Task


def figure(values: Iterable[float | None]) -> Figure | None:
    """Return median, smallest and largest of the numbers there are, or None when there is none."""
    known = [float(value) for value in values if value is not None]
    if not known:
        return None
    return Figure(median=median(known), min=min(known), max=max(known), races=len(known))


def median_of_known(values: Iterable[float | None]) -> float | None:
    """Return the median of the numbers there are, or None when there is none."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def error_rate(task: Task) -> float:
    """Return failed requests over all requests of one task, warm-up included (0 to 1)."""
    requests = task.samples.warmup + task.samples.normal
    return (task.errors.warmup + task.errors.normal) / requests if requests else 0.0
