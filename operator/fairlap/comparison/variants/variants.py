"""The variants of a Comparison: each one's Benchmark, and what is wrong with them that the API server cannot know."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations as pairs
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from fairlap.api.base import Json
from fairlap.api.comparison_spec import LOOKS, ComparisonSpec, Design, Matrix, Variant
from fairlap.api.names import MOST_LEVELS, MOST_SPEC_VALUES
from fairlap.api.quantity import PATCH, parse_quantity
from fairlap.api.spec import BenchmarkSpec
from fairlap.comparison.facts.race_facts import as_text, leaves, readable
from fairlap.comparison.terms.equal_values import comparable
from fairlap.comparison.terms.gate_metrics import gates_of
from fairlap.comparison.variants.design_objections import on_other_machines, unfit_for_design
from fairlap.comparison.variants.gate_objections import unmeasured_gates
from fairlap.comparison.variants.matrix_cells import (
    LONGEST_NAME,
    combination_name,
    combinations,
    matrix_objections,
)
from fairlap.comparison.variants.merge_patch import (
    ONE_OF,
    changed_paths,
    depth_exceeds,
    meaning,
    merge,
    part_at,
    set_at,
)
from fairlap_race.contract.untrusted import has_more_values

_DECIDED: Final = {
    "repetitions": "each variant races once a block: write design.maxBlocks, or design.blocks with design.stop: fixed",
    "suspend": "it belongs to the Comparison: write spec.suspend",
    "keepCluster": "a cluster that is kept would stand beside the next race: leave it out",
    "checkedBy": "the Comparison writes it: leave it out",
    "inTurn": "the Comparison writes it: leave it out, and write design.kind: Duet",
    "racedAgain": "the Comparison writes it: leave it out, and write design.tasks",
}
_OTHERS: Final = ("java", "jdk", "zulu", "temurin", "corretto", "lucene", "kernel", "linux", "rally")
_OF_OTHERS: Final = "".join(rf"(?<!{name})(?<!{name}[-_])" for name in _OTHERS)
_VERSION: Final = re.compile(rf"(?<![0-9.]){_OF_OTHERS}[5-9](?:\.[0-9]{{1,3}}){{2}}(?!\.?[0-9])", re.IGNORECASE)
"""of Elasticsearch: an address has four numbers, and other programs' versions mostly another first one"""
_SHORT_VERSION: Final = re.compile(r"(es|elasticsearch)?[-_]?([5-9](?:\.[0-9]{1,3})?)", re.IGNORECASE)
"""a whole name that may be the first one or two numbers of a version"""
_SHORT_AMONG_OTHERS: Final = re.compile(
    r"(?<![a-z0-9])(?:es|elasticsearch)[-_]?([5-9](?:\.[0-9]{1,3})?)(?![0-9a-z.])", re.IGNORECASE
)
"""the same in a longer name; a number with a unit is a size"""
_JAVA: Final = re.compile(r"(?:java|jdk)[-_]?([0-9]{1,2})(?![0-9.])", re.IGNORECASE)


class _Word(NamedTuple):
    """What a name may say of one field."""

    pattern: re.Pattern[str]
    """its groups are the value, whichever is there"""
    path: tuple[str, ...]


def _counted(what: str, *path: str) -> _Word:
    number = r"([0-9]{1,3})"
    pattern = rf"(?<![a-z0-9])(?:{number}[-_]?{what}s?|{what}s[-_]?{number})(?![a-z0-9])"  # node-2 may be a machine
    return _Word(re.compile(pattern, re.IGNORECASE), path)


def _sized(what: str, *path: str) -> _Word:
    size = r"([0-9]+[kmg])i?b?"
    pattern = rf"(?<![a-z0-9])(?:{what}[-_]?{size}|{size}[-_]?{what})(?![a-z0-9])"
    return _Word(re.compile(pattern, re.IGNORECASE), path)


_WORDS: Final = (
    _counted("shard", "elasticsearch", "index", "shards"),
    _counted("replica", "elasticsearch", "index", "replicas"),
    _counted("node", "elasticsearch", "nodes"),
    _sized("heap", "elasticsearch", "heap"),
    _sized("(?:memory|mem|ram)", "elasticsearch", "resources", "limits", "memory"),
    _counted("(?:v?cpu|core)", "elasticsearch", "resources", "limits", "cpu"),
    _Word(
        re.compile(r"(?<![a-z0-9])(?:(best[-_]compression)|(default)[-_]codec|codec[-_](default))(?![a-z0-9])"),
        ("elasticsearch", "index", "codec"),
    ),
    _Word(re.compile(r"(?<![a-z0-9])(stored|synthetic)(?![a-z0-9])"), ("elasticsearch", "index", "sourceMode")),
)
"""Where the field is not written nothing is refused: what it is then may be what the name says."""
_DENIED: Final = re.compile(r"(?<![a-z0-9])(?:no|non|not|without)[-_.]\Z", re.IGNORECASE)
"""what stands before a word of which a name says that the field is not that"""


