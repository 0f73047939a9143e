"""What does it cost to race on where a worsening within the margin is shown and the margin is not ruled out yet?

A gate that requires no worsening of the margin could end there, and fail, or go on until the margin is ruled out or
the last look is over. Both are simulated, with the looks of `fairlap.statistics.gates`, and with levels of the tests
that rule the margin out scaled by a factor. Prints the tables of docs/decisions/racing-on-within-the-margin.md:

1. gates that are worse by exactly the margin and pass: promised are 5 % at most;
2. gates that pass, and blocks, for true changes from 0 to beyond the margin;
3. what another level of the tests that rule the margin out would change.

All gates of a comparison have the same true change. A number without a prior has the noise of its row, one with it
noise of its own around that, as the prior says (Smyth 2004). Needs numpy beside the package:

    PYTHONPATH=operator python bench/racing_on.py [--comparisons 20000] [--seed 1]

With --smallest it draws 200 comparisons a cell: only to see that it works.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from parts.many_looks import Ends, Level, Rules, ends

from fairlap.statistics.gates import SEQUENTIAL
from fairlap.statistics.moderation import Prior

MARGIN = 0.05
PRIOR_DF = 4.0
GATES = (1, 3, 8)
NOISES = (0.01, 0.03, 0.05, 0.10)
CHANGES = (0.0, 0.02, 0.03, 0.05, 0.07, 0.10)
PRIORS = {
    "none": 0.0, "right": 1.0, "twice the variance": 2.0,
    "half the variance": 0.5, "a quarter of it": 0.25, "a tenth of it": 0.1, "a hundredth of it": 0.01,
}  # fmt: skip


def levels(factor: float = 1.0) -> list[Level]:
    """Return the product's looks; the tests that rule the margin out have their level times `factor`."""
    return [Level(look.blocks, look.alpha, factor * look.alpha) for look in SEQUENTIAL]


ENDS_THERE, RACES_ON = Rules(levels(), races_on=False), Rules(levels(), races_on=True)


class Cell(NamedTuple):
    """Comparisons of one kind."""

    change: float
    noise: float
    gates: int = 1
    prior: float = 0.0
    """its variance beside the true one; 0: none"""


class Bench:
    """Simulates cells; the draws of a cell are the same for all rules."""

    def __init__(self, seed: int, comparisons: int) -> None:
        self._seed, self.comparisons = seed, comparisons

    def ends_of(self, cell: Cell, rules: Iterable[Rules]) -> list[Ends]:
        """Return how the comparisons of a cell end by each of the rules."""
        draw = np.random.default_rng([self._seed, *(round(1000 * each) for each in cell)])
        shape = (self.comparisons, cell.gates)
        scale = np.sqrt(PRIOR_DF / draw.chisquare(PRIOR_DF, shape)) if cell.prior else np.ones(shape)
        noise = cell.noise * scale[:, :, None]
        ratios = math.log1p(cell.change) + noise * draw.standard_normal((*shape, SEQUENTIAL[-1].blocks))
        prior = Prior(cell.prior * cell.noise**2, PRIOR_DF) if cell.prior else None
        return [ends(ratios, MARGIN, each, prior) for each in rules]


def passed(told: Ends) -> float:
    """Return the share of comparisons whose first gate passes."""
    return float(told.not_worse[:, 0].mean())


def errors(bench: Bench) -> None:
    """Print how often a worsening of exactly the margin passes."""
    print("## Worse by exactly the margin, and passed as not worse, per gate (promised: 5 %)\n")
    print(
        "| prior | noise of a block | "
        + " | ".join(f"{n} gate{'s' * (n > 1)}: ends there | races on" for n in GATES)
        + " |"
    )
    print("|" + "---|" * (2 + 2 * len(GATES)))
    for name, scale in PRIORS.items():
        for noise in NOISES:
            cells = [Cell(MARGIN, noise, gates, scale) for gates in GATES]
            shares = [passed(each) for cell in cells for each in bench.ends_of(cell, (ENDS_THERE, RACES_ON))]
            print(f"| {name} | {noise:.0%} | " + " | ".join(f"{each:.1%}" for each in shares) + " |")


def powers(bench: Bench, gates: int, name: str) -> None:
    """Print what passes of true changes, and after how many blocks the comparison ends."""
    print(f"\n## Gates that pass, and blocks of the comparison, mean: {gates} gate{'s' * (gates > 1)}, prior: {name}\n")
    print("| noise of a block | change | ends there: passes | races on: passes | blocks: ends there | races on |")
    print("|---|---|---|---|---|---|")
    for noise in NOISES:
        for change in CHANGES:
            told = bench.ends_of(Cell(change, noise, gates, PRIORS[name]), (ENDS_THERE, RACES_ON))
            shares = " | ".join(f"{passed(each):.1%}" for each in told)
            blocks = " | ".join(f"{each.blocks.mean():.1f}" for each in told)
            print(f"| {noise:.0%} | {change:.0%} | {shares} | {blocks} |")


def factors(bench: Bench, tried: Sequence[float]) -> None:
    """Print what other levels of the tests that rule the margin out would change."""
    shown = [(change, noise) for change in (MARGIN, 0.0, 0.02) for noise in (0.02, 0.03, 0.05)]
    print("\n## Levels of the tests that rule the margin out, times a factor: what passes when racing on, one gate\n")
    print(
        "| prior | factor | " + " | ".join(f"change {change:.0%}, noise {noise:.0%}" for change, noise in shown) + " |"
    )
    print("|" + "---|" * (2 + len(shown)))
    for name in ("none", "right"):
        rules = [Rules(levels(factor), races_on=True) for factor in tried]
        told = [bench.ends_of(Cell(change, noise, 1, PRIORS[name]), rules) for change, noise in shown]
        for number, factor in enumerate(tried):
            print(f"| {name} | {factor:g} | " + " | ".join(f"{passed(each[number]):.1%}" for each in told) + " |")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=20000, help="how many are drawn for each cell")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--smallest", action="store_true", help="200 comparisons a cell")
    asked = parser.parse_args()
    bench = Bench(asked.seed, 200 if asked.smallest else asked.comparisons)
    print(f"{bench.comparisons} comparisons a cell, seed {asked.seed}\n")
    errors(bench)
    for gates in (1, 8):
        for name in ("none", "right"):
            powers(bench, gates, name)
    factors(bench, (0.8, 0.9, 1.0, 1.1))


if __name__ == "__main__":
    main()
