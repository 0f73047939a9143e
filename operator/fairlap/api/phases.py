"""When a Benchmark or a Comparison is over; pure, standard library only."""

from collections.abc import Mapping
from typing import Any, Final

from fairlap.api.raw import as_mapping

OVER: Final = frozenset({"Succeeded", "Complete", "Failed"})
"""The last phases: Succeeded is of Benchmarks alone, Complete of Comparisons alone."""


def is_over(body: Mapping[str, Any]) -> bool:
    """Return whether a Benchmark or a Comparison, as the API server gives it, has ended."""
    phase = as_mapping(body.get("status")).get("phase")
    return isinstance(phase, str) and phase in OVER
