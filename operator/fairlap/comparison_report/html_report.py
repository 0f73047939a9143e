"""The HTML report: one file that asks for nothing, with the verdict first and everything that it stands on below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fairlap.api.base import Json
from fairlap.api.block_record import BlockRecord
from fairlap.api.comparison_status import GateStatus
from fairlap.comparison_report import curve_charts, report_data, report_sections
from fairlap.comparison_report.comparison_view import ComparisonView, label_of, read_view, unit_of
from fairlap.comparison_report.curve_charts import CurvesOf, latency_curves, rate_curves, service_time_curves
from fairlap.comparison_report.forest_plot import forest, reach_of
from fairlap.comparison_report.markup import Child, Markup, element, shortened
from fairlap.comparison_report.metric_words import RESOURCES, words_of
from fairlap.comparison_report.race_charts import began_at, joined, run_order
from fairlap.comparison_report.report_sections import section
from fairlap.comparison_report.style_sheet import STYLE
from fairlap.comparison_report.svg_parts import Appearance, legend, looks
from fairlap.comparison_report.sweep_charts import sweep_curves

_SHOWN_TASKS = 6
"""with curves that are not folded"""
_NO_REQUEST = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_BAND = "The median of a variant's races, with the span from the lowest to the highest around it."
_SERVICE = "Service time is how long a request took. At full load it is not how long a user would wait."
_LATENCY = (
    "Latency is how long a user would wait: all races were asked at the same rate, and it counts from when a request "
    "was due."
)
Chart = Callable[[ComparisonView, Mapping[str, Appearance], str, str], Markup | None]


def report_html(comparison: Json, blocks: Sequence[BlockRecord]) -> str:
    """Return the report of a Comparison, as the API server gives it, with its records; raises NotAComparisonError."""
    view = read_view(comparison, blocks)
    shown = looks(view.variants, view.twin)
    parts = [part for part in _parts(view, shown) if part]
    title = f"{view.name}: {view.verdict or view.status.phase or 'Pending'}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_NO_REQUEST),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Markup(STYLE)),
    )
    footer = element("footer", element("p", "Made by FairLap from the Comparison and the records of its blocks."))
    top = report_sections.verdict(view)
    body = element("body", top, element("main", _contents(parts), parts), footer)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _parts(view: ComparisonView, shown: Mapping[str, Appearance]) -> list[Markup | None]:
    return [
        report_sections.gates(view),
        report_sections.fairness(view),
        _forests(view),
        _races(view, shown),
        _order(view, shown),
        sweep_curves(view, shown),
        _curves(view, shown, ("latency", "Latencies by percentile", _LATENCY), latency_curves, curve_charts.latencies),
        _curves(
            view,
            shown,
            ("service-times", "Service times by percentile", _SERVICE),
            service_time_curves,
            curve_charts.service_times,
        ),
        _curves(view, shown, ("rates", "Throughput over time", ""), rate_curves, curve_charts.rates),
        _costs(view, shown),
        report_sections.to_know_more(view),
        report_data.method(view),
        report_sections.findings(view),
        report_data.all_numbers(view),
        report_data.repeat(view),
    ]


def _contents(parts: Sequence[Markup]) -> Markup:
    names = {
        "gates": "Gates", "fairness": "Fairness", "forest": "Changes", "races": "Races", "order": "Order",
        "sweep": "Sweep", "latency": "Latencies", "service-times": "Service times", "rates": "Over time",
        "resources": "Costs", "more": "To know more", "method": "Method",
        "findings": "Findings", "data": "Numbers", "repeat": "Repeat",
    }  # fmt: skip
    links = [
        element("li", element("a", words, href=f"#{key}"))
        for key, words in names.items()
        if any(part.startswith(f'<section id="{key}"') for part in parts)
    ]
    return element("nav", element("ul", links), aria_label="Contents")


def _forests(view: ComparisonView) -> Markup | None:
    if not view.judged:
        return None
    reach = reach_of(view)
    parts: list[Child] = []
    for place, contender in enumerate(each for each in view.contenders if each.gates):
        if len(view.contenders) > 1:
            parts.append(element("h3", contender.name))
        parts.append(forest(view, f"forest-{place}", contender.name, contender.gates, reach))
    has_twin = any(view.ratios(gate, view.twin) for gate in view.gates)
    band = (
        f"The grey band is how far {view.baseline} was from itself in one block at most: what nothing looks like."
        if has_twin
        else f"{view.baseline} was not raced against itself, so there is no band of its own noise."
    )
    note = (
        "The diamond is the estimated change, the bar its interval, each ring below it one block. Dashed lines are the "
        f"margins; the solid line is no change. {band} An arrow at an edge: the interval goes on."
    )
    return section("forest", "How much it changed", element("p", note, class_="note"), parts)


def _races(view: ComparisonView, shown: Mapping[str, Appearance]) -> Markup | None:
    charts = [
        chart
        for place, gate in enumerate(view.gates)
        if (chart := joined(view, shown, f"races-{place}", label_of(gate), unit_of(gate), partial(view.value_of, gate)))
    ]
    if not charts:
        return None
    note = (
        "A line joins the races of a block: lines that rise or fall together are a difference, those that cross noise."
    )
    return section(
        "races", "Every race", element("p", note, class_="note"),
        legend(dict(shown), view.arms, "crossed out: its block does not count"),
        element("div", charts, class_="charts"),
    )  # fmt: skip


def _order(view: ComparisonView, shown: Mapping[str, Appearance]) -> Markup | None:
    chart = run_order(view, shown, "order-0")
    if chart is None:
        return None
    lost = [
        element("li", f"Block {block.label} does not count: {block.reason or 'no reason is recorded'}")
        for block in view.blocks
        if not block.valid
    ]
    seed = f", drawn from the seed {view.status.seed}" if view.status.seed is not None else ""
    note = f"The order in each block{seed}: each variant is as often first, second … as any other, as far as that goes."
    days = "; the day stands where it changes" if any(" " in time for time in began_at(view)) else ""
    return section(
        "order",
        "In which order they ran",
        element("p", f"{note} Times are UTC{days}.", class_="note"),
        chart,
        element("ul", lost) if lost else None,
    )


def _curves(
    view: ComparisonView, shown: Mapping[str, Appearance], headed: tuple[str, str, str], chart: Chart, curves: CurvesOf
) -> Markup | None:
    """Return a section (`headed`: its key, heading and note) with a chart of each task; None without any."""
    key, heading, note = headed
    drawn = [
        (task, made)
        for place, task in enumerate(curve_charts.tasks_of(view, curves))
        if (made := chart(view, shown, f"{key}-{place}", task))
    ]
    if not drawn:
        return None
    first, rest = drawn[:_SHOWN_TASKS], drawn[_SHOWN_TASKS:]
    names = ", ".join(shortened(task, 24) for task, _ in rest[:4])
    folded = None
    if rest:
        summary = element("summary", f"{len(rest)} more tasks: {names}{' …' if len(rest) > 4 else ''}")
        folded = element("details", summary, element("div", [made for _, made in rest], class_="charts"))
    return section(
        key, heading, element("p", f"{_BAND} {note}".strip(), class_="note"), legend(dict(shown), view.arms),
        element("div", [made for _, made in first], class_="charts"), folded,
    )  # fmt: skip


def _costs(view: ComparisonView, shown: Mapping[str, Appearance]) -> Markup | None:
    whole = report_data.resources(view)
    if whole is None:
        return None
    gated = {gate.metric for gate in view.gates if not gate.task}
    charts: list[Child] = []
    for metric in RESOURCES:
        if metric in gated or metric in ("segments", "documents"):
            continue
        words = words_of(metric)
        gate = GateStatus(metric=metric, policy="reportOnly", verdict="Inconclusive")
        drawn = joined(view, shown, f"cost-{metric}", words.words, words.unit, partial(view.value_of, gate))
        if drawn:
            charts.append(drawn)
    if not charts:
        return whole
    grid = element("div", legend(dict(shown), view.arms), element("div", charts, class_="charts"))
    return Markup(whole.removesuffix("</section>") + grid + "</section>")
