"""Whether a Comparison compared what it declared, and nothing else: what ran is held against what was to differ. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from fairlap.api.block_record import BlockRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import DifferenceStatus


class ComparedVariant(Protocol):
    """One of the things compared."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def spec(self) -> Mapping[str, Any]:
        """Its Benchmark's spec, as the API has it."""


class Fairness(NamedTuple):
    """Whether the races may be compared."""

    fair: bool
    differences: list[DifferenceStatus]
    sentence: str


def diff(spec: ComparisonSpec, variants: Sequence[ComparedVariant], blocks: Sequence[BlockRecord]) -> Fairness:
    """Return whether the valid races of `blocks` differ in what the variants declare and what follows from it alone.

    `variants`: the baseline first. Without a block it says what the specs alone tell.
    """
    raise NotImplementedError
