"""Does the interval of a capacity hold the truth as often as it says, and how many probes does it take? Simulated.

The product's own search (`fairlap_race.contract.specification.capacity_search`) looks for capacities drawn between the
rates. Its probes err as a cluster's do: at the rate x an objective is kept with the probability Φ((ln capacity - ln x)
/ spread); the spread is given in resolutions. Prints the table of docs/capacity.md. Needs nothing but the package:

    PYTHONPATH=operator python bench/capacity.py [--searches 300] [--seed 1]

With --smallest it makes two searches a row: only to see that it works.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence
from statistics import median

from parts.share_interval import binomial_interval

from fairlap_race.contract.specification.capacity_search import (
    CapacityFound,
    CapacitySearch,
    End,
    RateProbe,
    next_rate,
    what_is_found,
)

SEARCH = CapacitySearch(lowest=100.0, highest=1000.0, resolution=0.05)
SPREADS = (0.0, 0.2, 0.5, 1.0, 2.0, 4.0)
INSIDE = (130.0, 770.0)


def searched(capacity: float, spread: float, draw: random.Random) -> tuple[int, CapacityFound]:
    """Return how many probes a search took, and what it found."""
    probes: list[RateProbe] = []
    while (rate := next_rate(SEARCH, probes)) is not None:
        distance = math.log(capacity / rate) / SEARCH.width
        chance = 0.5 * (1 + math.erf(distance / spread / math.sqrt(2))) if spread else float(distance >= 0)
        probes.append(RateProbe(rate, draw.random() < chance))
    return len(probes), what_is_found(SEARCH, probes)


def row(spread: float, searches: int, draw: random.Random) -> str:
    """Return a line of the table."""
    held = found = 0
    counts, widths = [], []
    for _ in range(searches):
        capacity = math.exp(draw.uniform(*map(math.log, INSIDE)))
        number, answer = searched(capacity, spread, draw)
        low, high = answer.low or SEARCH.lowest, answer.high or SEARCH.highest
        held += low <= capacity <= high
        found += answer.end is End.FOUND
        counts.append(number)
        widths.append(100 * (high / low - 1))
    least, most = binomial_interval(held, searches)
    most_probes = sorted(counts)[math.ceil(0.9 * searches) - 1]
    return (
        f"| {100 * SEARCH.resolution * spread:.0f} % | {held / searches:.0%} ({least:.0%} to {most:.0%}) | "
        f"{found / searches:.0%} | {median(counts):.0f} ({most_probes}) | {median(widths):.1f} % |"
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--smallest", action="store_true", help="two searches a row")
    options = parser.parse_args(argv)
    searches = 2 if options.smallest else options.searches
    print(f"{searches} searches a row, {SEARCH.lowest:g} to {SEARCH.highest:g}/s, resolution {SEARCH.resolution:.0%}\n")
    print("| noise | the 90 % interval holds the capacity | within the resolution | probes, median (90 %) | width |")
    print("|---|---|---|---|---|")
    draw = random.Random(options.seed)
    for spread in SPREADS:
        print(row(spread, searches, draw), flush=True)


if __name__ == "__main__":
    main()
