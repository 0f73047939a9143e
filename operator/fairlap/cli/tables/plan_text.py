"""What a Comparison would do, in words, before anything is applied; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fairlap.api.block_record import TWIN
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.cli.tables.text_table import align
from fairlap.comparison.facts.fairness import diff, raced_with_itself
from fairlap.comparison.facts.race_facts import readable
from fairlap.comparison.noise.expectation import calibrated_every, design_looks
from fairlap.comparison.terms.gate_metrics import METRICS, gates_of
from fairlap.comparison.variants.variants import ResolvedVariant
from fairlap.plan.comparison.children import TWIN_LETTER, describe_variants
from fairlap.plan.comparison.disturbed_blocks import repetitions
from fairlap.plan.comparison.looks import most_blocks
from fairlap.plan.comparison.race_order import has_twin, race_order
from fairlap.statistics.gates import smallest_visible
from fairlap.statistics.paired import LARGEST_CHANGE
from fairlap.wording.counts import counted
from fairlap.wording.durations import expected_time
from fairlap.wording.numerals import figure

_SHOWN_BLOCKS = 5
_LONG = 300.0
"""seconds of a race from which on whole minutes say it well enough"""


class Known(NamedTuple):
    """What somebody knows beforehand."""

    race_seconds: float | None = None
    """how long a race takes, its cluster included"""
    noise: float | None = None
    """standard deviation of the change from block to block, in per cent"""
    smallest_change: float | None = None
    """what the noise known in a cluster lets be shown at the last look, in per cent"""
    earlier_seconds: float | None = None
    """how long a race took in Comparisons that have finished there"""

    @property
    def seconds(self) -> float | None:
        """How long a race takes: what was said, else what was seen."""
        return self.earlier_seconds if self.race_seconds is None else self.race_seconds


def plan_text(name: str, spec: ComparisonSpec, variants: Sequence[ResolvedVariant], known: Known | None = None) -> str:
    """Return what would be raced, in which order, what decides, and what it costs; `variants`: the baseline first."""
    known = known or Known()
    every = calibrated_every(spec, known.seconds)
    variants, left_out = racing(spec, variants)
    parts = [
        f"{name}: {', '.join(variant.name for variant in variants[1:])} against {variants[0].name}",
        f"Variants:\n{_indent(align(list(_variant_lines(variants, every))))}",
        *([f"Not raced, since nothing could be told of it: {'; '.join(left_out.values())}"] if left_out else []),
        *([f"Mind: {same}"] if (same := raced_with_itself(spec.baseline, variants)) else []),
        f"What decides: {_gates(spec)}",
        f"Looks: {_looks(spec)}",
        "\n".join(_cost(spec, len(variants), every, known)),
        _order(spec, variants, every),
    ]
    return "\n\n".join(parts)


def racing(
    spec: ComparisonSpec, variants: Sequence[ResolvedVariant]
) -> tuple[Sequence[ResolvedVariant], Mapping[str, str]]:
    """Return the variants that are raced, and why the others are not: cells of a matrix that the specs rule out."""
    fairness = diff(spec, variants, ())
    left_out = fairness.not_comparable if fairness.fair else {}
    return [variant for variant in variants if variant.name not in left_out], left_out


def races_of(blocks: int, variants: int, every: int) -> int:
    """Return how many races so many blocks are; `every`: in every which one the baseline also races against itself."""
    return blocks * variants + sum(has_twin(number, every) for number in range(1, blocks + 1))


def _variant_lines(variants: Sequence[ResolvedVariant], every: int) -> Iterator[tuple[str, str, str]]:
    baseline = variants[0]
    for described, variant in zip(describe_variants(variants), variants, strict=True):
        changes = [f"{path}: {_value(baseline.spec, path)} → {_value(variant.spec, path)}" for path in variant.changed]
        yield described.letter, variant.name, "; ".join(changes) or "the baseline"
    if every:
        yield TWIN_LETTER, f"{baseline.name}{TWIN}", "the baseline against itself: how large no difference looks here"


def _value(spec: Mapping[str, Any], path: str) -> str:
    """Return what stands at a dotted path, keys with dots included; "nothing" where there is none."""
    found: Any = spec
    rest = path
    while rest:
        if not isinstance(found, Mapping):
            return "nothing"
        key = next((key for key in sorted(found, key=len, reverse=True) if f"{rest}.".startswith(f"{key}.")), None)
        if key is None:
            return "nothing"
        found, rest = found[key], rest[len(key) + 1 :]
    found = readable(found)
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _gates(spec: ComparisonSpec) -> str:
    if not spec.gates:
        shown = ", ".join(f"{gate.metric} ({gate.margin:g} %)" for gate in gates_of(spec))
        return f"{shown}, over all measured tasks, since no gates are written"
    return "; ".join(
        f"{gate.metric}{f' of {gate.task}' if gate.task else ''}"
        f"{f' ({gate.margin:g} %)' if gate.margin is not None else ''}, {gate.policy}"
        for gate in spec.gates
    )


def _looks(spec: ComparisonSpec) -> str:
    found = [str(look.blocks) for look in design_looks(spec.design)]
    if spec.design.stop == "fixed":
        return f"once, after {found[0]} blocks"
    *before, last = found
    when = f"{', '.join(before)} and {last}" if before else last
    return f"after {when} blocks; it ends as soon as all is decided"


def _cost(spec: ComparisonSpec, variants: int, every: int, known: Known) -> Iterator[str]:
    first, last = design_looks(spec.design)[0].blocks, most_blocks(spec.design)
    least, most = races_of(first, variants, every), races_of(last, variants, every)
    races = f"{least}" if least == most else f"{least} to {most}"
    kept, tested = spec.design.keeps_clusters, " and raced in test mode" if spec.template.smoke_test else ""
    in_turn = spec.design.in_turn
    of_tasks = f"of {', '.join(spec.design.tasks)} alone, on kept clusters"
    on = of_tasks if kept else "each on a cluster of its own where one is built"
    on += ", those of a block in turn, one request of each" if in_turn else ""
    yield (f"Races: {races}, {on}; each variant's track is checked before{tested}, once. {_raced_again(spec)}.")
    if kept:
        yield (
            f"Clusters: {variants}, each built and filled once by a race of the whole challenge, and all of them side "
            "by side until the end, with the memory and the disk that each of them asks for; with state: Fresh it "
            f"would be {races} clusters, one at a time, each filled again."
        )
    elif spec.template.elasticsearch or any("elasticsearch" in (it.patch or {}) for it in spec.variants or ()):
        at_once = "those of a block side by side" if in_turn else "one at a time"
        yield (
            f"Clusters: {races}, each built and filled anew, {at_once}; with state: Kept, for questions about searches "
            f"alone, it would be {variants}, each filled once and all of them side by side until the end."
        )
    if known.seconds is None:
        yield "How long: not known before a race; --race-time 4m reckons with that."
    else:
        counts = (first, last) if in_turn else (least, most)
        times = dict.fromkeys(expected_time(count * known.seconds / 60) for count in counts)
        why = ", as in earlier Comparisons" if known.race_seconds is None else ""
        filling = ", and before it the clusters are filled" if kept else ""
        yield f"How long: {' to '.join(times)}, at {_single_time(known.seconds)} a race{why}{filling}."
    if known.noise is not None:
        yield _smallest(spec, variants, known.noise)
    elif known.smallest_change is not None:
        yield (
            f"How small a change it shows: {_size(known.smallest_change / 100)}, four times in five, after {last} "
            "blocks with the noise known in this cluster."
        )
    else:
        yield "How small a change it shows: not known without its noise; --noise 4 (per cent) reckons with that."


def _single_time(seconds: float) -> str:
    """Return how long one race takes: a short one in seconds, since rounding it would contradict what all take."""
    in_minutes = seconds >= _LONG or seconds % 60 == 0
    return expected_time(seconds / 60) if in_minutes else f"{figure(seconds, 3)} s"


def _raced_again(spec: ComparisonSpec) -> str:
    """Return how many blocks may be raced again, as the beginning of a sentence."""
    lost, disturbed = spec.design.retries, repetitions(spec.design)
    if not lost:
        only = f", but for up to {counted(disturbed, 'block')} whose machine was disturbed" if disturbed else ""
        return f"No block may be raced again{only}"
    more = f", and up to {disturbed} more whose machine was disturbed" if disturbed else ""
    return f"Up to {counted(lost, 'block')} may be raced again{more}"


def _smallest(spec: ComparisonSpec, variants: int, noise: float) -> str:
    # Those that are only reported share the level, too.
    tests = max(1, sum(not METRICS[gate.metric].exact for gate in gates_of(spec)) * (variants - 1))
    look = design_looks(spec.design)[-1]
    # Holm's first step: what the strictest of all gates needs.
    change = smallest_visible(noise / 100, look.blocks, look.alpha / tests)
    return (
        f"How small a change it shows: {_size(change)}, four times in five, after {look.blocks} blocks with a noise of "
        f"{noise:g} % from block to block."
    )


def _size(change: float) -> str:
    return f"{figure(100 * change, 2)} %" if change < LARGEST_CHANGE else "none that is of any use"


def _order(spec: ComparisonSpec, variants: Sequence[ResolvedVariant], every: int) -> str:
    names = [variant.name for variant in variants]
    seed = spec.design.seed
    lines = [
        (f"block {number}", ", ".join(race_order(names, number, every, seed or 0)))
        for number in range(1, min(_SHOWN_BLOCKS, most_blocks(spec.design)) + 1)
    ]
    head = f"Order of the first blocks, by design.seed {seed}:"
    if seed is None:
        head = "Order of the first blocks, for example (it is drawn at the creation; design.seed holds it):"
    return f"{head}\n{_indent(align(lines))}"


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
