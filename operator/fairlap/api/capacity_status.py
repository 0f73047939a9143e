"""What a search for the capacity answers."""

from typing import Annotated

from pydantic import Field

from fairlap.api.base import Answer, AtMost, Text
from fairlap.api.sweep_status import Range


class CapacityRace(Answer):
    """What one race found."""

    end: Annotated[str, Field(max_length=40)]
    """Found: within the resolution. Wide: the probes contradict each other. NeverKept, NeverBroken: the capacity lies
    below or above the rates. LoadGeneratorBottleneck: it lies above what the load generator could send."""
    rate: float | None = None
    """The best guess."""
    low: float | None = None
    """Lower end of the 90 % interval; absent where it lies below the lowest rate."""
    high: float | None = None
    """Upper end; absent where it lies above the highest rate."""
    probes: int = 0
    """How many it took."""


class CapacityRange(Range):
    """A capacity with the interval of all races, whose ends need not be bounds."""

    low: float
    """Lower end; with openBelow the lowest rate that was to be tried."""
    high: float
    """Upper end; with openAbove the highest rate that was to be tried."""
    open_below: bool = False
    """Whether the interval reaches below low: some race has no bound there."""
    open_above: bool = False
    """Whether it reaches above high."""


class CapacityResult(Answer):
    """The highest rate at which the objective was kept: every other time at this one, as a rule below it."""

    task: Text
    """The task that was probed; results.sweep has a row for each probe."""
    objective: Text
    """What was to be kept, in words."""
    unit: Text = ""
    """Unit of the rates."""
    rate: CapacityRange | None = None
    """The mean of the races, from the lowest to the highest end of their intervals; absent where it is refused."""
    races: Annotated[list[CapacityRace], AtMost(100)] = []
    """One entry a race."""
    refused: Text = ""
    """Why there is no capacity to be told."""
    sentences: Annotated[list[Text], AtMost(10)] = []
    """What was found, in words."""