class ResolvedVariant(NamedTuple):
    """One of the things compared, with nothing left open."""

    name: str
    spec: Json
    """its Benchmark's, with all defaults"""
    changed: tuple[str, ...]
    """paths at which that is other than the baseline's"""


class VariantsRefusedError(ValueError):
    """A Comparison's variants cannot be raced; `objections` are sentences."""

    def __init__(self, objections: Iterable[str]) -> None:
        self.objections = tuple(objections)
        super().__init__(". ".join(self.objections))


class _Draft(NamedTuple):
    name: str
    field: str
    """where it is written"""
    patch: Json
    by_hand: bool
    """whether somebody wrote this patch for this one"""
    in_place: bool = False
    """what it has takes the place of the template's as a whole"""


def expand(spec: ComparisonSpec, *, accepted: bool = False) -> list[ResolvedVariant]:
    """Return the variants, the baseline first, the others as they are written; raises VariantsRefusedError.

    `accepted`: they were once, maybe by an operator that asked for less: refused is only what is no Benchmark at all.
    """
    template = spec.template.to_json()
    cells = spec.matrix.include if spec.matrix else ()
    written = [template, *(variant.patch for variant in spec.variants or ()), *(cell.at for cell in cells)]
    if has_more_values(written, MOST_SPEC_VALUES):  # before anything that goes through all of it for each variant
        text = f"template and variants have more than {MOST_SPEC_VALUES} values: keep what is large in the track"
        raise VariantsRefusedError([text])
    found = [] if accepted else [*_design_objections(spec), *(matrix_objections(spec.matrix) if spec.matrix else ())]
    drafts = _drafts(spec, template) if not (spec.matrix and found) else []
    if drafts and not accepted:
        found += _name_objections(spec, drafts)
    specs: list[tuple[_Draft, Json]] = []
    for draft in drafts:
        try:
            specs.append((draft, _resolve(draft, template)))
        except VariantsRefusedError as error:
            found += error.objections
    if not accepted:
        found += _objections_to(spec, specs, template)
    if found:
        raise VariantsRefusedError(found)
    baseline = next(resolved for draft, resolved in specs if draft.name == spec.baseline)
    everyone = [
        ResolvedVariant(draft.name, resolved, tuple(changed_paths(baseline, resolved))) for draft, resolved in specs
    ]
    return sorted(everyone, key=lambda variant: variant.name != spec.baseline)


def _drafts(spec: ComparisonSpec, template: Json) -> list[_Draft]:
    if spec.matrix:
        return _of_matrix(spec.matrix, template)
    return [_of_variant(number, variant) for number, variant in enumerate(spec.variants or ())]


def _objections_to(spec: ComparisonSpec, specs: list[tuple[_Draft, Json]], template: Json) -> Iterator[str]:
    for draft, resolved in specs:
        objections = unfit_for_design(spec.design, draft.field, resolved)
        yield from (f"variant {draft.name}: {objection}" for objection in objections)
    if spec.design.in_turn:
        yield from on_other_machines([resolved for _, resolved in specs])
    yield from unmeasured_gates(spec, [resolved for _, resolved in specs])
    yield from _sense(specs, template)


def _design_objections(spec: ComparisonSpec) -> Iterator[str]:
    """Yield what is wrong with the design; what the API server's rules say of it first, where none has been asked."""
    yield from _block_objections(spec.design)
    for gate in spec.gates:
        if gate.margin is not None and gate.margin <= 0:
            yield "gates[].margin 0 can never be shown to be kept: write the smallest that matters, for example 2"
    gates = gates_of(spec) if spec.gates else ()  # with the task that a capacity is of
    for (task, metric), times in Counter((gate.task, gate.metric) for gate in gates).items():
        if times > 1:
            of = f" of task {task}" if task else ""
            yield f"gates has {metric}{of} {times} times: each number decides once, so leave all but one out"
    if spec.on_inconclusive == "extend" and spec.design.stop == "fixed":
        yield (
            "onInconclusive: extend needs design.stop: sequential, since a fixed number of blocks is not extended; "
            "write that, or onInconclusive: fail"
        )


