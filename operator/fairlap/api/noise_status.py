"""What the status says of noise: how small a difference of each number could be seen here."""

from typing import Annotated

from pydantic import Field

from fairlap.api.base import Answer, AtMost, Text

MOST_NOISY_TASKS, MOST_NOISY_NUMBERS = 200, 10


class NumberNoise(Answer):
    """One number of a task: how much it differs between races of the same thing, and what that hides."""

    metric: Annotated[str, Field(max_length=63)]
    """As gates name it, for example serviceTimeP99."""
    races: int
    """Valid races of this Benchmark with this number."""
    own_spread: float | None = None
    """Standard deviation of the change from one race to another of this Benchmark, in per cent; absent with fewer
    than two."""
    history_spread: float | None = None
    """The same from block to block in Comparisons of the same work on the same machines, in the last 30 days; absent
    where there were none."""
    smallest_visible: float | None = None
    """The smallest difference in per cent that a Comparison of one gate and the default design, at its look after so
    many pairs, finds four times in five; absent while the noise is unknown."""
    message: Text = ""
    """That in a sentence, or why it is unknown."""


class TaskNoise(Answer):
    """The noise of what may decide of a task."""

    task: Text
    """Name of the task in the challenge."""
    numbers: Annotated[list[NumberNoise], AtMost(MOST_NOISY_NUMBERS)] = []
    """p50, p90 and p99 of its latency where it has a target throughput, else of its service time and before them the
    throughput; in turn those of its service time alone, since a rate and a wait are those of all races together. CPU
    per operation where it is known."""


class Noise(Answer):
    """How small a difference could be seen here, by the noise of this Benchmark's races and of earlier Comparisons."""

    pairs: int
    """How many pairs of races are meant."""
    message: Text = ""
    """From which to which size of a difference nothing could be seen in a task or the capacity, or why that is
    unknown."""
    history: Text = ""
    """What is known from earlier Comparisons, or why nothing is."""
    numbers: Annotated[list[NumberNoise], AtMost(MOST_NOISY_NUMBERS)] = []
    """Of the whole race: the size of the store, the capacity where it is looked for, and the peak of memory and bytes
    written to disk where they are known."""
    tasks: Annotated[list[TaskNoise], AtMost(MOST_NOISY_TASKS)] = []
    """One entry a measured task, in the order of the schedule."""
    left_out: int = 0
    """Tasks that the status has no room for."""
