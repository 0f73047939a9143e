"""What a Comparison will take and how small a change it will show, before it begins. Pure."""

import math
from collections.abc import Mapping, Sequence

from fairlap.api.comparison_spec import ComparisonSpec, Design
from fairlap.api.comparison_status import Expected
from fairlap.comparison.terms.gate_metrics import METRICS, family, gates_of
from fairlap.statistics.gates import SEQUENTIAL, Look, fixed, smallest_visible
from fairlap.statistics.moderation import Prior

LONG_RACE_SECONDS = 15 * 60.0
"""From here on the baseline is raced against itself in every third block only."""
_SELDOM = 3


def design_looks(design: Design) -> tuple[Look, ...]:
    """Return after how many blocks a design looks, and with which share of false alarms."""
    if design.stop == "fixed":
        return fixed(design.blocks or 2)
    least, most = design.min_blocks or SEQUENTIAL[0].blocks, design.max_blocks or SEQUENTIAL[-1].blocks
    return tuple(look for look in SEQUENTIAL if least <= look.blocks <= most)


def calibrated_every(spec: ComparisonSpec, seconds_of_a_race: float | None) -> int:
    """Return in every how many-th block, from the first on, the baseline is raced against itself; 0: in none."""
    if not spec.calibrate:
        return 0
    if spec.calibrate_every:
        return spec.calibrate_every
    return _SELDOM if (seconds_of_a_race or 0) > LONG_RACE_SECONDS else 1


def expect(
    spec: ComparisonSpec,
    variants: Sequence[object],
    seconds_of_a_race: float | None,
    noise: Mapping[str, Prior] | None,
) -> Expected:
    """Return what all blocks take, without those that have to be raced again; `variants`: the baseline is one of them.

    `seconds_of_a_race`: the median of those that are known. What comes before block 1 is not in it.
    """
    looks = design_looks(spec.design)
    blocks = looks[-1].blocks
    every = calibrated_every(spec, seconds_of_a_race)
    twins = math.ceil(blocks / every) if every else 0
    races = len(variants) * blocks + twins
    one_by_one = blocks if spec.design.in_turn else races
    seen = visible_changes(spec, len(variants) - 1, looks[-1], noise or {})
    return Expected(
        blocks=[look.blocks for look in looks],
        races=races,
        minutes=None if seconds_of_a_race is None else round(one_by_one * seconds_of_a_race / 60, 1),
        smallest_change=_in_all_gates(spec, seen),
    )


def _in_all_gates(spec: ComparisonSpec, seen: Mapping[tuple[str, str], float]) -> float | None:
    """Return the change that is found in the gate with the most noise; None while that of a declared one is unknown.

    A default gate whose noise no Comparison has shown is left out, as it is of a verdict: nobody asked for it by name.
    """
    noisy = {(gate.task or "", gate.metric) for gate in gates_of(spec) if not METRICS[gate.metric].exact}
    if not seen or (spec.gates and noisy - seen.keys()):
        return None
    # Digits that count, since what is small is not nothing.
    return float(f"{max(seen.values()):.3g}")


def visible_changes(
    spec: ComparisonSpec, contenders: int, look: Look, noise: Mapping[str, Prior]
) -> Mapping[tuple[str, str], float]:
    """Return for each gate (task, metric) whose noise is known the smallest change in per cent that a look finds.

    It finds it four times in five, however many of the other gates show nothing.
    """
    gates = [gate for gate in gates_of(spec) if not METRICS[gate.metric].exact]
    tests = max(1, len(gates) * contenders)
    found: dict[tuple[str, str], float] = {}
    for gate in gates:
        known = noise.get(family(gate.metric, gate.task))
        if known:
            change = smallest_visible(math.sqrt(known.variance), look.blocks, look.alpha / tests)
            found[(gate.task or "", gate.metric)] = 100 * change
    return found
