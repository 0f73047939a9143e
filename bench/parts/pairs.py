"""What two kinds of races that alternate differ in: the ratio of each of their numbers, with its interval."""

import math
import statistics
from collections.abc import Mapping, Sequence

T_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 12: 2.20, 15: 2.14, 20: 2.09}
"""Student's t for a 95 % interval, by number of pairs."""
T_90 = {2: 6.31, 3: 2.92, 4: 2.35, 5: 2.13, 6: 2.02, 7: 1.94, 8: 1.89, 9: 1.86, 10: 1.83, 12: 1.80, 15: 1.76, 20: 1.73}
"""Student's t for a 90 % interval, by number of pairs."""
Numbers = Mapping[str, float]


def interval(ratios: Sequence[float], quantiles: Mapping[int, float]) -> tuple[float, float, float]:
    """Return the geometric mean of `ratios` and its interval; of one ratio nothing else is known."""
    if len(ratios) < 2:
        return ratios[0], 0.0, math.inf
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    # The nearest that is not larger: its interval is rather too wide than too narrow.
    near = max(pairs for pairs in quantiles if pairs <= len(logs))
    half = quantiles[near] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def in_all(pairs: Sequence[tuple[Numbers, Numbers]]) -> tuple[list[str], list[str]]:
    """Return the names of the numbers that every race has, and of those that some lack.

    Rally gives the 99th percentile only of 100 requests or more, and a throttled task on a stalled machine makes fewer.
    """
    races = [numbers for pair in pairs for numbers in pair]
    names = list(dict.fromkeys(name for numbers in races for name in numbers))
    missing = [name for name in names if not all(name in numbers for numbers in races)]
    return [name for name in names if name not in missing], missing


def not_compared(missing: Sequence[str]) -> list[str]:
    """Return the lines after a table about the numbers that some races lack."""
    return ["", f"not compared, since not every race has it: {', '.join(missing)}"] if missing else []
