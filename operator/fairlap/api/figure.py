"""One number over races."""

from fairlap.api.base import Answer


class Figure(Answer):
    """One number over the valid races: the unit of replication is the race."""

    median: float
    """Median over the races."""
    min: float
    """Smallest of the races."""
    max: float
    """Largest of the races."""
    races: int
    """Number of races with this number."""
