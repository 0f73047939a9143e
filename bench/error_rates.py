"""Do comparisons err as seldom as promised, and find what they should? Simulated, and judged by the product's code.

Log ratios are drawn as normal, with noise that differs from number to number as a family's prior says (Smyth 2004).
They become records of blocks, and the operator's own `judged_at_look` says look by look whether a Comparison ends and
with which verdict: gates, giving up early and all. Prints the tables of docs/statistics.md:

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
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from statistics import fmean
from typing import NamedTuple

from parts.share_interval import binomial_interval

from fairlap.api.block_record import BlockRecord, Measured, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import GateStatus
from fairlap.comparison.judging.judgement import judge_blocks
from fairlap.comparison.noise.expectation import design_looks
from fairlap.comparison.variants.variants import ResolvedVariant, expand
from fairlap.plan.comparison.answer import judged_at_look
from fairlap.statistics.gates import Look
from fairlap.statistics.moderation import Prior
from fairlap.statistics.paired import unpaired

MARGIN = 0.05
PRIOR_DF = 4.0
DRIFT, RACE_NOISE = 0.05, 0.02
"""standard deviations of the logarithms: what both arms of a block share, and what each race has of its own"""
METRIC, USUAL = "serviceTimeP50", 10.0
BASE, OTHER = "base", "other"
SEQUENTIAL: Mapping[str, object] = {"stop": "sequential"}
WORSE = ("Regressed", "RegressedWithinMargin")
BETTER = ("Improved", "ImprovedWithinMargin")


class Cell(NamedTuple):
    """Comparisons of one kind."""

    change: float
    """of the cost, in truth: 0.05 is 5 % more"""
    typical: float
    """noise of a block: standard deviation of the log ratio"""
    gates: int = 1
    prior: Prior | None = None
    """with one, each gate has noise of its own around the typical one"""
    design: Mapping[str, object] = SEQUENTIAL


class Told(NamedTuple):
    """What all comparisons of a cell said."""

    of: int
    alarms: int
    """in how many any gate differed"""
    passed: int
    """in how many the first gate's worsening was ruled out"""
    verdicts: Sequence[str]
    """of the first gate"""
    blocks: float
    """mean"""

    def share(self, verdicts: Iterable[str]) -> float:
        """Return the share of comparisons with one of these verdicts."""
        return sum(each in verdicts for each in self.verdicts) / self.of


