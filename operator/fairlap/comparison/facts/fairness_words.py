"""What a Comparison says of what was not the same: a line for each kind of it, and a sentence over all. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from fairlap.api.comparison_status import DifferenceStatus
from fairlap.comparison.facts.fairness_table import IMAGE, NONE, VERSION, FactRow, Rule
from fairlap_race.contract.some_of import some_clauses

NOTHING: Final = "nothing"
_ORDER: Final[tuple[Rule, ...]] = ("MustMatch", "Declared", "MayFollow", "FollowsRelease", "RecordOnly")
_MOST_FOLDED = 40
_HEAD = re.compile(
    r"^(spec\.|ran: (?:JVM flag |module |node setting |cluster setting |index .+?: (?:setting |default )?)?)"
)
_NOT_KNOWN_OF_TARGETS = (
    "of clusters that exist already their images, storage, quality of service and machines are not known, nor who else "
    "used them"
)


class FoundDifference(NamedTuple):
    """One fact that differs."""

    path: str
    rule: Rule
    row: FactRow
    values: Mapping[str, str]
    """by variant"""
    message: str
    variable: str = NONE
    """which one the specs declare with it"""


def folded(found: Sequence[FoundDifference]) -> list[DifferenceStatus]:
    """Return what differs, unfair ones first; many of one kind are one line."""
    groups: dict[tuple[str, Rule], list[FoundDifference]] = defaultdict(list)
    for each in found:
        groups[each.row.what if each.row.fold else each.row.what or each.path, each.rule].append(each)
    lines = [_line(what, rule, group) for (what, rule), group in groups.items()]
    return sorted(lines, key=lambda line: (_ORDER.index(line.rule), line.what))[:100]


def _line(what: str, rule: Rule, group: Sequence[FoundDifference]) -> DifferenceStatus:
    names = sorted({name for each in group for name in each.values})
    paths = dict.fromkeys(each.path for each in group)
    values = {}
    for name in names:
        mine = {each.path: each.values[name] for each in group if name in each.values}
        shown = mine.values() if len(paths) == 1 else [f"{_HEAD.sub('', path)} {value}" for path, value in mine.items()]
        values[name] = some_clauses(dict.fromkeys(shown), _MOST_FOLDED)
    messages = dict.fromkeys(each.message for each in group)
    count = len({_HEAD.sub("", path) for path in paths})
    title = f"{what} ({count})" if count > 1 and rule in ("FollowsRelease", "RecordOnly") else what
    return DifferenceStatus(
        what=title.removeprefix("ran: "), rule=rule, fair=rule != "MustMatch", values=values,
        message="; ".join(list(messages)[:3]),
    )  # fmt: skip


def sentence(
    base: str, differences: Sequence[DifferenceStatus], reasons: Sequence[str], *, fair: bool, same: str,
    shared: Sequence[str], targets: bool,
) -> str:  # fmt: skip
    """Return whether it is fair in one sentence.

    `reasons`: why nothing can be said, of some or of all; `same`: who races with itself, "" for nobody; `shared`: what
    is said of clusters that are one; `targets`: some exist already.
    """
    unknown = f" But {_NOT_KNOWN_OF_TARGETS}." if targets else ""
    if not fair:
        return f"Not comparable: {'; '.join(reasons)}.{unknown}"

    def named(rule: str) -> list[str]:
        return [each.what for each in differences if each.rule == rule]

    declared = named("Declared")
    parts = [f"against {base} only what was declared differs: {listed(declared) or NOTHING}"]
    if same:
        parts = [*parts, same] if declared else [same]
    parts += shared
    if followed := [each for each in differences if each.rule == "MayFollow"]:
        parts += [f"{each.what} differs, too: {each.message}" for each in followed]
    if defaults := named("FollowsRelease"):
        release = IMAGE if "elasticsearch.image" in declared and "elasticsearch.version" not in declared else VERSION
        parts.append(f"{listed(defaults)} {'follows' if len(defaults) == 1 else 'follow'} the {release}")
    if reasons:
        parts.append(f"of some nothing can be said: {'; '.join(reasons)}")
    return f"Fair: {'; '.join(parts)}.{unknown}"


def listed(words: Iterable[str]) -> str:
    """Return words as people list them: one, two and three."""
    *rest, last = list(words) or [""]
    return f"{', '.join(rest)} and {last}" if rest else last
