"""One number of several races."""

from collections.abc import Iterable
from statistics import median

from fairlap.api.figure import Figure

Number = float | int | None


def figure(values: Iterable[Number]) -> Figure | None:
    """Return median, smallest and largest of the numbers there are, or None when there is none."""
    known = [float(value) for value in values if value is not None]
    if not known:
        return None
    return Figure(median=median(known), min=min(known), max=max(known), races=len(known))
