"""What stands out beside the gates: numbers at the ends of what a number can be."""

import math

from block_world import BASELINE, OTHER, a_race, a_spec

from fairlap.api.block_record import TWIN, BlockRecord
from fairlap.comparison.judging.hints import hints, twin_findings
from fairlap.comparison.numbers.block_numbers import BlockNumbers

CPU = ("bulk", "cpuSecondsPerOperation")
NOISE = (-0.02, 0.0, 0.01)
LARGEST = "+100000000000 %"


def blocks(other: str) -> list[BlockRecord]:
    """Return blocks in which the baseline takes next to nothing, and another race as much as a number can be."""
    return [
        BlockRecord(number=n, races=[a_race(BASELINE, {CPU: 5e-324}), a_race(other, {CPU: 1e300 * math.exp(noise)})])
        for n, noise in enumerate(NOISE, 1)
    ]


def test_a_number_next_to_nothing_is_a_hint() -> None:
    (found,) = hints(a_spec(), [OTHER], BlockNumbers(blocks(OTHER), BASELINE), {})
    assert found.startswith(f"hint: CPU per operation of bulk: {LARGEST} (q ")


def test_a_baseline_that_differs_from_itself_by_more_than_a_number_can_be() -> None:
    spec = a_spec([{"task": CPU[0], "metric": CPU[1], "margin": 5}])
    (found,) = twin_findings(spec, BlockNumbers(blocks(BASELINE + TWIN), BASELINE))
    assert f"differs from itself in CPU per operation of bulk by {LARGEST}, which it should not" in found
