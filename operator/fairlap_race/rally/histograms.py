"""Every request's times as histograms of bounded size, in HdrHistogram's own encoding, so that they can be merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from hdrh.histogram import HdrHistogram

from fairlap_race.contract.recorded.kept_samples import MAX_HISTOGRAM_CHARACTERS, TaskHistogram

MOST = 24 * 3600 * 1_000_000
"""Microseconds; what took longer counts as this."""
MOST_DIGITS = 3
_BITS = 11
"""Of a value that a histogram of three digits tells apart (2048 sub-buckets)."""


def bucket(seconds: float) -> int:
    """Return the smallest value, in microseconds, that a histogram of three digits counts together with `seconds`."""
    micros = min(MOST, max(1, round(seconds * 1e6))) if seconds > 0 else 1
    shift = max(0, micros.bit_length() - _BITS)
    return micros >> shift << shift


@dataclass
class Times:
    """The measured requests of one task by bucket: a few thousand entries, however many requests there are."""

    service: Counter[int] = field(default_factory=Counter)
    latency: Counter[int] = field(default_factory=Counter)

    def add(self, service: float, latency: float) -> None:
        """Count one request; both in seconds."""
        self.service[bucket(service)] += 1
        self.latency[bucket(latency)] += 1

    def record(self) -> TaskHistogram | None:
        """Return the histograms with as many digits as fit the record; None without requests."""
        if not self.service:
            return None
        same = self.latency == self.service
        for digits in range(MOST_DIGITS, 0, -1):
            service = encoded(self.service, digits)
            latency = None if same else encoded(self.latency, digits)
            if max(len(service), len(latency or "")) <= MAX_HISTOGRAM_CHARACTERS:
                return TaskHistogram(digits, service, latency)
        return None


def encoded(counts: Mapping[int, int], digits: int) -> str:
    """Return HdrHistogram's compressed V2 encoding, in base64, of `counts` by microseconds with `digits` digits."""
    found = HdrHistogram(1, MOST, digits)
    for value, count in counts.items():
        found.record_value(value, count)
    return str(found.encode().decode("ascii"))
