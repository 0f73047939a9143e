"""What all charts share: scales and ticks, a shape and a dash for each variant, and a frame with title and table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fairlap.comparison_report.markup import Child, Markup, element

WIDTH, HEIGHT = 340.0, 214.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 50.0, 10.0, 10.0, 30.0
_DASHES: Final = ("", "7 3", "2 3", "9 3 2 3", "4 2")
_COLOURS: Final = 7
_SHAPES: Final = (
    "M0 -4.4A4.4 4.4 0 1 1 0 4.4A4.4 4.4 0 1 1 0 -4.4Z",
    "M0 -5.4L5 3.9L-5 3.9Z",
    "M-4 -4H4V4H-4Z",
    "M0 -5.6L5 0L0 5.6L-5 0Z",
    "M0 5.4L5 -3.9L-5 -3.9Z",
    "M-1.8 -5H1.8V-1.8H5V1.8H1.8V5H-1.8V1.8H-5V-1.8H-1.8Z",
)


@dataclass(frozen=True)
class Appearance:
    """How a variant is drawn: by colour, shape and dash, so that none of them is needed alone."""

    colour: int
    shape: int
    dash: str
    hollow: bool = False

    @property
    def classes(self) -> str:
        """Return its classes in the style sheet."""
        return f"v{self.colour}{' hollow' if self.hollow else ''}"


def looks(variants: Sequence[str], twin: str) -> dict[str, Appearance]:
    """Return how each variant is drawn; the baseline against itself looks like it, hollow and dotted."""
    found = {
        name: Appearance(place % _COLOURS, place % len(_SHAPES), _DASHES[place % len(_DASHES)])
        for place, name in enumerate(variants)
    }
    return {**found, twin: Appearance(0, 0, "1.5 2.5", hollow=True)}


def marker(look: Appearance, x: float, y: float, title: str = "", lost: bool = False) -> Markup:
    """Return a variant's sign at a place; a race that does not count is crossed out."""
    cross = element("path", d="M-6 -6L6 6M6 -6L-6 6", class_="lost") if lost else None
    shape = element("path", d=_SHAPES[look.shape], class_=f"mark {look.classes}")
    told = element("title", title) if title else None
    return element("g", told, shape, cross, transform=f"translate({x:.1f} {y:.1f})")


def marker_at(look: Appearance, share: float, y: float, title: str = "", lost: bool = False) -> Markup:
    """Return the same at a share of the width of a chart that is as wide as its page."""
    sign = marker(look, 0, 0, title, lost)
    return element("svg", sign, x=f"{share * 100:.2f}%", y=y, width=1, height=1, overflow="visible")


def legend(shown: dict[str, Appearance], names: Sequence[str], note: str = "") -> Markup:
    """Return the signs of variants with their names."""
    items = []
    for name in names:
        look = shown[name]
        line = element(
            "line", x1=1, x2=33, y1=8, y2=8, class_=f"line {look.classes}", stroke_dasharray=look.dash or None
        )
        sign = element("svg", line, marker(look, 17, 8), width=34, height=16, aria_hidden="true", focusable="false")
        items.append(element("li", sign, " ", name, " (against itself)" if look.hollow else None))
    return element("ul", items, element("li", note, class_="note") if note else None, class_="legend")


def figure(
    number: str, title: str, description: str, drawing: Child, table: Child, *, height: float = 0, heading: str = ""
) -> Markup:
    """Return a chart with its title, what it shows in words, and its numbers as a table.

    With `height` (in px) the chart is as wide as its page and x positions are shares; else its proportions stay.
    """
    names = f"{number}-title {number}-text"
    size: dict[str, str | float] = (
        {"width": "100%", "height": height} if height else {"viewBox": f"0 0 {WIDTH:g} {HEIGHT:g}", "width": "100%"}
    )
    drawn = element(
        "svg",
        element("title", title, id=f"{number}-title"),
        element("desc", description, id=f"{number}-text"),
        drawing,
        role="img",
        aria_labelledby=names,
        class_="fluid" if height else "chart",
        **size,
    )
    caption = element("figcaption", heading) if heading else None
    folded = (
        element(
            "details", element("summary", "Numbers", element("span", f" of the chart: {title}", class_="unseen")), table
        )
        if table
        else None
    )
    return element("figure", caption, drawn, folded)