def _block_objections(design: Design) -> Iterator[str]:
    least, most, steps = design.min_blocks, design.max_blocks, ", ".join(map(str, LOOKS))
    if design.stop == "fixed":
        if design.blocks is None:
            yield "design.stop: fixed needs design.blocks, for example 5"
        if least is not None or most is not None:
            words = "design.minBlocks and design.maxBlocks are for design.stop: sequential"
            yield f"{words}; with fixed write design.blocks"
        return
    if design.blocks is not None:
        yield "design.blocks is for design.stop: fixed; with sequential write design.maxBlocks"
    wrong = [each for each in (least, most) if each is not None and each not in LOOKS]
    if wrong:
        yield f"design.minBlocks and design.maxBlocks are one of {steps}, not {wrong[0]}: no other look was simulated"
    elif (least or LOOKS[0]) > (most or LOOKS[-1]):
        yield f"design.minBlocks {least} is above design.maxBlocks {most or LOOKS[-1]}"


def _of_variant(number: int, variant: Variant) -> _Draft:
    field = f"variants[{number}]"
    if variant.target:
        return _Draft(variant.name, f"{field}.target", {"target": variant.target.to_json()}, True, in_place=True)
    return _Draft(variant.name, f"{field}.patch", variant.patch or {}, variant.patch is not None)


def _of_matrix(matrix: Matrix, template: Json) -> list[_Draft]:
    found = []
    for combination in combinations(matrix):
        patch: Json = {}
        for path, value in combination.items():
            set_at(patch, path, value, template)
        found.append(_Draft(combination_name(combination), "matrix", patch, False))
    return found


def _name_objections(spec: ComparisonSpec, drafts: list[_Draft]) -> Iterator[str]:
    names = [draft.name for draft in drafts]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{names.count(name)} variants are called {name}: give each a name of its own, as variants with patches"
    for name in names:
        if not name or len(name) > LONGEST_NAME:
            yield (
                f"matrix gives a variant the name {name or repr(name)}, which is not 1 to {LONGEST_NAME} characters "
                "long: write variants instead, each with a name and a patch"
            )
    if spec.baseline not in names:
        yield f"baseline {spec.baseline} is none of the variants: write one of {', '.join(names)}"


def _resolve(draft: _Draft, template: Json) -> Json:
    """Return the spec of a variant's Benchmark with all defaults; raises VariantsRefusedError."""
    if depth_exceeds(draft.patch):
        text = f"variant {draft.name}: {draft.field} is nested more than {MOST_LEVELS} levels deep: write it flatter"
        raise VariantsRefusedError([text])
    # Merged, an existing cluster would be sent the credentials of the template's.
    kept = {key: part for key, part in template.items() if key not in draft.patch} if draft.in_place else template
    merged = merge(kept, draft.patch)
    found = [
        f"variant {draft.name}: {draft.field} sets {field}, but {why}"
        for field, why in _DECIDED.items()
        if field in draft.patch
    ]
    found += [f"variant {draft.name}: {text}" for text in _of_one_ofs(merged)]
    try:
        # By the names that the API server knows: it would drop any other.
        resolved = BenchmarkSpec.model_validate(merged, by_alias=True, by_name=False, context=PATCH).to_json()
    except ValidationError as error:
        found += [f"variant {draft.name}: {_describe(detail)}" for detail in error.errors(include_url=False)]
        raise VariantsRefusedError(found) from error
    if found:
        raise VariantsRefusedError(found)
    return resolved


def _of_one_ofs(merged: Json) -> Iterator[str]:
    for group in ONE_OF:
        if group.path and not part_at(merged, group.path):
            continue  # there is no such part, or it is missing as a whole, which is said elsewhere
        there = [choice for choice in group.choices if part_at(merged, group.path).get(choice) is not None]
        if len(there) != 1:
            has = " and ".join(there) or "none of them"
            place = ".".join(group.path) or "its Benchmark"
            yield f"{place} takes exactly one of {', '.join(group.choices)}, and has {has}: write one of these"


def _describe(detail: ErrorDetails) -> str:
    path = ".".join(str(part) for part in detail["loc"]) or "the spec"
    if detail["type"] == "extra_forbidden":
        return f"{path} is no field of a Benchmark's spec: mend its name, or leave it out"
    if detail["type"] == "missing":
        return f"{path} is missing: write it in the template or in the patch"
    value = str(readable(detail["input"]))
    return f"{path} {value[:80]} is not accepted: {detail['msg'][:1].lower()}{detail['msg'][1:]}"


