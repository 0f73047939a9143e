"""The last parts of the HTML report: resources, the method in words, all numbers, and the manifest to repeat it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Final

import yaml
from pydantic.alias_generators import to_camel

from fairlap.api.base import Json
from fairlap.api.block_record import Measured, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.names import API_VERSION, COMPARISON_KIND, MAX_COMPARISON_NAME
from fairlap.comparison_report.archive import DATA_ID, archive_of
from fairlap.comparison_report.comparison_view import ComparisonView
from fairlap.comparison_report.markup import Child, Markup, element, plain
from fairlap.comparison_report.metric_words import RESOURCES, VERDICT_SIGNS, VERDICT_WORDS, amount, words_of
from fairlap.comparison_report.report_sections import section
from fairlap.comparison_report.svg_parts import table
from fairlap.statistics.gates import SEQUENTIAL, USUAL_ALPHA, Look
from fairlap.statistics.paired import as_change
from fairlap.wording.numerals import figure
from fairlap.wording.percentages import percent

MOST_CELLS: Final = 20_000
"""of a table of all numbers: a page with more is slow on a phone"""


def resources(view: ComparisonView) -> Markup | None:
    """Return what each variant used; None where no race knows it."""
    rows = [
        row
        for task, metric in _keys(view, lambda race: (*race.numbers, *race.task_usage))
        if metric in RESOURCES and (row := _summary_row(view, task, metric)) is not None
    ]
    if not rows:
        return None
    head = ["Number", *view.arms, *(f"{name}, change" for name in view.arms[1:])]
    note = (
        "Medians over the races that count, of all Elasticsearch nodes together; a row with a task is of its measured "
        "part. The change is the mean over blocks. Without a gate it decides nothing."
    )
    return section("resources", "What it costs", table(head, rows, "Resources"), element("p", note, class_="note"))


def all_numbers(view: ComparisonView) -> Markup:
    """Return the median of every number by variant, every number of every race, and all of it as JSON."""
    rows = [row for task, metric in _keys(view) if (row := _summary_row(view, task, metric))]
    head = ["Number", *view.arms, *(f"{name}, change" for name in view.arms[1:])]
    parts: list[Child] = []
    if rows and len(rows) * len(head) <= MOST_CELLS:
        parts += [
            element("p", "Beside the gates these are hints: among many numbers some differ by chance."),
            element(
                "details", element("summary", f"Medians of all {len(rows)} numbers"), table(head, rows, "All medians")
            ),
        ]
    parts.append(_race_by_race(view))
    data = element("script", json_for_script(archive_of(view.raw, view.records)), type="application/json", id=DATA_ID)
    note = (
        "This file holds everything as JSON, too, the facts of every race included: "
        "fairlap report -f THIS-FILE -o csv makes a table of it, and -o json an archive."
    )
    return section("data", "All numbers", parts, element("p", note, class_="note"), data)


def repeat(view: ComparisonView) -> Markup:
    """Return the manifest that asks the same question again, with the order of this one."""
    return section(
        "repeat", "To repeat it",
        element("p", "The same question, the same order of races:"),
        element("pre", element("code", manifest(view)), tabindex=0),
    )  # fmt: skip


def manifest(view: ComparisonView) -> str:
    """Return a Comparison as YAML with this one's spec and seed, under another name."""
    given = json.loads(json.dumps({key: value for key, value in view.spec.items() if key != "suspend"}, sort_keys=True))
    order = [to_camel(name) for name in ComparisonSpec.model_fields]
    spec = dict(sorted(given.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)))
    seed = view.status.seed
    if seed is not None:
        spec["design"] = {**spec.get("design", {}), "seed": seed}
    meta: Json = {"name": f"{view.name[: MAX_COMPARISON_NAME - 2].rstrip('-.')}-2"}
    if view.namespace:
        meta["namespace"] = view.namespace
    whole = {"apiVersion": API_VERSION, "kind": COMPARISON_KIND, "metadata": meta, "spec": spec}
    return plain(yaml.dump(whole, Dumper=_QuotingDumper, sort_keys=False, allow_unicode=True, width=100))