def table(head: Sequence[Child], rows: Sequence[Sequence[Child]], label: str, *, numbers: int = 1) -> Markup:
    """Return a table in a box of its own that scrolls when it is wide; columns from `numbers` on hold numbers."""
    top = element(
        "tr", [element("th", cell, scope="col", class_=_cell(place, numbers)) for place, cell in enumerate(head)]
    )
    body = [
        element("tr", [
            element("th", cell, scope="row") if place == 0 else element("td", cell, class_=_cell(place, numbers))
            for place, cell in enumerate(row)
        ])
        for row in rows
    ]  # fmt: skip
    whole = element("table", element("thead", top), element("tbody", body))
    return element("div", whole, class_="scroll", tabindex=0, role="group", aria_label=label)


def _cell(place: int, numbers: int) -> str | None:
    return "n" if place >= numbers else None


@dataclass(frozen=True)
class Axis2D:
    """The frame of a chart that keeps its proportions: where values of x and y stand."""

    x: tuple[float, float]
    y: tuple[float, float]
    y_log: bool = False

    def at_x(self, value: float) -> float:
        """Return where a value of x stands."""
        low, high = self.x
        return _LEFT + (value - low) / ((high - low) or 1) * (WIDTH - _LEFT - _RIGHT)

    def at_y(self, value: float) -> float:
        """Return where a value of y stands."""
        low, high, there = (math.log10(v) if self.y_log else v for v in (*self.y, value))
        return HEIGHT - _BOTTOM - (there - low) / ((high - low) or 1) * (HEIGHT - _TOP - _BOTTOM)

    def frame(self, x_ticks: Sequence[tuple[float, str]], y_ticks: Sequence[tuple[float, str]], below: str) -> Markup:
        """Return both axes with their ticks, and what x is."""
        parts: list[Markup] = []
        for value, words in y_ticks:
            y = self.at_y(value)
            parts.append(element("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
            parts.append(element("text", words, x=_LEFT - 5, y=y + 4, class_="tick end"))
        for value, words in x_ticks:
            x = self.at_x(value)
            parts.append(element("line", x1=x, x2=x, y1=HEIGHT - _BOTTOM, y2=HEIGHT - _BOTTOM + 4, class_="axis"))
            parts.append(element("text", words, x=x, y=HEIGHT - _BOTTOM + 15, class_="tick middle"))
        base = HEIGHT - _BOTTOM
        parts.append(element("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=base, y2=base, class_="axis"))
        if below:
            parts.append(element("text", below, x=(WIDTH + _LEFT - _RIGHT) / 2, y=HEIGHT - 3, class_="tick middle"))
        return element("g", parts, aria_hidden="true")

    def path(self, points: Sequence[tuple[float, float]]) -> str:
        """Return the line through points, as the attribute d."""
        return "M" + "L".join(f"{self.at_x(x):.1f} {self.at_y(y):.1f}" for x, y in points)


def padded(values: Sequence[float], share: float = 0.08, zero: bool = False) -> tuple[float, float]:
    """Return smallest and largest value with some room around them; with `zero` from 0 on."""
    low, high = (0.0 if zero else min(values)), max(values)
    room = (high - low) * share or abs(high) * 0.05 or 1.0
    return (low if zero else low - room), high + room


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers between two values, `most` at most and two at least."""
    for power in range(-12, 16):
        for step in (1, 2, 5):
            width = step * 10.0**power
            if (high - low) / width <= most:
                first = math.ceil(low / width - 1e-9)
                return [round(place * width, 12) for place in range(first, math.floor(high / width + 1e-9) + 1)]
    return [low, high]


def log_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2, 5 of each decade between two values above 0; fewer where there are many decades."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps: tuple[float, ...] = (1, 2, 5) if last - first <= 2 else (1,)
    if high / low < 3:
        return ticks(low, high)
    return [
        step * 10.0**power for power in range(first, last + 1) for step in steps if low <= step * 10.0**power <= high
    ]
