"""Whether a Comparison compared what it declared and nothing else: what ran against what was to differ. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from pydantic import ValidationError

from fairlap.api.block_record import TWIN, BlockRecord, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import DifferenceStatus
from fairlap.api.spec import BenchmarkSpec
from fairlap.comparison.equal_values import comparable
from fairlap.comparison.fairness_table import (
    NONE,
    REQUESTS,
    TARGET,
    TOGETHER,
    VERSION,
    WORK,
    FactRow,
    Rule,
    row_of,
    row_of_field,
    variable_of,
)
from fairlap.comparison.race_facts import as_text, leaves
from fairlap_race.contract.some_of import some_clauses

NOTHING: Final = "nothing"
_ORDER: Final[tuple[Rule, ...]] = ("MustMatch", "Declared", "MayFollow", "FollowsRelease", "RecordOnly")
_MOST_FOLDED = 40
_HITS = "race.requests.hits"
_OF_INDEX = ("elasticsearch.index.", "target.index.")
_HEAD = re.compile(
    r"^(spec\.|ran: (?:JVM flag |module |node setting |cluster setting |index .+?: (?:setting |default )?)?)"
)
_NOT_KNOWN_OF_TARGETS = (
    "of clusters that exist already their images, storage, quality of service and machines are not known, nor who else "
    "used them"
)


class ComparedVariant(Protocol):
    """One of the things compared."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def spec(self) -> Mapping[str, Any]:
        """Its Benchmark's spec, as the API has it."""


class Fairness(NamedTuple):
    """Whether the races may be compared."""

    fair: bool
    differences: list[DifferenceStatus]
    """unfair ones first"""
    sentence: str
    not_comparable: Mapping[str, str]
    """contenders that nothing can be said of, and why; some cells of a matrix are among them in a fair comparison"""


class _Found(NamedTuple):
    """One fact that differs."""

    path: str
    rule: Rule
    row: FactRow
    values: Mapping[str, str]
    """by variant"""
    message: str
    variable: str = NONE
    """which one the specs declare with it"""


_Held = Mapping[str, tuple[str, ...]]
"""fact -> its values over some races, each once; "nothing" for a race without it"""


class _Ran(NamedTuple):
    """What is known of one variant's races."""

    everywhere: _Held
    within: Sequence[_Held]
    """the same block by block"""


def diff(spec: ComparisonSpec, variants: Sequence[ComparedVariant], blocks: Sequence[BlockRecord]) -> Fairness:
    """Return whether the valid races of `blocks` differ in what the variants declare and what follows from it alone.

    The baseline is the one that `spec` names. Without a block it says what the specs alone tell.
    """
    base = next(variant for variant in variants if variant.name == spec.baseline)
    contenders = sorted((variant for variant in variants if variant is not base), key=lambda it: it.name)
    specs = {variant.name: _spec_leaves(variant.spec) for variant in variants}
    held = {name: _ran(name, blocks) for name in specs}
    found: list[_Found] = []
    why: dict[str, str] = {}
    by_facts = set[str]()
    for contender in contenders:
        ours = list(_of_specs(base.name, specs[base.name], contender.name, specs[contender.name]))
        declared = {each.variable for each in ours} - {NONE}
        words = _too_many(base.name, contender.name, ours, declared)
        if words := words or _unproven(declared, base.name, specs[base.name], contender.name, specs[contender.name]):
            why[contender.name] = words
            ours = [_unfair(each, words) if each.variable != NONE else each for each in ours]
        ran = _with_held(ours, _of_races(base.name, contender.name, declared, held, blocks))
        named = {each.path for each in ours}
        ran = [each for each in ran if each.path.removeprefix("spec.") not in named]
        if bad := [each for each in ran if each.rule == "MustMatch"]:
            by_facts.add(contender.name)
            why.setdefault(contender.name, _undeclared(base.name, contender.name, bad))
        found += [*ours, *ran]
    varying = [each for name in sorted(specs) for each in _varying(name, held[name])]
    unknown = list(_without_facts(blocks))
    found += varying
    if unknown or varying:
        words = unknown[0] if unknown else varying[0].message
        why |= {contender.name: why.get(contender.name, words) for contender in contenders}
        by_facts |= set(why)
    excused = spec.matrix is not None and not by_facts and len(why) < len(contenders)
    fair = not why or excused
    differences = _folded(found)
    shared = [words for each in contenders if (words := _one_cluster(base.name, each.name, specs, held))]
    return Fairness(fair, differences, _sentence(fair, base.name, why, unknown, differences, variants, shared), why)


