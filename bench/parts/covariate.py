"""Does the canary of a race explain its noise: what would be left of it with the canary as a covariate. Pure."""

import math
from collections.abc import Sequence
from statistics import fmean, median

from fairlap.comparison.terms import gate_metrics
from parts.kubectl import Json
from parts.raced_blocks import Number, value_of

KINDS = {"cpuSeconds": "processors", "memorySeconds": "memory"}
Points = list[tuple[float, float]]
"""log ratio of the canary and log ratio of a number, of pairs of races"""
FEWEST = 3
"""degrees of freedom that a residual needs to be looked at"""


def points(lines: Sequence[Json], number: Number, kind: str, one: str, two: str) -> list[Points]:
    """Return the points of the pairs of each comparison, block by block where both races have number and canary."""
    found = []
    for line in lines:
        by_block: dict[int, dict[str, tuple[float, float]]] = {}
        for race in line["measured"]:
            value, canary = value_of(race, number), (race.get("canary") or {}).get(kind)
            if value and canary and race["variant"] in (one, two):
                by_block.setdefault(race["block"], {})[race["variant"]] = (canary, value)
        pairs = [(its[one], its[two]) for its in by_block.values() if one in its and two in its]
        found.append([(math.log(b[0] / a[0]), math.log(b[1] / a[1])) for a, b in pairs])
    return found


def left_over(groups: Sequence[Points]) -> float | None:
    """Return by what the spread about the mean of each group is multiplied when one line through all is taken out.

    About 1 where there is no relation, since the line costs a degree of freedom; None for too few points.
    """
    groups = [group for group in groups if group]
    df = sum(map(len, groups)) - len(groups)
    if df - 1 < FEWEST:
        return None
    centred = []
    for group in groups:
        x_mean, y_mean = fmean(x for x, _ in group), fmean(y for _, y in group)
        centred += [(x - x_mean, y - y_mean) for x, y in group]
    xx, xy, yy = (sum(p[a] * p[b] for p in centred) for a, b in ((0, 0), (0, 1), (1, 1)))
    if xx <= 0 or yy <= 0:
        return None
    return math.sqrt(max(0.0, 1 - xy * xy / (xx * yy)) * df / (df - 1))


def table(lines: Sequence[Json], numbers: Sequence[Number], one: str, two: str) -> str:
    """Return for each number what would be left of its spread; "" where no race has a canary."""
    rows, seen = [], dict[str, list[float]]()
    for number in numbers:
        factors = {kind: left_over(points(lines, number, kind, one, two)) for kind in KINDS}
        if any(factors.values()):
            title = f"{number.task} {gate_metrics.METRICS[number.metric].words}".strip()
            rows.append(f"| {title} | {' | '.join('' if f is None else f'{f:.2f}' for f in factors.values())} |")
            for kind, factor in factors.items():
                seen.setdefault(kind, []).extend([factor] if factor is not None else [])
    if not rows:
        return ""
    middle = [f"{median(seen[kind]):.2f}" if seen[kind] else "" for kind in KINDS]
    head = [
        "What would be left of the spread of pairs with the canary as a covariate (1: nothing is explained):",
        "",
        f"| task, metric | {' | '.join(KINDS.values())} |",
        f"|---|{'---|' * len(KINDS)}",
    ]
    return "\n".join([*head, *rows, f"| **median over the numbers** | {' | '.join(middle)} |"])
