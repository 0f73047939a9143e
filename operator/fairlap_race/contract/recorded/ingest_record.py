"""What the processors of an ingest pipeline did."""

from __future__ import annotations

from dataclasses import dataclass

MOST_PROCESSORS = 40
"""Of one pipeline in a record; those that failed come first."""


@dataclass(frozen=True)
class ProcessorCount:
    """One processor of a pipeline that failed or never ran."""

    place: int = 0
    """1 for the first of the pipeline"""
    type: str = ""
    count: int = 0
    """documents that it was run for, with those that it failed for; a false `if` counts for nothing"""
    failed: int = 0
    """also those whose failure is ignored or handled"""


@dataclass(frozen=True)
class ProcessorWork:
    """The processors of a pipeline together: not those in on_failure and foreach, which are not counted."""

    processors: int = 0
    done: int = 0
    """times that one of them ran without a failure"""
    dropped: int = 0
    """documents that drop processors dropped"""
    rerouted: int = 0
    """documents that reroute processors were run for"""
    told: tuple[ProcessorCount, ...] = ()
    hidden: tuple[str, ...] = ()
    """types of processors in on_failure or foreach that drop documents or send them elsewhere"""