def raced_with_itself(baseline: str, variants: Sequence[ComparedVariant]) -> str:
    """Return a sentence that names who differs from the baseline in nothing that changes a race, "" without any."""
    specs = {variant.name: _spec_leaves(variant.spec) for variant in variants}
    ours = specs.pop(baseline)
    found = [
        name
        for name, theirs in specs.items()
        if all(variable_of(path) == NONE for path in _differing_paths(ours, theirs))
    ]
    if not found:
        return ""
    return f"nothing that changes a race differs between {baseline} and {_listed(found)}: this races one with itself"


def _spec_leaves(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return every value of a spec as the API server has it, defaults included, by its path."""
    try:
        whole: Mapping[str, Any] = BenchmarkSpec.model_validate(dict(spec)).to_json()
    except ValidationError:  # it will be refused; what differs can be told nevertheless
        whole = spec
    return {path.removeprefix("."): as_text(value) for path, value in leaves("", whole) if value not in ({}, [])}


def _differing_paths(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    return [
        path for path in {**ours, **theirs} if comparable(path, ours.get(path)) != comparable(path, theirs.get(path))
    ]


def _of_specs(base: str, ours: Mapping[str, str], name: str, theirs: Mapping[str, str]) -> Iterator[_Found]:
    ours, theirs = _named_alike(ours, theirs), _named_alike(theirs, ours)
    apart = _is_built(ours) != _is_built(theirs)
    variables = {}
    for path in _differing_paths(ours, theirs):
        # What the other cluster has is not known before a race: what ran is compared instead.
        of_one = apart and path.startswith(_OF_INDEX) and not (path in ours and path in theirs)
        variables[path] = TARGET if of_one else variable_of(path)
    declared = set(variables.values())
    for path, variable in variables.items():
        row = row_of_field(path)
        if TARGET in declared and (variable == TARGET or path.startswith("elasticsearch")):
            row = row._replace(is_part_of=(TARGET,))
        rule = _rule(row, declared, (), ())
        values = {base: ours.get(path, NOTHING), name: theirs.get(path, NOTHING)}
        yield _Found(path, rule, row, values, _message(rule, row, declared), variable)


def _is_built(spec: Mapping[str, str]) -> bool:
    return any(path.startswith("elasticsearch.") for path in spec)


def _named_alike(spec: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """Return the values of a spec, its index settings by the names that the other has for them."""
    return {_as_if_built(path, other): value for path, value in spec.items()}


def _as_if_built(path: str, other: Mapping[str, object]) -> str:
    """Return the path of an existing cluster's index setting as that of a built one, if `other` has it there."""
    if not path.startswith(("target.index.", "spec.target.index.")):
        return path
    built = path.replace("target.", "elasticsearch.", 1)
    return built if built in other else path


def _with_held(specs: Sequence[_Found], ran: Iterable[_Found]) -> list[_Found]:
    """Return what ran; it follows nothing, and must match, where the spec of one of two kinds of clusters holds it."""
    by_one = {variable_of(each.path) for each in specs if each.variable == TARGET} - {TARGET}
    return [
        each._replace(rule="MustMatch", message=_message("MustMatch", each.row, set()))
        if each.rule == "MayFollow" and by_one & set(each.row.is_part_of)
        else each
        for each in ran
    ]


def _too_many(base: str, name: str, differing: Sequence[_Found], declared: set[str]) -> str:
    """Return a sentence when a contender differs from the baseline in more than one variable, or in what is raced."""
    if WORK in declared:
        paths = [each.path for each in differing if each.variable == WORK]
        return f"{name} does not race what {base} does: {_listed(paths)} must be in the template alone"
    cluster = {each for each in declared if TARGET in declared and _is_in_cluster(each, differing)}
    variables = declared - cluster
    if len(variables) < 2 or frozenset(variables) in TOGETHER:
        return ""
    shown = [
        f"{each.path} ({each.values[base]} and {each.values[name]})" for each in differing if each.variable in variables
    ]
    return (
        f"{name} differs from {base} in {len(variables)} variables, {_listed(shown)}: which of them it was cannot be "
        "told; write all but one in the template, or make a Comparison for each, with a baseline that differs in one"
    )


def _unproven(declared: set[str], base: str, ours: Mapping[str, str], name: str, theirs: Mapping[str, str]) -> str:
    """Return a sentence when variants send different requests and nothing shows that these ask the same."""
    lacking = [variant for variant, spec in ((base, ours), (name, theirs)) if _HITS not in spec]
    if REQUESTS not in declared or not lacking:
        return ""
    return (
        f"{name} does not send the requests of {base}, and nothing shows that they ask the same: write {_HITS}, the "
        f"JSON pointer to the number of hits in an answer over HTTP, for {_listed(lacking)}, or race.requests in the "
        "template alone"
    )


def _is_in_cluster(variable: str, differing: Sequence[_Found]) -> bool:
    found = [each for each in differing if each.variable == variable]
    of_one = all(each.path.startswith("elasticsearch") and NOTHING in each.values.values() for each in found)
    return variable != TARGET and of_one


def _unfair(found: _Found, words: str) -> _Found:
    return found._replace(rule="MustMatch", message=words)


def _undeclared(base: str, name: str, bad: Sequence[_Found]) -> str:
    shown = [f"{each.path} ({each.values[base]} and {each.values[name]})" for each in bad[:3]]
    more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
    return f"{name} differs from {base} in what it does not declare: {_listed(shown)}{more}"


def _of_races(
    base: str, name: str, declared: set[str], held: Mapping[str, _Ran], blocks: Sequence[BlockRecord]
) -> Iterator[_Found]:
    """Yield what ran and was not the same: over all blocks, and within each what the machine decides."""
    ours, theirs = held[base], held[name]
    yield from _differing(base, name, declared, ours.everywhere, theirs.everywhere, of_machine=False)
    seen = set[str]()
    for block, *within in zip(blocks, ours.within, theirs.within, strict=True):
        for each in _differing(base, name, declared, *within, of_machine=True):
            if each.path not in seen:
                seen.add(each.path)
                yield each._replace(message=f"in block {block.number}: {each.message}")


def _races_of(name: str, blocks: Iterable[BlockRecord]) -> list[RaceRecord]:
    """Return the valid races of a variant, those against itself included, of which something is known."""
    found = [race for block in blocks for race in block.races if race.valid and race.facts]
    return [race for race in found if race.variant.removesuffix(TWIN) == name]


def _ran(name: str, blocks: Sequence[BlockRecord]) -> _Ran:
    return _Ran(_held(_races_of(name, blocks)), [_held(_races_of(name, [block])) for block in blocks])


def _held(races: Sequence[RaceRecord]) -> _Held:
    paths = dict.fromkeys(path for race in races for path in race.facts)
    kinds = [{row_of(path).what for path in race.facts} for race in races]
    found = {}
    for path in paths:
        row = row_of(path)
        values = {
            race.facts.get(path, NOTHING)
            for race, there in zip(races, kinds, strict=True)
            if not row.bulky or row.what in there  # else its record had no room for them
        }
        found[path] = tuple(sorted(values - {NOTHING} if row.where_known else values))
    return found


def _differing(
    base: str, name: str, declared: set[str], ours: _Held, theirs: _Held, *, of_machine: bool
) -> Iterator[_Found]:
    if not ours or not theirs:
        return
    ours, theirs = _by_effect(ours, theirs), _by_effect(theirs, ours)
    known = [{row_of(path).what for path in held} for held in (ours, theirs)]
    for path in {**ours, **theirs}:
        row, one, two = row_of(path), ours.get(path, ()), theirs.get(path, ())
        if row.of_machine != of_machine or one == two or _meant(path, one) == _meant(path, two):
            continue
        if row.where_known and not (one and two):
            continue
        if row.bulky and not all(row.what in each for each in known):
            continue
        rule = _rule(row, declared, one, two)
        values = {base: " or ".join(one) or NOTHING, name: " or ".join(two) or NOTHING}
        yield _Found(path, rule, row, values, _message(rule, row, declared))


def _by_effect(held: _Held, other: _Held) -> _Held:
    """Return facts in which a default has the name of a setting where the other has set it: only its effect counts.

    What was written for the indices has one name, too, whether the cluster was built or existed already.
    """

    def name(path: str) -> str:
        as_set = path.replace(": default ", ": setting ", 1)
        return as_set if path.startswith("ran: index ") and as_set in other else _as_if_built(path, other)

    return {name(path): values for path, values in held.items()}


def _meant(path: str, values: Sequence[str]) -> set[Any]:
    """Return the values of a fact as they are compared: what a spec says may be written in two ways."""
    if not path.startswith("spec."):
        return set(values)
    return {comparable(path.removeprefix("spec."), value) for value in values}


def _rule(row: FactRow, declared: set[str], ours: Sequence[str], theirs: Sequence[str]) -> Rule:
    if row.recorded:
        return "RecordOnly"
    if declared & set(row.is_part_of) or (TARGET in declared and row.by_cluster):
        return "Declared"
    if declared & set(row.follows):
        return "MayFollow"
    if row.by_release and VERSION in declared and ((ours and theirs) or not row.only_values):
        return "FollowsRelease"
    return "MustMatch"


def _message(rule: Rule, row: FactRow, declared: set[str]) -> str:
    if rule == "MustMatch":
        return f"must be the same for all variants: {row.line or 'write the same for all, in the template'}"
    if rule == "MayFollow":
        leaders = [each for each in row.follows if each in declared]
        return f"nobody held it, and it follows the {_listed(leaders)}: {row.line}"
    return {
        "Declared": "this is what is compared, or part of it",
        "FollowsRelease": "nobody set it: it follows the version, since each release decides by itself",
        "RecordOnly": "recorded, not compared",
    }[rule]


def _varying(name: str, ran: _Ran) -> Iterator[_Found]:
    """Yield what was not the same in all races of one variant: over all blocks, or on the machines of one."""
    seen = set[str]()
    groups = [(ran.everywhere, False), *((held, True) for held in ran.within)]
    for group, of_machine in groups:
        for path, values in group.items():
            row = row_of(path)
            if len(values) < 2 or row.recorded or row.of_machine != of_machine or path in seen:
                continue
            seen.add(path)
            words = f"{path} was not the same in all races of {name}: {_listed(values)}"
            line = f"; {row.line}" if row.line else ""
            yield _Found(path, "MustMatch", row._replace(what=path), {name: " or ".join(values)}, words + line)


def _without_facts(blocks: Sequence[BlockRecord]) -> Iterator[str]:
    for block in blocks:
        for race in block.races:
            if race.valid and not race.facts:
                yield f"nothing is known of how {race.variant} ran in block {block.number}: its record was too large"


def _one_cluster(base: str, name: str, specs: Mapping[str, Mapping[str, str]], held: Mapping[str, _Ran]) -> str:
    """Return a sentence when a contender's target is written otherwise than the baseline's and is the same cluster."""
    ours, theirs = (held[each].everywhere.get("ran: target clusterUUID", ()) for each in (base, name))
    if len(ours) != 1 or ours != theirs or NOTHING in ours:
        return ""
    if not any(variable_of(path) == TARGET for path in _differing_paths(specs[base], specs[name])):
        return ""
    return f"the targets of {base} and {name} are one cluster, with the UUID {ours[0]}"


def _folded(found: Sequence[_Found]) -> list[DifferenceStatus]:
    """Return what differs, unfair ones first; many of one kind are one line."""
    groups: dict[tuple[str, Rule], list[_Found]] = defaultdict(list)
    for each in found:
        groups[each.row.what if each.row.fold else each.row.what or each.path, each.rule].append(each)
    lines = [_line(what, rule, group) for (what, rule), group in groups.items()]
    return sorted(lines, key=lambda line: (_ORDER.index(line.rule), line.what))[:100]


def _line(what: str, rule: Rule, group: Sequence[_Found]) -> DifferenceStatus:
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


def _sentence(
    fair: bool,
    base: str,
    why: Mapping[str, str],
    unknown: Sequence[str],
    differences: Sequence[DifferenceStatus],
    variants: Sequence[ComparedVariant],
    shared: Sequence[str],
) -> str:
    targets = f" But {_NOT_KNOWN_OF_TARGETS}." if any(variant.spec.get("target") for variant in variants) else ""
    reasons = list(dict.fromkeys([*unknown[:3], *why.values()]))
    if not fair:
        return f"Not comparable: {'; '.join(reasons)}.{targets}"

    def named(rule: str) -> list[str]:
        return [each.what for each in differences if each.rule == rule]

    parts = [f"against {base} only what was declared differs: {_listed(named('Declared')) or NOTHING}"]
    if same := raced_with_itself(base, variants):
        parts = [*parts, same] if named("Declared") else [same]
    parts += shared
    if followed := [each for each in differences if each.rule == "MayFollow"]:
        parts += [f"{each.what} differs, too: {each.message}" for each in followed]
    if defaults := named("FollowsRelease"):
        parts.append(f"{_listed(defaults)} {'follows' if len(defaults) == 1 else 'follow'} the version")
    if reasons:
        parts.append(f"of some nothing can be said: {'; '.join(reasons)}")
    return f"Fair: {'; '.join(parts)}.{targets}"


def _listed(words: Iterable[str]) -> str:
    *rest, last = list(words) or [""]
    return f"{', '.join(rest)} and {last}" if rest else last