class _QuotingDumper(yaml.SafeDumper):
    """Quotes each text that some version of YAML reads as something else: 8123e45 is a number to kubectl, y is true."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if (text[:1].isalpha() and text.lower() not in ("y", "n")) or "\n" in text else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_QuotingDumper.add_representer(str, _text)


def method(view: ComparisonView) -> Markup:
    """Return how it was found, for someone who is no statistician."""
    base = view.baseline
    seed = f" The order was drawn from the seed {view.status.seed}." if view.status.seed is not None else ""
    every = view.status.calibrate_every
    in_blocks = "each block" if every == 1 else f"one of {every} blocks"
    itself = (
        f"In {in_blocks} {base} was raced against itself, too, as {view.twin}: that is what no difference looks like."
        if every
        else f"{base} was not raced against itself."
    )
    lines = [
        f"{_of_blocks(view)}{seed} What the races of a block share, such as the machine's hour, cancels where they are "
        "compared.",
        "A race is one sample, however many requests it makes. For each block the ratio of contender to baseline is "
        "taken; the change is their geometric mean, and the interval says how far off it may be, judged by how much "
        "the ratio differs from block to block.",
        _when_it_was_looked(view),
        "With several gates each must show more (Holm's procedure), so that one false alarm among all of them has a "
        "chance of 5 % at most.",
        "A margin is the change from which on a difference matters. “No difference that matters” is said only where a "
        "change as large as the margin is ruled out both ways; what is merely not shown is “cannot tell”.",
        itself,
        "Whether a race counts was decided by rules that were fixed before, the same for all variants. One that does "
        "not count makes its block void, and the block is raced again as a whole; it stays here with its reason."
        f"{_of_disturbances(view)}",
    ]
    signs = [f"{VERDICT_SIGNS[key]} {key}: {VERDICT_WORDS[key]}" for key in VERDICT_WORDS]
    told = element("ul", [element("li", line) for line in lines])
    table_of_signs = element("ul", [element("li", sign) for sign in signs])
    folded = element("details", element("summary", "The verdicts and their signs"), table_of_signs)
    return section("method", "How it was found", told, folded)


def _of_blocks(view: ComparisonView) -> str:
    if view.in_turn:
        return (
            "In each block every variant raced once, all at the same time on the same machines and in turn, one "
            "request of each; the order is drawn anew and balanced over the blocks."
        )
    of_its_own = any(".scheduling" in path for variant in view.status.variants for path in variant.changed)
    where = "each on the machines that it asks for" if of_its_own else "on the same machines"
    return (
        f"In each block every variant raced once, back to back {where}, in an order that is drawn anew and balanced "
        "over the blocks."
    )


def _of_disturbances(view: ComparisonView) -> str:
    if view.design.get("disturbed", "Count" if view.in_turn else "Repeat") != "Repeat":
        return " What disturbs the machine meets the requests of all variants alike, in turn." if view.in_turn else ""
    return (
        " So is a block in which a race's machine was another one meanwhile (MachineDisturbed), by what the machine "
        "told and not by what the race measured; that is bounded, and what is disturbed after it counts."
    )


def _when_it_was_looked(view: ComparisonView) -> str:
    design = view.design
    if design.get("stop", "sequential") == "fixed":
        asked, there = design.get("blocks"), len(view.valid_blocks)
        cut = isinstance(asked, int) and view.over and there < asked
        end = f"it ended after {there} that count, which is fewer" if cut else "it was looked once, after the last"
        return f"The number of blocks, {asked}, was fixed beforehand; {end}."
    looks = _looks(view)
    wrong = figure(100 * min(USUAL_ALPHA, sum(look.alpha for look in looks)), 3)
    if len(looks) == 1:
        return (
            f"It was looked once, after {looks[0].blocks} blocks. That look asks for {_level(looks[0])} instead of "
            f"the usual 95 %, which makes at most {wrong} % false alarms."
        )
    levels = _listed([f"{_level(look)} after {look.blocks}" for look in looks])
    return (
        f"It was looked after {_listed([str(look.blocks) for look in looks])} blocks, as far as it went. Looking often "
        f"finds more by chance, so each look asks for more than the usual 95 %: for {levels}. Together that makes at "
        f"most {wrong} % false alarms."
    )


def _looks(view: ComparisonView) -> Sequence[Look]:
    """Return the looks that its design has, as far as the status or the spec tells them."""
    planned = view.status.expected.blocks if view.status.expected else []
    least, most = (view.design.get(field) for field in ("minBlocks", "maxBlocks"))
    by_spec = [
        look.blocks
        for look in SEQUENTIAL
        if not (isinstance(least, int) and look.blocks < least) and not (isinstance(most, int) and look.blocks > most)
    ]
    return [look for look in SEQUENTIAL if look.blocks in (planned or by_spec)] or SEQUENTIAL


def _level(look: Look) -> str:
    return f"{figure(100 * (1 - look.alpha), 4)} %"


def _listed(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def json_for_script(data: Json) -> Markup:
    """Return JSON that no text in it can end the script element with."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _keys(
    view: ComparisonView, numbers: Callable[[RaceRecord], Iterable[Measured]] = lambda race: race.numbers
) -> list[tuple[str, str]]:
    """Return task and metric of every number: those of the whole race first, then task by task."""
    found = dict.fromkeys(
        (each.task, each.metric) for block in view.blocks for race in block.races for each in numbers(race)
    )
    tasks = list(dict.fromkeys(task for task, _ in found))
    return sorted(found, key=lambda key: (bool(key[0]), tasks.index(key[0])))