class Draw:
    """Draws, the same for the same seed."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def noise(self, typical: float, df: float) -> float:
        """Return the standard deviation of one number: scaled inverse chi-squared, or without `df` the typical one."""
        return typical * math.sqrt(df / self._random.gammavariate(df / 2, 2)) if df else typical

    def block(self, number: int, change: float, noise: Sequence[float]) -> BlockRecord:
        """Return the record of a block with one task a gate; the baseline has no noise, the ratio has it all."""
        ratios = [self._random.gauss(math.log1p(change), each) for each in noise]
        costs = {BASE: [USUAL] * len(noise), OTHER: [USUAL * math.exp(ratio) for ratio in ratios]}
        return BlockRecord(number=number, races=[_race(name, values) for name, values in costs.items()])

    def races(self, mean: float, count: int) -> list[float]:
        """Return logarithms of races that share no blocks: each meets a drift of its own."""
        return [self._random.gauss(mean, math.hypot(DRIFT, RACE_NOISE)) for _ in range(count)]


def _race(variant: str, values: Sequence[float]) -> RaceRecord:
    numbers = [Measured(task=f"task {n}", metric=METRIC, value=value) for n, value in enumerate(values)]
    return RaceRecord(variant=variant, benchmark=variant, numbers=numbers)


def spec(gates: int, design: Mapping[str, object]) -> ComparisonSpec:
    """Return the spec of a Comparison with so many gates."""
    margin = 100 * MARGIN
    return ComparisonSpec.model_validate(
        {
            "template": {"elasticsearch": {"version": "9.0.0"}, "race": {"track": {"builtin": "log_ingest"}}},
            "variants": [{"name": BASE}, {"name": OTHER, "patch": {"elasticsearch": {"java": "21"}}}],
            "baseline": BASE,
            "gates": [{"task": f"task {n}", "metric": METRIC, "margin": margin} for n in range(gates)],
            "design": design,
        }
    )


def simulate(seed: str, cell: Cell, comparisons: int) -> Told:
    """Return what so many simulated comparisons of a cell say in the end."""
    draw, subject = Draw(seed), spec(cell.gates, cell.design)
    looks, variants = design_looks(subject.design), expand(subject)
    ends = [_compare(draw, cell, subject, variants, looks) for _ in range(comparisons)]
    differing = (*WORSE, *BETTER)
    return Told(
        comparisons,
        alarms=sum(any(gate.verdict in differing for gate in gates) for gates, _ in ends),
        passed=sum(gates[0].passed is True for gates, _ in ends),
        verdicts=[gates[0].verdict for gates, _ in ends],
        blocks=fmean(blocks for _, blocks in ends),
    )


def _compare(
    draw: Draw, cell: Cell, subject: ComparisonSpec, variants: Sequence[ResolvedVariant], looks: Sequence[Look]
) -> tuple[Sequence[GateStatus], int]:
    noise = [draw.noise(cell.typical, PRIOR_DF if cell.prior else 0) for _ in range(cell.gates)]
    priors = {METRIC: cell.prior} if cell.prior else {}
    blocks: list[BlockRecord] = []
    for look in looks:
        blocks += [draw.block(number + 1, cell.change, noise) for number in range(len(blocks), look.blocks)]
        judged, ends = judged_at_look(subject, variants, blocks, looks, priors, judge_blocks)
        if ends:
            return judged.contenders[0].gates, len(blocks)
    raise AssertionError("the last look ends a Comparison")


class Bench:
    """Simulates cells on all processors, a cell at a time on each."""

    def __init__(self, pool: ProcessPoolExecutor, seed: int, comparisons: int) -> None:
        self._pool, self.seed, self.comparisons = pool, seed, comparisons

    def outcomes(self, cells: Sequence[Cell]) -> list[Told]:
        """Return what each cell says; its draws depend on the seed and on the cell alone."""
        seeds = [f"{self.seed} {cell}" for cell in cells]
        return list(self._pool.map(simulate, seeds, cells, [self.comparisons] * len(cells)))

    def unpaired_races(self, wanted: Sequence[tuple[float, float]]) -> list[int]:
        """Return for each change and share of finds how many races an unpaired design needs."""
        changes, powers = zip(*wanted, strict=True)
        seeds = [f"{self.seed} {each}" for each in wanted]
        return list(self._pool.map(unpaired_races, seeds, changes, powers, [self.comparisons // 2] * len(wanted)))


def share(found: int, of: int) -> str:
    """Return a share in per cent with its interval."""
    low, high = binomial_interval(found, of)
    return f"{found / of:.1%} ({low:.1%} to {high:.1%})"


def false_alarms(bench: Bench) -> None:
    """Print the share of comparisons of identical variants with any verdict of a difference."""
    typical, gates = 0.04, (1, 3, 8)
    scales = {
        "none": 0.0, "right": 1.0, "twice the variance": 2.0,
        "half the variance": 0.5, "a tenth of it": 0.1, "a hundredth of it": 0.01,
    }  # fmt: skip
    priors = [Prior(typical**2 * scale, PRIOR_DF) if scale else None for scale in scales.values()]
    told = iter(bench.outcomes([Cell(0.0, typical, many, prior) for prior in priors for many in gates]))
    print("## Identical variants: comparisons with any false verdict (promised: 5 %)\n")
    print("| prior | 1 gate | 3 gates | 8 gates |\n|---|---|---|---|")
    for name in scales:
        print(f"| {name} | {' | '.join(share(each.alarms, each.of) for each in islice(told, len(gates)))} |")


def missed(bench: Bench) -> None:
    """Print how often a worsening of exactly the margin is called not worse."""
    noises = (0.01, 0.02, 0.04)
    cells = [Cell(MARGIN, each, 1, prior) for each in noises for prior in (None, Prior(each**2, PRIOR_DF))]
    told = iter(bench.outcomes(cells))
    print("\n## Worse by exactly the margin, and passed as not worse (promised: 5 %)\n")
    print("| noise of a block | without a prior | with the right prior |\n|---|---|---|")
    for typical in noises:
        print(f"| {typical:.0%} | {' | '.join(share(each.passed, each.of) for each in islice(told, 2))} |")


def found(bench: Bench) -> None:
    """Print what becomes of true changes: found, called no difference, cannot tell; and after how many blocks."""
    cells = [
        Cell(change, typical, 1, Prior(typical**2, PRIOR_DF))
        for typical in (0.02, 0.04, 0.08)
        for change in (0.0, 0.05, 0.10, 0.20)
    ]
    kinds = (WORSE, ("NoDifference",), ("Inconclusive",), BETTER)
    print("\n## True changes, margin 5 %, one gate, with the right prior\n")
    print("| noise of a block | change | found | no difference | cannot tell | wrong direction | blocks, mean |")
    print("|---|---|---|---|---|---|---|")
    for cell, told in zip(cells, bench.outcomes(cells), strict=True):
        shares = " | ".join(f"{told.share(kind):.1%}" for kind in kinds)
        print(f"| {cell.typical:.0%} | {cell.change:.0%} | {shares} | {told.blocks:.1f} |")


def unpaired_races(seed: str, change: float, power: float, comparisons: int) -> int:
    """Return how many races all of one variant, then all of the other, an unpaired design needs for that power."""
    draw = Draw(seed)
    for each in range(3, 200):
        hits = sum(
            unpaired(draw.races(0, each), draw.races(math.log1p(change), each)).interval(0.05)[0] > 0
            for _ in range(comparisons)
        )
        if hits / comparisons >= power:
            return 2 * each
    return 400


def saved(bench: Bench) -> None:
    """Print how many races both designs need to find the same."""
    designs: Mapping[str, Mapping[str, object]] = {
        "paired, sequential": SEQUENTIAL,
        "paired, 5 blocks": {"stop": "fixed", "blocks": 5},
    }
    noise = math.sqrt(2) * RACE_NOISE  # of a ratio of two races
    rows = [(change, name) for change in (0.05, 0.10) for name in designs]
    told = bench.outcomes([Cell(change, noise, design=designs[name]) for change, name in rows])
    power = [each.share(WORSE) for each in told]
    fixed = bench.unpaired_races([(change, min(each, 0.99)) for (change, _), each in zip(rows, power, strict=True)])
    print(
        f"\n## Races needed where the machine drifts by {DRIFT:.0%} and a race has {RACE_NOISE:.0%} of its own noise\n"
    )
    print("| change | design | found | races, mean | unpaired, fixed: races for as much | ratio |")
    print("|---|---|---|---|---|---|")
    for (change, name), each, share_found, most in zip(rows, told, power, fixed, strict=True):
        races = 2 * each.blocks
        print(f"| {change:.0%} | {name} | {share_found:.1%} | {races:.1f} | {most} | {races / most:.2f} |")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=2000, help="how many are drawn for each cell")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--smallest", action="store_true", help="20 comparisons a cell")
    asked = parser.parse_args()
    comparisons = 20 if asked.smallest else asked.comparisons
    print(f"{comparisons} comparisons a cell, seed {asked.seed}\n")
    with ProcessPoolExecutor() as pool:
        bench = Bench(pool, asked.seed, comparisons)
        for part in (false_alarms, missed, found, saved):
            part(bench)


if __name__ == "__main__":
    main()