def _sense(specs: list[tuple[_Draft, Json]], template: Json) -> Iterator[str]:
    """Yield a sentence for each variant that is not what it says, and for each pair that is the same."""
    normal = meaning(_normalized(template))
    # Each is gone through once, and not once a pair: of the largest that is accepted, twelve variants took seconds.
    meanings = [(draft, meaning(resolved)) for draft, resolved in specs]
    versions = {part_at(resolved, ("elasticsearch",)).get("version") for _, resolved in specs}
    for (draft, resolved), (_, means) in zip(specs, meanings, strict=True):
        if draft.by_hand and means == normal:
            yield (
                f"variant {draft.name}: {draft.field} changes nothing of the template; leave it out if the template "
                "is meant, else write what is other"
            )
        yield from _misnamed(draft, resolved, versions_vary=len(versions) > 1)
    for (one, mine), (other, theirs) in pairs(meanings, 2):
        if mine == theirs:
            yield (
                f"variants {one.name} and {other.name} are the same: change one of them, or leave it out (the baseline "
                "is raced against itself with calibrate: true)"
            )


def _normalized(template: Json) -> Json:
    try:
        return BenchmarkSpec.model_validate(template).to_json()
    except ValidationError:  # said of each variant
        return {}


def _versions_said(draft: _Draft, resolved: Mapping[str, Any], *, versions_vary: bool) -> list[str]:
    """Return the versions in a name, or the 9 or 9.0 that it is, unless another value explains that: say 9 shards.

    A 9 alone may be a mere number, unless the versions are what varies. A matrix calls its variants by their values.
    """
    if draft.field == "matrix":
        return []
    found = _SHORT_VERSION.fullmatch(draft.name)
    others = {
        as_text(value)
        for part in (draft.patch, resolved)
        for path, value in leaves("", part)
        if path != ".elasticsearch.version"
    }
    whole = _VERSION.findall(draft.name)
    if whole or not found:
        among = [] if whole else [it for it in _SHORT_AMONG_OTHERS.findall(draft.name) if it not in others]
        return among or [each for each in whole if not any(each in value for value in others)]
    of, short = found.groups()
    return [short] if short not in others and (of or "." in short or versions_vary) else []


def _misnamed(draft: _Draft, resolved: Mapping[str, Any], *, versions_vary: bool) -> Iterator[str]:
    """Yield a sentence when a name speaks of another version or Java than is raced."""
    built = resolved.get("elasticsearch")
    if not isinstance(built, dict):
        return
    said = _versions_said(draft, resolved, versions_vary=versions_vary)
    if said and not any(f"{built['version']}.".startswith(f"{each}.") for each in said):
        yield (
            f"variant {draft.name} is called after version {said[0]}, but its elasticsearch.version is "
            f"{built['version']}: mend the name or the version"
        )
    java = _JAVA.findall(draft.name)
    if java and str(built.get("java")) not in java:
        has = f"its elasticsearch.java is {built['java']}" if built.get("java") else "it has no elasticsearch.java"
        yield f"variant {draft.name} is called after Java {java[0]}, but {has}: mend the name or write java: {java[0]}"
    if draft.field != "matrix":
        yield from _otherwise_misnamed(draft, resolved)


def _otherwise_misnamed(draft: _Draft, resolved: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each field of which a name says another value, where nothing else explains that."""
    others = {_plain(as_text(value)) for _, value in leaves("", draft.patch)}
    for pattern, path in _WORDS:
        *parents, field = path
        has = part_at(resolved, tuple(parents)).get(field)
        found = [it for it in pattern.finditer(draft.name) if not _DENIED.search(draft.name[: it.start()])]
        said = [next(filter(None, it.groups())) for it in found]
        if has is None or not said or any(_plain(it) in others or _is_same(path, it, has) for it in said):
            continue
        yield (
            f"variant {draft.name} is called after {field} {said[0]}, but its {'.'.join(path)} is {has}: mend the name "
            f"or the {field}"
        )


def _plain(text: str) -> str:
    return text.lower().replace("-", "_")


def _is_same(path: Sequence[str], said: str, has: Any) -> bool:
    if path[-1] == "memory":  # names write 4g where quantities are 4Gi
        return bool(comparable("elasticsearch.heap", said.lower()) == parse_quantity(str(has)))
    one, other = (comparable(".".join(path), _plain(as_text(it))) for it in (said, has))
    return bool(one == other)
