"""Do comparisons err as seldom as promised, and find what they should? Simulated, and judged by the product's code.

Log ratios are drawn as normal, with noise that differs from number to number as a family's prior says (Smyth 2004), and
given to `fairlap.statistics.gates.judge`. Prints the tables of docs/statistics.md:

1. false alarms: identical variants, 1, 3 and 8 gates, with a prior that is right, too small and too large, and without;
2. worsenings of the whole margin that pass as "not worse";
3. what is found of changes of 5, 10 and 20 %, and after how many blocks;
4. how many races paired blocks need beside an unpaired design of fixed size that finds as much.

Each share has its binomial interval. Needs nothing but the package:

    PYTHONPATH=operator python bench/error_rates.py [--comparisons 2000] [--seed 1]

With --smallest it draws 20 comparisons a cell: only to see that it works.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence
from statistics import fmean

from fairlap.statistics.distributions import binomial_interval
from fairlap.statistics.gates import SEQUENTIAL, Gate, GateFinding, GateVerdict, Look, fixed, judge
from fairlap.statistics.moderation import Prior
from fairlap.statistics.paired import unpaired

MARGIN = 0.05
MOST_BLOCKS = SEQUENTIAL[-1].blocks
PRIOR_DF = 4.0
DRIFT, RACE_NOISE = 0.05, 0.02
"""standard deviations of the logarithms: what both arms of a block share, and what each race has of its own"""
WORSE = (GateVerdict.REGRESSED, GateVerdict.REGRESSED_WITHIN_MARGIN)
BETTER = (GateVerdict.IMPROVED, GateVerdict.IMPROVED_WITHIN_MARGIN)


class Draw:
    """Draws comparisons, the same ones for the same seed."""

    def __init__(self, seed: int, comparisons: int) -> None:
        self._random = random.Random(seed)
        self.comparisons = comparisons

    def noise(self, typical: float, df: float) -> float:
        """Return the standard deviation of one number: scaled inverse chi-squared, or without `df` the typical one."""
        return typical * math.sqrt(df / self._random.gammavariate(df / 2, 2)) if df else typical

    def ratios(self, mean: float, noise: float) -> list[float]:
        """Return the log ratios of as many blocks as there can be."""
        return [self._random.gauss(mean, noise) for _ in range(MOST_BLOCKS)]

    def races(self, mean: float, count: int) -> list[float]:
        """Return logarithms of races that share no blocks: each meets a drift of its own."""
        return [self._random.gauss(mean, math.hypot(DRIFT, RACE_NOISE)) for _ in range(count)]


def share(found: int, of: int) -> str:
    """Return a share in per cent with its interval."""
    low, high = binomial_interval(found, of)
    return f"{found / of:.1%} ({low:.1%} to {high:.1%})"


def compare(draw: Draw, change: float, typical: float, gates: int, prior: Prior | None) -> list[GateFinding]:
    """Return the findings of one simulated comparison; each gate has noise of its own around the typical one."""
    noise = [draw.noise(typical, PRIOR_DF if prior else 0) for _ in range(gates)]
    series = [draw.ratios(math.log1p(change), each) for each in noise]
    return judge(series, [Gate(MARGIN, "f")] * gates, SEQUENTIAL, {"f": prior} if prior else {})


def false_alarms(draw: Draw) -> None:
    """Print the share of comparisons of identical variants with any verdict of a difference."""
    typical = 0.04
    print("## Identical variants: comparisons with any false verdict (promised: 5 %)\n")
    print("| prior | 1 gate | 3 gates | 8 gates |\n|---|---|---|---|")
    for name, scale in (("none", 0.0), ("right", 1.0), ("half the variance", 0.5), ("twice the variance", 2.0)):
        prior = Prior(typical**2 * scale, PRIOR_DF) if scale else None
        cells = []
        for gates in (1, 3, 8):
            wrong = sum(
                any(found.verdict in WORSE + BETTER for found in compare(draw, 0.0, typical, gates, prior))
                for _ in range(draw.comparisons)
            )
            cells.append(share(wrong, draw.comparisons))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def missed(draw: Draw) -> None:
    """Print how often a worsening of exactly the margin is called not worse."""
    print("\n## Worse by exactly the margin, and passed as not worse (promised: 5 %)\n")
    print("| noise of a block | without a prior | with the right prior |\n|---|---|---|")
    for typical in (0.01, 0.02, 0.04):
        cells = []
        for prior in (None, Prior(typical**2, PRIOR_DF)):
            passed = sum(compare(draw, MARGIN, typical, 1, prior)[0].not_worse for _ in range(draw.comparisons))
            cells.append(share(passed, draw.comparisons))
        print(f"| {typical:.0%} | {' | '.join(cells)} |", flush=True)


def found(draw: Draw) -> None:
    """Print what becomes of true changes: found, called no difference, cannot tell; and after how many blocks."""
    print("\n## True changes, margin 5 %, one gate, with the right prior\n")
    print("| noise of a block | change | found | no difference | cannot tell | wrong direction | blocks, mean |")
    print("|---|---|---|---|---|---|---|")
    for typical in (0.02, 0.04, 0.08):
        for change in (0.0, 0.05, 0.10, 0.20):
            all_found = [
                compare(draw, change, typical, 1, Prior(typical**2, PRIOR_DF))[0] for _ in range(draw.comparisons)
            ]
            counts = [
                sum(each.verdict in verdicts for each in all_found)
                for verdicts in (WORSE, (GateVerdict.NO_DIFFERENCE,), (GateVerdict.INCONCLUSIVE,), BETTER)
            ]
            cells = [f"{count / draw.comparisons:.1%}" for count in counts]
            blocks = fmean(each.blocks for each in all_found)
            print(f"| {typical:.0%} | {change:.0%} | {' | '.join(cells)} | {blocks:.1f} |", flush=True)


def paired_power(draw: Draw, change: float, looks: Sequence[Look]) -> tuple[float, float]:
    """Return the share of comparisons in paired blocks that find a change, and the mean races they take."""
    noise = math.sqrt(2) * RACE_NOISE  # of a ratio of two races
    hits, races = 0, 0
    for _ in range(draw.comparisons):
        (each,) = judge([draw.ratios(math.log1p(change), noise)], [Gate(MARGIN)], looks)
        hits += each.verdict in WORSE
        races += 2 * each.blocks
    return hits / draw.comparisons, races / draw.comparisons


def unpaired_races(draw: Draw, change: float, power: float) -> int:
    """Return how many races all of one variant, then all of the other, an unpaired design needs for that power."""
    for each in range(3, 200):
        hits = sum(
            unpaired(draw.races(0, each), draw.races(math.log1p(change), each)).interval(0.05)[0] > 0
            for _ in range(draw.comparisons // 2)
        )
        if hits / (draw.comparisons // 2) >= power:
            return 2 * each
    return 400


def saved(draw: Draw) -> None:
    """Print how many races both designs need to find the same."""
    print(
        f"\n## Races needed where the machine drifts by {DRIFT:.0%} and a race has {RACE_NOISE:.0%} of its own noise\n"
    )
    print("| change | design | found | races, mean | unpaired, fixed: races for as much | ratio |")
    print("|---|---|---|---|---|---|")
    for change in (0.05, 0.10):
        for name, looks in (("paired, sequential", SEQUENTIAL), ("paired, 5 blocks", fixed(5))):
            power, races = paired_power(draw, change, looks)
            fixed_races = unpaired_races(draw, change, min(power, 0.99))
            print(
                f"| {change:.0%} | {name} | {power:.1%} | {races:.1f} | {fixed_races} | {races / fixed_races:.2f} |",
                flush=True,
            )


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=2000, help="how many are drawn for each cell")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--smallest", action="store_true", help="20 comparisons a cell")
    asked = parser.parse_args()
    draw = Draw(asked.seed, 20 if asked.smallest else asked.comparisons)
    print(f"{draw.comparisons} comparisons a cell, seed {asked.seed}\n")
    for part in (false_alarms, missed, found, saved):
        part(draw)


if __name__ == "__main__":
    main()
