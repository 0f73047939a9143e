"""What a record keeps of every request's sample: a histogram of each task, and where the samples themselves are."""

from __future__ import annotations

from dataclasses import dataclass

MAX_HISTOGRAM_CHARACTERS = 4096
"""Of one encoded histogram: no text of a record is read beyond it."""


@dataclass(frozen=True)
class TaskHistogram:
    """Times of a task's measured requests, failed ones among them, in microseconds: HdrHistogram's V2 encoding."""

    digits: int = 0
    """significant decimal digits that were kept: 3, fewer where they needed too much room"""
    service_time: str | None = None
    """compressed, in base64; None when left out"""
    latency: str | None = None
    """None where it is the service time: nothing was planned"""


@dataclass(frozen=True)
class KeptSamples:
    """The Parquet file of all samples on the claim of race.samples."""

    name: str = ""
    """of the file on the claim"""
    rows: int = 0
    bytes: int = 0
    problem: str = ""
    """why there is none; empty when it was written"""
