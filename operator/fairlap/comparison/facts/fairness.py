"""Whether a Comparison compared what it declared and nothing else: what ran against what was to differ. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from pydantic import ValidationError

from fairlap.api.block_record import TWIN, BlockRecord, RaceRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import DifferenceStatus
from fairlap.api.spec import BenchmarkSpec
from fairlap.comparison.facts.fairness_table import (
    IMAGE,
    NONE,
    RELEASE,
    REQUESTS,
    TARGET,
    TOGETHER,
    VERSION,
    WORK,
    FactRow,
    Rule,
    cut_with,
    row_of,
    row_of_field,
    variable_of,
)
from fairlap.comparison.facts.fairness_words import NOTHING, FoundDifference, folded, listed, sentence
from fairlap.comparison.facts.installation import as_now_told, unknown_facts
from fairlap.comparison.facts.race_facts import as_text, lines_read, readable, spec_leaves
from fairlap.comparison.terms.equal_values import comparable

_HITS = "race.requests.hits"
_OF_INDEX = ("elasticsearch.index.", "target.index.")


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


_ValuesByFact = Mapping[str, tuple[str, ...]]
"""fact -> its values over some races, each once; "nothing" for a race without it"""


class _RacedFacts(NamedTuple):
    """What is known of one variant's races."""

    everywhere: _ValuesByFact
    within: Sequence[_ValuesByFact]
    """the same block by block"""


def diff(spec: ComparisonSpec, variants: Sequence[ComparedVariant], blocks: Sequence[BlockRecord]) -> Fairness:
    """Return whether the valid races of `blocks` differ in what the variants declare and what follows from it alone.

    The baseline is the one that `spec` names. Without a block it says what the specs alone tell.
    """
    base = next(variant for variant in variants if variant.name == spec.baseline)
    contenders = sorted((variant for variant in variants if variant is not base), key=lambda it: it.name)
    specs = {variant.name: _spec_leaves(variant.spec) for variant in variants}
    held = _ran(variants, blocks)
    found: list[FoundDifference] = []
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
        if words := _unread(declared, base.name, contender.name, held):
            by_facts.add(contender.name)
            why.setdefault(contender.name, words)
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
    differences = folded(found)
    shared = [words for each in contenders if (words := _one_cluster(base.name, each.name, specs, held))]
    words = sentence(
        base.name, differences, list(dict.fromkeys([*unknown[:3], *why.values()])), fair=fair,
        same=raced_with_itself(base.name, variants), shared=shared,
        targets=any(variant.spec.get("target") for variant in variants),
    )  # fmt: skip
    return Fairness(fair, differences, words, why)


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
    return f"nothing that changes a race differs between {baseline} and {listed(found)}: this races one with itself"


