"""Tables of noise from lines of results: where it comes from, how races are spread best, what a lever takes away. Pure.

The words in them are explained in docs/noise.md.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median

from fairlap.comparison.terms import gate_metrics
from parts.kubectl import Json
from parts.raced_blocks import ONE_RACE_EACH, Number, costs, nested, numbers_of, pair_ratios
from parts.variance_components import (
    Components,
    Observed,
    change,
    components,
    observed,
    pair_spread,
    races_of_a_cluster,
    share_apart,
)
from parts.variance_components import allocation as allocated


def percent(spread: float | None) -> str:
    """Return a standard deviation of logarithms as a percentage."""
    return "unknown" if spread is None else f"{100 * math.expm1(spread):.1f} %"


def _cell(found: Components, name: str) -> str:
    value: float | None = getattr(found, name)
    if name in found.joined:
        return {"within": "in races", "races": "in clusters"}[name]
    return "unknown" if value is None else f"{percent(math.sqrt(value))}{' (cut)' if name in found.truncated else ''}"


def sources_table(lines: Sequence[Json], state: str, pair: tuple[str, str]) -> str:
    """Return the components of each number as standard deviations, and what pairs of races would differ by, and did.

    `pair`: both variants.
    """
    numbers = numbers_of(lines, state)
    # Where clusters or targets live through all blocks, what they differ by is in each pair, and would count as noise.
    each = numbers if state in ONE_RACE_EACH else ()
    seen = {number: observed(pair_ratios(lines, number, *pair)) for number in each}
    rows = [
        "| task, metric | between clusters | between races on one | within a race | a part, s | "
        "pairs, fresh clusters | of these apart by > 5 % | pairs, kept clusters |"
        + (" pairs, observed | of these apart by > 5 %, observed |" if seen else ""),
        "|---|---|---|---|---|---|---|---|" + ("---|---|" if seen else ""),
    ]
    on_fresh, on_kept = dict[Number, float](), dict[Number, float]()
    for number in numbers:
        tree, seconds = nested(lines, number, state)
        found = components(tree)
        parts = found.counts[2] / found.counts[1] if found.counts[1] else 1.0
        fresh, kept = pair_spread(found, parts, kept=False), pair_spread(found, parts, kept=True)
        on_fresh |= {} if fresh is None else {number: fresh}
        on_kept |= {} if kept is None else {number: kept}
        apart = "unknown" if fresh is None else f"{share_apart(fresh):.0%}"
        cells = [_cell(found, name) for name in ("clusters", "races", "within")]
        rows.append(
            f"| {_title(number)} | {' | '.join(cells)} | {f'{seconds:.1f}' if seconds else ''} | {percent(fresh)} | "
            f"{apart} | {percent(kept)} |{_observed_cells(seen.get(number)) if seen else ''}"
        )
    below = [*_spread_words("fresh", on_fresh), *_spread_words("kept", on_kept), *_observed_words(seen)]
    below.append(
        "(cut): the estimate was below 0, which no variance is. In races, in clusters: nothing tells it apart."
    )
    return "\n".join([*rows, "", *below])


def _spread_words(clusters: str, spreads: Mapping[Number, float]) -> list[str]:
    """Return what pairs on such clusters differ by, over the numbers; p99s are many times as noisy."""
    others = {number: spread for number, spread in spreads.items() if not number.metric.endswith("P99")}
    if not others:
        return []
    worst = max(others, key=others.__getitem__)
    return [
        f"Pairs on {clusters} clusters: median over the numbers {percent(median(spreads.values()))}; the worst but "
        f"p99s {percent(others[worst])} ({_title(worst)})."
    ]


def _observed_cells(seen: Observed | None) -> str:
    return " unknown | unknown |" if seen is None else f" {percent(seen.spread)} | {seen.apart} of {seen.pairs} |"


def _observed_words(seen: Mapping[Number, Observed | None]) -> list[str]:
    """Return what the pairs that were raced really differed by, over the numbers."""
    known = {number: found for number, found in seen.items() if found is not None}
    others = {number: found for number, found in known.items() if not number.metric.endswith("P99")}
    if not others:
        return []
    worst = max(others, key=lambda number: others[number].spread)
    apart, pairs = (sum(getattr(found, name) for found in others.values()) for name in ("apart", "pairs"))
    middle = percent(median(it.spread for it in known.values()))
    return [
        f"Pairs, observed: median over the numbers {middle}; the worst but p99s {percent(others[worst].spread)} "
        f"({_title(worst)}). Apart by > 5 %, without p99s: {apart} of {pairs} ({apart / pairs:.0%})."
    ]


def aside_words(lines: Sequence[Json], pair: tuple[str, str]) -> str:
    """Return by how much the pairs differed that were raced again for their machine, beside those that count.

    The two means of clusters that are kept are in both alike. "" where no block was raced again.
    """
    again = [{**line, "measured": line.get("aside", [])} for line in lines]
    rows = []
    for number in numbers_of(again):
        aside, counted = (observed(pair_ratios(its, number, *pair)) for its in (again, lines))
        if aside and counted:
            rows.append((number, aside, counted))
    if not rows:
        return ""
    cells = [
        f"| {_title(number)} | {aside.pairs}: {percent(aside.spread)} | {counted.pairs}: {percent(counted.spread)} |"
        for number, aside, counted in rows
    ]
    middle = [percent(median(row[at].spread for row in rows)) for at in (1, 2)]
    return "\n".join(
        [
            "What pairs of blocks differed by that were raced again as MachineDisturbed, beside those that count:",
            "",
            "| task, metric | raced again | count |",
            "|---|---|---|",
            *cells,
            f"| **median over the numbers** | {middle[0]} | {middle[1]} |",
        ]
    )


def allocation_table(lines: Sequence[Json], state: str) -> str:
    """Return for each number how often to race on a cluster, and how many parts a race should have."""
    price = costs(lines, state)
    if price is None or (price.cluster is None and price.part is None):
        return "How to spread races: unknown, since nothing says what a cluster costs (--state kept does)."
    cluster = "unknown (--state kept says it)" if price.cluster is None else f"{price.cluster:.0f} s"
    rows = [
        (
            f"A race takes {price.race:.0f} s, a cluster {cluster}; no task is long enough to have parts."
            if price.part is None
            else f"One more part of each task takes {price.part:.1f} s, a race besides them {price.race:.0f} s, a "
            f"cluster {cluster}."
        ),
        "",
        "| task, metric | index again every … races | iterate inside a race to … s |",
        "|---|---|---|",
    ]
    for number in numbers_of(lines):
        tree, seconds = nested(lines, number, state)
        found = components(tree)
        if both := allocated(found, price):
            inside = "as long as there is time" if both.parts is None else f"{both.parts * seconds:.0f}"
            again = "unknown" if price.cluster is None else _races(both.races)
            rows.append(f"| {_title(number)} | {again} | {inside} |")
        elif found.races is not None and found.clusters is not None and price.cluster is not None:
            whole = median(race["seconds"] for line in lines for race in line["measured"] if race["seconds"])
            rows.append(f"| {_title(number)} | {_races(races_of_a_cluster(found, whole, price.cluster))} | unknown |")
    return "\n".join(rows)


def lever_table(title: str, lines: Sequence[Json], off: tuple[str, str], on: tuple[str, str]) -> str:
    """Return what becomes of the spread of identical pairs of each number with a lever; `off`, `on`: the variants."""
    rows = [
        title,
        "",
        "| task, metric | pairs | without | with | it takes away (90 % interval) |",
        "|---|---|---|---|---|",
    ]
    factors = []
    for number in numbers_of(lines):
        without, with_it = (pair_ratios(lines, number, *names) for names in (off, on))
        if found := change(without, with_it):
            factors.append(found.factor)
            away = f"{1 - found.factor:.0%} ({1 - found.high:.0%} to {1 - found.low:.0%})"
            cells = (str(found.pairs), percent(found.before), percent(found.after), away)
            rows.append(f"| {_title(number)} | {' | '.join(cells)} |")
    if factors:
        rows.append(f"| **median over the numbers** | | | | **{1 - median(factors):.0%}** |")
    return "\n".join(rows)


def _title(number: Number) -> str:
    return f"{number.task} {gate_metrics.METRICS[number.metric].words}".strip()


def _races(count: int | None) -> str:
    return "never" if count is None else str(count)
