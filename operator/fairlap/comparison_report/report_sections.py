"""Parts of the HTML report in words and tables: verdict, gates, fairness, what it would take to know more, findings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from statistics import fmean

from fairlap.api.comparison_status import DifferenceStatus, GateStatus
from fairlap.comparison_report.comparison_view import ComparisonView, label_of, text_at, unit_of
from fairlap.comparison_report.markup import Child, Markup, element
from fairlap.comparison_report.metric_words import NO_GATE, VERDICT_SIGNS, VERDICT_WORDS, amount, words_of
from fairlap.comparison_report.svg_parts import table
from fairlap.statistics.gates import smallest_visible
from fairlap.statistics.sentences import about_so_many
from fairlap.wording.durations import duration
from fairlap.wording.percentages import interval, percent

_MOODS = {
    "Improved": "good", "ImprovedWithinMargin": "good", "NoDifference": "even", "Regressed": "bad",
    "RegressedWithinMargin": "bad", "Mixed": "mixed",
}  # fmt: skip
_RULES = {
    "MustMatch": "Must be the same, and is not",
    "Declared": "What is compared",
    "MayFollow": "Followed what is compared, and could have been held",
    "FollowsRelease": "Defaults of the releases themselves",
    "RecordOnly": "For the record",
}
_BLOCKS = (3, 5, 7, 10, 15, 20, 30)


def section(key: str, heading: str, *children: Child) -> Markup:
    """Return a part of the report with its heading."""
    return element(
        "section", element("h2", heading, id=f"{key}-heading"), children, id=key, aria_labelledby=f"{key}-heading"
    )


def verdict(view: ComparisonView) -> Markup:
    """Return what stands first: the verdict as a word and a sentence, the gate, fairness, and what it cost."""
    word, mood = _word(view)
    gate = _condition(view, "GatePassed", "Gate", "passed", unknown="not decided")
    fair = _condition(view, "Fair", "Fair", "fair", unknown="not known")
    facts = [gate, fair, *_extent(view)]
    shown = element(
        "dl", [element("div", element("dt", what), element("dd", said)) for what, said in facts], class_="facts"
    )
    return element(
        "header",
        element("p", "Comparison ", element("strong", view.name), _where(view), class_="kicker"),
        element("h1", " against ".join([_listed(view.variants[1:]), view.baseline])),
        element("p", word, class_=f"verdict {mood}"),
        element("p", view.headline, class_="headline"),
        shown,
    )


def gates(view: ComparisonView) -> Markup | None:
    """Return a row a gate, by contender; None where nothing was judged."""
    if not view.judged:
        return None
    parts: list[Child] = []
    for contender in view.contenders:
        if not contender.gates:
            if contender.sentence and contender.verdict == "NotComparable":
                parts.append(element("p", f"{VERDICT_SIGNS['NotComparable']} {contender.sentence}"))
            continue
        if len(view.contenders) > 1:
            sign = VERDICT_SIGNS.get(contender.verdict, "")
            parts.append(
                element("h3", f"{contender.name}: {sign} {VERDICT_WORDS.get(contender.verdict, contender.verdict)}")
            )
        if contender.sentence and contender.sentence not in view.headline:
            parts.append(element("p", contender.sentence))
        rows = [_gate_row(gate) for gate in contender.gates]
        head = ["Gate", "What is known", "Gate passed", view.baseline, contender.name, "Margin", "Noise", "Blocks"]
        parts.append(table(head, rows, f"Gates of {contender.name}", numbers=2))
        sentences = [element("li", gate.sentence) for gate in contender.gates if gate.sentence]
        if sentences:
            parts.append(
                element(
                    "details", element("summary", f"The gates of {contender.name} in words"), element("ul", sentences)
                )
            )
    note = (
        "What is known: the estimated change with its interval. Those of a change hold for all gates together; that of "
        "“no difference that matters” is of the two tests, of that gate alone, that rule the margin out either way. "
        "Values are medians over the races; a mean of tasks is the geometric one. "
        f"Noise is how much {view.baseline} differs from itself from block to block (standard deviation)."
    )
    return section("gates", "Gates", parts, element("p", note, class_="note"))


def fairness(view: ComparisonView) -> Markup:
    """Return what was not the same, what is unfair first, each with its values and the line that mends it."""
    _, _, message = view.condition("Fair")
    parts: list[Child] = [element("p", f"{message[:1].upper()}{message[1:]}")] if message else []
    found = view.status.differences
    order = list(_RULES)
    by_rule = sorted(found, key=lambda each: (each.fair, order.index(each.rule)))
    for (fair, rule), group in groupby(by_rule, key=lambda each: (each.fair, each.rule)):
        members = list(group)
        heading = _RULES[rule] if fair or rule == "MustMatch" else f"{_RULES[rule]} (unfair)"
        rows = _differences(view, members)
        if rule in ("FollowsRelease", "RecordOnly") and fair:
            parts.append(element("details", element("summary", f"{heading}: {len(members)}"), rows))
        else:
            parts += [element("h3", f"{heading}: {len(members)}"), rows]
    if not found:
        declared = [path for each in view.status.variants for path in each.changed]
        told = f"Declared as what is compared: {', '.join(dict.fromkeys(declared))}. " if declared else ""
        parts.append(element("p", f"{told}No difference is recorded."))
    return section("fairness", "Was it fair?", parts)


def to_know_more(view: ComparisonView) -> Markup:
    """Return how many blocks more would settle what is open, and how small a change how many blocks show."""
    parts: list[Child] = []
    each = _seconds_of_a_block(view)
    for contender, gate in view.judged:
        if _is_open(gate) and gate.more_blocks:
            time = f", about {duration(each * gate.more_blocks)}" if each else ""
            more = f"{about_so_many(gate.more_blocks)} more block{'s' * (gate.more_blocks != 1)}"
            parts.append(element("li", f"{contender.name}, {label_of(gate)}: {more} would settle it{time}."))
    open_ones = element("ul", parts) if parts else None
    if view.judged and not parts:
        undecided = any(_is_open(gate) for _, gate in view.judged)
        said = "How many blocks more would settle it cannot be said." if undecided else "No gate is open."
        open_ones = element("p", said)
    rows = [row for contender, gate in view.judged if (row := _visible(contender.name, gate))]
    visible: list[Child] = []
    if rows:
        visible = [
            element("p", "The smallest change that so many blocks find four times in five, at the spread seen here:"),
            table(
                ["Gate", "Contender", "Spread", *(f"{n} blocks" for n in _BLOCKS)],
                rows,
                "Smallest visible change",
                numbers=2,
            ),
            element(
                "p",
                "For one gate and one look at 5 %; several gates and early looks need somewhat more.",
                class_="note",
            ),
        ]
    expected = view.status.expected
    before = None
    if expected and expected.smallest_change is not None:
        before = element(
            "p",
            f"Expected before it began: changes from {percent(expected.smallest_change, sign=False)} on are found "
            f"four times in five, with {expected.races} races at most, those raced again apart.",
        )  # fmt: skip
    if not (parts or rows or before or view.judged):
        open_ones = element("p", "There are no numbers to tell it from.")
    return section("more", "What it would take to know more", open_ones, visible, before)


def _is_open(gate: GateStatus) -> bool:
    """Tell whether more blocks may say more: also of a worsening within the margin that is to be ruled out."""
    within = gate.verdict == "RegressedWithinMargin" and gate.policy == "requireNonInferior"
    return gate.verdict == "Inconclusive" or (within and not gate.passed)


def _seconds_of_a_block(view: ComparisonView) -> float:
    """Return how long a block that counts takes, with building its clusters; 0.0 where that is not known."""
    counts = {(block.number, block.attempt) for block in view.valid_blocks}
    told = [block for block in view.status.blocks if (block.number, block.attempt) in counts]
    known = [seconds for block in told if all(seconds := [race.seconds or 0.0 for race in block.races])]
    # Those in turn run at the same time.
    return fmean(max(each, default=0.0) if view.in_turn else sum(each) for each in known) if known else 0.0


def findings(view: ComparisonView) -> Markup | None:
    """Return what else a reader must know, and how far the verdict reaches; None where there is nothing."""
    status = view.status
    parts: list[Child] = []
    races = [race for block in view.valid_blocks for race in block.races]
    remarks = sorted({f"{remark.reason}: {remark.message}" for race in races for remark in race.remarks})
    for heading, lines in (
        ("Findings", status.findings), ("How far it reaches", status.scope), ("Remarked on races that count", remarks),
    ):  # fmt: skip
        if lines:
            parts += [element("h3", heading), element("ul", [element("li", line) for line in lines])]
    return section("findings", "Findings and scope", parts) if parts else None


def _word(view: ComparisonView) -> tuple[Child, str]:
    if view.failed:
        return f"✕ Failed{f': {view.status.reason}' if view.status.reason else ''}", "bad"
    if not view.verdict:
        return "… Not over yet", "even"
    sign = element("span", VERDICT_SIGNS.get(view.verdict, ""), aria_hidden="true")
    return [sign, " ", element("strong", view.verdict), f" – {view.verdict_words}"], _MOODS.get(view.verdict, "open")


def _condition(view: ComparisonView, kind: str, name: str, word: str, *, unknown: str) -> tuple[str, Child]:
    """Return a condition by its name for people, with `word` where it is true; what is said of it goes before."""
    status, reason, message = view.condition(kind)
    if status not in ("True", "False"):
        return name, message or unknown
    shown = f"✓ {word}" if status == "True" else f"✕ not {word}"
    if kind == "GatePassed" and view.decides_nothing:
        shown = NO_GATE
    return name, [element("strong", shown), f" – {message or reason}"]


def _extent(view: ComparisonView) -> list[tuple[str, Child]]:
    status, lost = view.status, sum(not block.valid for block in view.blocks)
    void = f", {lost} void" if lost else ""
    found: list[tuple[str, Child]] = [("Blocks", f"{status.blocks_done or len(view.valid_blocks)}{void}")]
    time = duration(status.cost_seconds) if status.cost_seconds else "time not known"
    found.append(("Cost", f"{view.races_and_preparations}, {time}"))
    if status.completion_time:
        found.append(("Ended", _when(text_at(view.raw, "status", "completionTime"))))
    if status.findings:
        link = element("a", f"{len(status.findings)} to know beside it", href="#findings")
        found.append(("Findings", link))
    return found


def _when(time: str) -> str:
    return f"{time[:10]} {time[11:16]} UTC" if time.endswith("Z") else time


def _where(view: ComparisonView) -> str | None:
    return f" in {view.namespace}" if view.namespace else None


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:4]) + ([f"{len(names) - 4} more"] if len(names) > 4 else [])
    if len(shown) < 2:
        return shown[0] if shown else "variants"
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _gate_row(gate: GateStatus) -> list[Child]:
    words = words_of(gate.metric)
    known = [
        element("strong", f"{VERDICT_SIGNS.get(gate.verdict, '')} {VERDICT_WORDS.get(gate.verdict, gate.verdict)}"),
        element("br"),
        percent(gate.change),
    ]
    if gate.low is not None and gate.high is not None:
        known += [element("br"), element("span", interval(gate.low, gate.high), class_="note")]
    passed = {True: "✓ yes", False: "✕ no", None: "only reported" if gate.policy == "reportOnly" else "–"}[gate.passed]
    better = "more is better" if words.more_is_better else "less is better"
    if words.any_change_is_worse:
        better = "any change is worse"
    return [
        [label_of(gate), element("br"), element("span", better, class_="note")],
        known,
        passed,
        amount(gate.baseline, unit_of(gate)),
        amount(gate.contender, unit_of(gate)),
        percent(gate.margin, sign=False) if gate.margin else "any change",
        percent(gate.noise, sign=False),
        str(gate.blocks),
    ]


def _differences(view: ComparisonView, members: Sequence[DifferenceStatus]) -> Markup:
    names = [name for name in view.variants if any(name in each.values for each in members)]
    mend = any(each.message for each in members)
    rows: list[list[Child]] = [
        [each.what, *(each.values.get(name, "–") for name in names), *([each.message] if mend else [])]
        for each in members
    ]
    return table(["What", *names, *(["To hold it"] if mend else [])], rows, "Differences", numbers=99)


def _visible(contender: str, gate: GateStatus) -> list[Child] | None:
    if not gate.spread or gate.spread <= 0:
        return None
    spread = math.log1p(gate.spread / 100)
    changes = [percent(smallest_visible(spread, blocks) * 100, sign=False) for blocks in _BLOCKS]
    return [label_of(gate), contender, percent(gate.spread, sign=False), *changes]