def _spec_leaves(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return every value of a spec as the API server has it, defaults included, by its path."""
    try:
        whole: Mapping[str, Any] = BenchmarkSpec.model_validate(dict(spec)).to_json()
    except ValidationError:  # it will be refused; what differs can be told nevertheless
        whole = spec
    return {path.removeprefix("."): as_text(value) for path, value in spec_leaves("", whole) if value not in ({}, [])}


def _differing_paths(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    return [
        path for path in {**ours, **theirs} if comparable(path, ours.get(path)) != comparable(path, theirs.get(path))
    ]


def _of_specs(base: str, ours: Mapping[str, str], name: str, theirs: Mapping[str, str]) -> Iterator[FoundDifference]:
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
        one = VERSION if variable == IMAGE and VERSION in declared else variable
        yield FoundDifference(path, rule, row, values, _message(rule, row, declared), one)


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


def _with_held(specs: Sequence[FoundDifference], ran: Iterable[FoundDifference]) -> list[FoundDifference]:
    """Return what ran; it follows nothing, and must match, where the spec of one of two kinds of clusters holds it."""
    by_one = {variable_of(each.path) for each in specs if each.variable == TARGET} - {TARGET}
    return [
        each._replace(rule="MustMatch", message=_message("MustMatch", each.row, set()))
        if each.rule == "MayFollow" and by_one & set(each.row.is_part_of)
        else each
        for each in ran
    ]


def _too_many(base: str, name: str, differing: Sequence[FoundDifference], declared: set[str]) -> str:
    """Return a sentence when a contender differs from the baseline in more than one variable, or in what is raced."""
    if WORK in declared:
        paths = [each.path for each in differing if each.variable == WORK]
        return f"{name} does not race what {base} does: {listed(paths)} must be in the template alone"
    cluster = {each for each in declared if TARGET in declared and _is_in_cluster(each, differing)}
    variables = declared - cluster
    if len(variables) < 2 or frozenset(variables) in TOGETHER:
        return ""
    shown = [
        f"{each.path} ({each.values[base]} and {each.values[name]})" for each in differing if each.variable in variables
    ]
    return (
        f"{name} differs from {base} in {len(variables)} variables, {listed(shown)}: which of them it was cannot be "
        "told; write all but one in the template, or make a Comparison for each, with a baseline that differs in one"
    )


def _unproven(declared: set[str], base: str, ours: Mapping[str, str], name: str, theirs: Mapping[str, str]) -> str:
    """Return a sentence when variants send different requests and nothing shows that these ask the same."""
    lacking = [variant for variant, spec in ((base, ours), (name, theirs)) if _HITS not in spec]
    if REQUESTS not in declared or not lacking:
        return ""
    return (
        f"{name} does not send the requests of {base}, and nothing shows that they ask the same: write {_HITS}, the "
        f"JSON pointer to the number of hits in an answer over HTTP, for {listed(lacking)}, or race.requests in the "
        "template alone"
    )


def _unread(declared: set[str], base: str, name: str, held: Mapping[str, _RacedFacts]) -> str:
    """Return a sentence when variants send different requests and not every line is known to find the same."""
    if REQUESTS not in declared or not (held[base].everywhere and held[name].everywhere):
        return ""
    known = {variant: lines_read(held[variant].everywhere) for variant in (base, name)}
    short = {variant: (read, of) for variant, (read, of) in known.items() if read < max(of, 1)}
    if not short:
        return ""
    shown = [f"{read:,} of {of:,} lines of {variant}" for variant, (read, of) in short.items()]
    return (
        f"{name} does not send the requests of {base}, and what they find was read of no more than {listed(shown)}: "
        "that the others ask the same is not known; give race.requests files whose different lines can each be asked "
        "once more within two minutes after the race, or write race.requests in the template alone"
    )


def _is_in_cluster(variable: str, differing: Sequence[FoundDifference]) -> bool:
    found = [each for each in differing if each.variable == variable]
    of_one = all(each.path.startswith("elasticsearch") and NOTHING in each.values.values() for each in found)
    return variable != TARGET and of_one


def _unfair(found: FoundDifference, words: str) -> FoundDifference:
    return found._replace(rule="MustMatch", message=words)


def _undeclared(base: str, name: str, bad: Sequence[FoundDifference]) -> str:
    shown = [f"{each.path} ({each.values[base]} and {each.values[name]})" for each in bad[:3]]
    more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
    return f"{name} differs from {base} in what it does not declare: {listed(shown)}{more}"


def _of_races(
    base: str, name: str, declared: set[str], held: Mapping[str, _RacedFacts], blocks: Sequence[BlockRecord]
) -> Iterator[FoundDifference]:
    """Yield what ran and was not the same: over all blocks, and within each what only its two sides must share."""
    ours, theirs = held[base], held[name]
    yield from _differing(base, name, declared, ours.everywhere, theirs.everywhere, of_block=False)
    seen = set[str]()
    for block, *within in zip(blocks, ours.within, theirs.within, strict=True):
        for each in _differing(base, name, declared, *within, of_block=True):
            if each.path not in seen:
                seen.add(each.path)
                yield each._replace(message=f"in block {block.number}: {each.message}")


def _races_of(name: str, blocks: Iterable[BlockRecord]) -> list[RaceRecord]:
    """Return the valid races of a variant, those against itself included, of which something is known."""
    found = [race for block in blocks for race in block.races if race.valid and race.facts]
    return [race for race in found if race.variant.removesuffix(TWIN) == name]


def _ran(variants: Sequence[ComparedVariant], blocks: Sequence[BlockRecord]) -> dict[str, _RacedFacts]:
    """Return what is known of each variant's races."""
    blocks = as_now_told(blocks, {variant.name: variant.spec for variant in variants})
    unknown = unknown_facts(blocks)
    return {variant.name: _ran_by(variant.name, blocks, unknown) for variant in variants}


def _ran_by(name: str, blocks: Sequence[BlockRecord], unknown: Sequence[Collection[str]]) -> _RacedFacts:
    within = [_races_of(name, [block]) for block in blocks]
    of_each = [lacking for races, lacking in zip(within, unknown, strict=True) for _ in races]
    everywhere = _held([race for races in within for race in races], of_each)
    return _RacedFacts(everywhere, [_held(races, [()] * len(races)) for races in within])


def _held(races: Sequence[RaceRecord], unknown: Sequence[Collection[str]]) -> _ValuesByFact:
    """Return the values of each fact over the races; `unknown`: what nobody could know of each of them."""
    paths = dict.fromkeys(path for race in races for path in race.facts)
    parts = [{cut_with(path) for path in race.facts} for race in races]
    found = {}
    for path in paths:
        part = cut_with(path)
        values = {
            readable(race.facts.get(path, NOTHING))
            for race, there, lacking in zip(races, parts, unknown, strict=True)
            if (not part or part in there) and path not in lacking  # else its record had no room for them
        }
        found[path] = tuple(sorted(values - {NOTHING} if row_of(path).where_known else values))
    return found


def _differing(
    base: str, name: str, declared: set[str], ours: _ValuesByFact, theirs: _ValuesByFact, *, of_block: bool
) -> Iterator[FoundDifference]:
    if not ours or not theirs:
        return
    ours, theirs = _by_effect(ours, theirs), _by_effect(theirs, ours)
    known = [{cut_with(path) for path in held} for held in (ours, theirs)]
    for path in {**ours, **theirs}:
        row, one, two = row_of(path), ours.get(path, ()), theirs.get(path, ())
        if row.of_block != of_block or one == two or _meant(path, one) == _meant(path, two):
            continue
        if row.where_known and not (one and two):
            continue
        if (part := cut_with(path)) and not all(part in each for each in known):
            continue
        told = all(_is_better_told(row, held) for held in (ours, theirs))
        rule: Rule = "RecordOnly" if told else _rule(row, declared, one, two)
        values = {base: " or ".join(one) or NOTHING, name: " or ".join(two) or NOTHING}
        yield FoundDifference(path, rule, row, values, _message(rule, row, declared))


def _is_better_told(row: FactRow, held: _ValuesByFact) -> bool:
    return bool(row.better_told_by) and NOTHING not in held.get(row.better_told_by, (NOTHING,))


def _by_effect(held: _ValuesByFact, other: _ValuesByFact) -> _ValuesByFact:
    """Return facts in which a default has the name of a setting where the other has set it: only its effect counts.

    What was written for the indices has one name, too, whether the cluster was built or existed already.
    """

    def name(path: str) -> str:
        as_set = path.replace(": default ", ": setting ", 1)
        return as_set if path.startswith("ran: index ") and as_set in other else _as_if_built(path, other)

    return {name(path): values for path, values in held.items()}


def _meant(path: str, values: Sequence[str]) -> set[Any]:
    """Return the values of a fact as they are compared: what a spec or a flag says may be written in two ways."""
    if not path.startswith("spec.") and "JVM flag -Xm" not in path:
        return set(values)
    return {comparable(path.removeprefix("spec."), value) for value in values}


def _rule(row: FactRow, declared: set[str], ours: Sequence[str], theirs: Sequence[str]) -> Rule:
    if row.recorded:
        return "RecordOnly"
    if declared & set(row.is_part_of) or (TARGET in declared and row.by_cluster):
        return "Declared"
    if declared & set(row.follows):
        return "MayFollow"
    if row.by_release and declared & set(RELEASE) and ((ours and theirs) or not row.only_values):
        return "FollowsRelease"
    return "MustMatch"


def _message(rule: Rule, row: FactRow, declared: set[str]) -> str:
    if rule == "MustMatch":
        return f"must be the same for all variants: {row.line or 'write the same for all, in the template'}"
    if rule == "MayFollow":
        leaders = [each for each in row.follows if each in declared]
        return f"nobody held it, and it follows the {listed(leaders)}: {row.line}"
    return {
        "Declared": "this is what is compared, or part of it",
        "FollowsRelease": f"nobody set it: it follows the {_release(declared)}, since each release decides by itself",
        "RecordOnly": "recorded, not compared",
    }[rule]


def _release(declared: Collection[str]) -> str:
    return VERSION if VERSION in declared else IMAGE


def _varying(name: str, ran: _RacedFacts) -> Iterator[FoundDifference]:
    """Yield what was not the same in all races of one variant: over all blocks, or within one."""
    seen = set[str]()
    groups = [(ran.everywhere, False), *((held, True) for held in ran.within)]
    for group, of_block in groups:
        for path, values in group.items():
            row = row_of(path)
            if len(values) < 2 or row.recorded or row.of_block != of_block or path in seen:
                continue
            if _is_better_told(row, group):
                continue
            seen.add(path)
            words = f"{path} was not the same in all races of {name}: {listed(values)}"
            line = f"; {row.line}" if row.line else ""
            yield FoundDifference(path, "MustMatch", row._replace(what=path), {name: " or ".join(values)}, words + line)


def _without_facts(blocks: Sequence[BlockRecord]) -> Iterator[str]:
    for block in blocks:
        for race in block.races:
            if race.valid and not race.facts:
                yield f"nothing is known of how {race.variant} ran in block {block.number}: its record was too large"


def _one_cluster(base: str, name: str, specs: Mapping[str, Mapping[str, str]], held: Mapping[str, _RacedFacts]) -> str:
    """Return a sentence when a contender's target is written otherwise than the baseline's and is the same cluster."""
    ours, theirs = (held[each].everywhere.get("ran: target clusterUUID", ()) for each in (base, name))
    if len(ours) != 1 or ours != theirs or NOTHING in ours:
        return ""
    if not any(variable_of(path) == TARGET for path in _differing_paths(specs[base], specs[name])):
        return ""
    return f"the targets of {base} and {name} are one cluster, with the UUID {ours[0]}"
