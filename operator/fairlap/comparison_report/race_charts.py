"""Charts of races: each as a point joined within its block, and all of them in the order in which they ran."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fairlap.api.block_record import RaceRecord
from fairlap.comparison.facts.disturbed_race import DISTURBED, disturbance
from fairlap.comparison.terms.block_reason import BlockReason
from fairlap.comparison_report.comparison_view import ComparisonView, RanBlock
from fairlap.comparison_report.markup import Markup, element, shortened
from fairlap.comparison_report.metric_words import amount
from fairlap.comparison_report.svg_parts import (
    Appearance,
    Axis2D,
    figure,
    legend,
    marker,
    marker_at,
    padded,
    table,
    ticks,
)
from fairlap.wording.durations import duration
from fairlap.wording.numerals import digits

Value = Callable[[RanBlock, str], float | None]
_STRIP, _GAP = 38.0, 6.0


def scale_of(values: Sequence[float], unit: str) -> tuple[float, str]:
    """Return by what to divide values for an axis, and the unit that they then have."""
    most = max(map(abs, values), default=0.0)
    if unit in ("bytes", "B"):
        for name, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
            if most >= size:
                return float(size), name
    if unit == "ms" and most >= 10_000:
        return 1000.0, "s"
    return 1.0, unit


def joined(
    view: ComparisonView, shown: Mapping[str, Appearance], number: str, what: str, unit: str, value: Value
) -> Markup | None:
    """Return one number's races as points, those of a block joined; None where there are none."""
    found = {(block.label, name): value(block, name) for block in view.blocks for name in view.arms}
    values = [each for each in found.values() if each is not None]
    if not values:
        return None
    by, scaled = scale_of(values, unit)
    # Beside the baseline on one side how far it is from itself, on the other how far the others are from it.
    arms = sorted(view.arms, key=lambda name: name != view.twin)
    frame = Axis2D((-0.5, len(arms) - 0.5), padded([each / by for each in values]))
    parts: list[Markup] = []
    for block in view.blocks:
        here = [(place, found[block.label, name]) for place, name in enumerate(arms)]
        points = [(float(place), each / by) for place, each in here if each is not None]
        if block.valid and len(points) > 1:
            parts.append(element("path", d=frame.path(points), class_="join"))
    for block in view.blocks:
        for place, name in enumerate(arms):
            each = found[block.label, name]
            if each is not None:
                lost = not block.valid
                told = f"block {block.label}, {name}: {amount(each, unit)}{', does not count' if lost else ''}"
                parts.append(marker(shown[name], frame.at_x(place), frame.at_y(each / by), told, lost))
    most = max(3, 46 // len(arms))
    axis = frame.frame(
        [(place, shortened(name, most)) for place, name in enumerate(arms)],
        [(each, digits(each)) for each in ticks(*frame.y)],
        "",
    )
    rows = [
        [block.label, *(amount(found[block.label, name], unit) for name in view.arms), _counts(block)]
        for block in view.blocks
    ]
    numbers = table(["Block", *view.arms, "Counts"], rows, f"{what}, race by race")
    return figure(number, what, _summary(view, found, unit), [axis, parts], numbers, heading=f"{what}{_in(scaled)}")


def run_order(view: ComparisonView, shown: Mapping[str, Appearance], number: str) -> Markup | None:
    """Return blocks below each other, in each its races in the order in which they ran; None where none ran."""
    if not view.blocks:
        return None
    places = max((len(block.races) for block in view.blocks), default=1) or 1
    parts, began = [], began_at(view)
    for line, block in enumerate(view.blocks):
        y = line * (_STRIP + _GAP) + 16
        dead = "" if block.valid else " void"
        parts.append(element("rect", x=1, y=y - 14, width="99.5%", height=_STRIP, class_=f"strip{dead}"))
        name = f"Block {block.number}" if block.valid else f"{block.number}: void"
        parts.append(_two_lines(name, began[line], 0.015, y, 0))
        for place, race in enumerate(block.races):
            share = 0.2 + 0.8 * place / places
            look = shown.get(race.variant) or Appearance(0, 0, "")
            told = f"block {block.label}, place {place + 1}: {race.variant}, {duration(race.seconds)}"
            parts.append(marker_at(look, share, y - 1, told, lost=not race.valid))
            took = duration(race.seconds) if race.seconds is not None else ""
            parts.append(_two_lines(shortened(race.variant, max(4, 36 // places)), took, share, y, 11))
    height = len(view.blocks) * (_STRIP + _GAP) + 4
    rows = [
        [block.label, str(place + 1), race.variant, race.started_at or "–", duration(race.seconds), _fate(block, race)]
        for block in view.blocks
        for place, race in enumerate(block.races)
    ]
    text = f"{len(view.blocks)} blocks, {sum(not block.valid for block in view.blocks)} of them void."
    numbers = table(["Block", "Place", "Variant", "Started", "Took", "Counts"], rows, "Races in their order", numbers=9)
    return element(
        "div",
        legend(dict(shown), view.arms, "crossed out: does not count"),
        figure(number, "Races in the order in which they ran, a line a block", text, parts, numbers, height=height),
    )


def began_at(view: ComparisonView) -> list[str]:
    """Return when each block began, in UTC: with month and day where they change, if not all began on one day."""
    told = [block.races[0].started_at if block.races else "" for block in view.blocks]
    days = [time[5:10] for time in told]
    several = len({*filter(None, days)}) > 1
    shown, last = [], ""
    for day, time in zip(days, told, strict=True):
        shown.append(f"{day} {time[11:16]}" if several and day not in ("", last) else time[11:16])
        last = day or last
    return shown


def _two_lines(first: str, second: str, share: float, y: float, x: float) -> Markup:
    lines = [element("text", first, x=x, y=2, class_="tick dark"), element("text", second, x=x, y=16, class_="tick")]
    return element("svg", lines, x=f"{share * 100:.2f}%", y=y, width=1, height=1, overflow="visible")


def _counts(block: RanBlock) -> str:
    return "yes" if block.valid else f"no: {block.reason or 'void'}"


def _fate(block: RanBlock, race: RaceRecord) -> str:
    if not race.valid:
        return f"no: {race.message or race.reason or 'void'}"
    if block.cause == DISTURBED and (how := disturbance(race)) is not None:
        return f"no: {how}"
    if block.cause == BlockReason.INSTALLATION_CHANGED:
        return f"no: {block.reason}"
    return "yes" if block.valid else "no: another race of its block does not count"


def _in(unit: str) -> str:
    return f" ({unit})" if unit else ""


def _summary(view: ComparisonView, found: Mapping[tuple[str, str], float | None], unit: str) -> str:
    parts = []
    for name in view.arms:
        values = [each for block in view.valid_blocks if (each := found[block.label, name]) is not None]
        if values:
            parts.append(f"{name}: {amount(min(values), unit)} to {amount(max(values), unit)} in {len(values)} races")
    return "; ".join(parts) + "." if parts else "No race counts."