def _summary_row(view: ComparisonView, task: str, metric: str) -> list[Child] | None:
    unit = view.unit(task, metric)
    by_arm = {
        name: {
            block.number: value
            for block in view.valid_blocks
            if (value := view.number(block, name, task, metric)) is not None
        }
        for name in view.arms
    }
    if not any(by_arm.values()):
        return None
    label: list[Child] = [element("strong", task), " ", words_of(metric).words] if task else [words_of(metric).words]
    if view.told_apart(task, metric):
        return [[*label, ", told in different units"], *("–" for _ in view.arms), *("–" for _ in view.arms[1:])]
    medians = [amount(median(values.values()), unit) if values else "–" for values in by_arm.values()]
    base = by_arm.get(view.baseline, {})
    return [label, *medians, *(_mean_change(base, by_arm[name]) for name in view.arms[1:])]


def _mean_change(base: Mapping[int, float], other: Mapping[int, float]) -> str:
    pairs = [(base[key], other[key]) for key in base if key in other and base[key] > 0 and other[key] > 0]
    logs = [math.log(theirs) - math.log(ours) for ours, theirs in pairs]
    return percent(as_change(fmean(logs)) * 100) if logs else "–"


def _race_by_race(view: ComparisonView) -> Markup:
    columns = [(block, race) for block in view.blocks for race in block.races if race.numbers]
    keys = _keys(view)
    if not columns:
        return element("p", "No race has numbers.")
    if len(keys) * len(columns) > MOST_CELLS:
        return element("p", f"{len(keys)} numbers of {len(columns)} races are too many for a table here.")
    head = ["Number", *(f"{block.label}: {race.variant}{'' if block.valid else ' (void)'}" for block, race in columns)]
    by_race = [{(each.task, each.metric): each for each in race.numbers} for _, race in columns]
    rows = list(_rows(view, keys, by_race))
    return element(
        "details",
        element("summary", f"Every number of {len(columns)} races"),
        table(head, rows, "Every race"),
        class_="raw",
    )


def _rows(
    view: ComparisonView, keys: list[tuple[str, str]], by_race: list[dict[tuple[str, str], Measured]]
) -> Iterator[list[Child]]:
    for task, metric in keys:
        label = f"{task} {words_of(metric).words}".strip()
        found = [each.get((task, metric)) for each in by_race]
        yield [label, *(amount(it.value, it.unit or view.unit(task, metric)) if it else "–" for it in found)]
