"""The objects of a Comparison: their names, and the spec of each Benchmark."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_lowercase
from types import MappingProxyType
from typing import Any, Final

from fairlap.api.base import Json
from fairlap.api.block_record import TWIN
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.comparison_status import PREPARATION, CurrentBlock, VariantStatus
from fairlap.api.spec import MAX_MACHINES, BenchmarkSpec
from fairlap.comparison.variants.variants import ResolvedVariant
from fairlap.plan.basis.steps import needs_check
from fairlap.plan.comparison.comparison_seen import ComparisonSubject, RaceToCreate
from fairlap.plan.comparison.kept_clusters import built_once, on_kept_cluster, sharing_processors

TWIN_LETTER: Final = "z"
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


def describe_variants(
    variants: Iterable[ResolvedVariant], lacking_memory: Mapping[str, str] = _NONE
) -> list[VariantStatus]:
    """Return the variants as the status has them, each with its letter; the baseline is a.

    `lacking_memory`: by name what the machines have no memory for, as a sentence.
    """
    return [
        VariantStatus(
            name=variant.name,
            letter=letter,
            changed=list(variant.changed),
            lacking_memory=lacking_memory.get(variant.name, ""),
        )
        for variant, letter in zip(variants, ascii_lowercase, strict=False)
    ]


def letter_of(variant: str, known: Iterable[VariantStatus]) -> str:
    """Return what a variant's Benchmarks are called by; raises KeyError when it is none of those known."""
    return TWIN_LETTER if variant.endswith(TWIN) else {each.name: each.letter for each in known}[variant]


def benchmark_name(comparison: str, block: int, letter: str, attempt: int) -> str:
    """Return the name of a race's Benchmark, for example upgrade-1b, and upgrade-1b-2 when it is raced again."""
    return f"{comparison}-{block}{letter}{_attempt_suffix(attempt)}"


def record_name(comparison: str, block: int, attempt: int) -> str:
    """Return the name of the ConfigMap that keeps a block."""
    return f"{comparison}-block-{block}{_attempt_suffix(attempt)}"


def dry_run(subject: ComparisonSubject, variants: Sequence[ResolvedVariant]) -> list[RaceToCreate]:
    """Return for each variant the Benchmark that the API server is asked about before anything is made."""
    known = describe_variants(variants)
    block = CurrentBlock(number=PREPARATION, since="")
    names = [benchmark_name(subject.name, PREPARATION, each.letter, 1) for each in known]
    return [
        RaceToCreate(name, variant.name, PREPARATION, _spec(subject.spec, variant, block, name))
        for name, variant in zip(names, variants, strict=True)
    ]


def race_to_create(
    subject: ComparisonSubject,
    variants: Sequence[ResolvedVariant],
    block: CurrentBlock,
    *,
    checked_by: str,
    kept_by: str = "",
    doubted: bool = False,
    shares: bool = False,
    avoid: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> RaceToCreate:
    """Return the Benchmark of a block's current race.

    `checked_by`: the one that has checked its track, "" for none. `kept_by`: with clusters that are kept, the one that
    has built its variant's. `doubted`: no machine is known that has memory for it, so that its preparation races in
    test mode whatever the template says. `shares`: one that was prepared found no machine with whole processors for its
    nodes, so that those of all variants share them. `avoid`: machines of Elasticsearch and of the load generator in
    the blocks before, the last one's first, which a block's first race keeps off where there are others.
    """
    race = block.races[-1]
    by_name = {variant.name: variant for variant in variants}
    variant = by_name[race.variant.removesuffix(TWIN)]
    spec = _spec(subject.spec, variant, block, checked_by)
    spec = sharing_processors(spec) if shares else spec
    # The load generator's memory is asked for by the track check, and a kept cluster is filled in any case.
    if doubted and block.number == PREPARATION and subject.spec.design.state == "Fresh" and spec.get("elasticsearch"):
        spec["smokeTest"] = True
    if block.number == PREPARATION and _must_be_checked(subject.spec, variant, variants):
        spec["smokeTest"] = False  # of a builtin track as it is, that alone is looked at
    if kept_by and block.number != PREPARATION:
        spec = on_kept_cluster(spec, subject.spec.design.tasks, kept_by, subject.namespace)
    if races_in_turn(subject.spec, block.number):
        spec["inTurn"] = _in_turn(subject, block)
    if len(block.races) > 1 and (block.number != PREPARATION or subject.spec.design.keeps_clusters):
        first = by_name[block.races[0].variant.removesuffix(TWIN)].spec
        fits = _nodes(variant.spec) <= _nodes(first) and _may_run_alike(variant.spec, first, "elasticsearch")
        load_generator_on = block.load_generator_on if _may_run_alike(variant.spec, first, "race") else ""
        _place(
            spec, "machines", block.elasticsearch_on if fits else (), [load_generator_on] if load_generator_on else ()
        )
    elif block.number != PREPARATION:
        _place(spec, "avoidMachines", *avoid)
    return RaceToCreate(race.benchmark, race.variant, block.number, spec)


def races_in_turn(spec: ComparisonSpec, number: int) -> bool:
    """Return whether the races of a block send their requests in turn; the preparation's are one after the other."""
    return spec.design.in_turn and number != PREPARATION


def _must_be_checked(spec: ComparisonSpec, variant: ResolvedVariant, variants: Sequence[ResolvedVariant]) -> bool:
    """Return whether a variant would be smoke-tested alone and is raced in turn with one that runs other tasks, maybe.

    Only a check tells which tasks there are.
    """
    alike = all(other.spec["race"] == variant.spec["race"] for other in variants)
    if not spec.design.in_turn or spec.design.keeps_clusters or alike:
        return False
    prepared = _spec(spec, variant, CurrentBlock(number=PREPARATION, since=""), "")
    return not needs_check(BenchmarkSpec.model_validate(prepared))


def _in_turn(subject: ComparisonSubject, block: CurrentBlock) -> Json:
    """Return with whom the block's newest race takes turns: the first keeps the table at which they meet."""
    number = len(block.races) - 1
    found: Json = {
        "block": f"{subject.uid[:40]}-{block.number}-{block.attempt}".lower(),
        "races": len(block.order),
        "number": number,
    }
    return {**found, "at": block.meets_at} if number else found


def _spec(
    of: ComparisonSpec,
    variant: ResolvedVariant,
    block: CurrentBlock,
    checked_by: str,
) -> Json:
    spec = copy.deepcopy(variant.spec)
    # In all of them, so that a track check holds for the races that follow it.
    tasks = sorted({*(gate.task for gate in of.gates if gate.task), *of.design.tasks})
    if tasks:
        spec["race"]["requireTasks"] = sorted({*spec["race"].get("requireTasks", ()), *tasks})
    if of.design.keeps_clusters:
        spec["racedAgain"] = sorted({*of.design.tasks})
    if block.number == PREPARATION:
        return built_once(spec) if of.design.keeps_clusters else {**spec, "repetitions": 0}
    if races_in_turn(of, block.number):  # whole ones would be one's alone while another has its turn
        spec = sharing_processors(spec)
    spec |= {"repetitions": 1, "smokeTest": False}
    return {**spec, "checkedBy": checked_by} if checked_by else spec


def _place(spec: Json, field: str, elasticsearch_on: Sequence[str], load_generator_on: Sequence[str]) -> None:
    """Write machines into both schedulings of a spec, where there are any.

    Machines to keep off are added to those that a user wrote; machines to be on are some of them already.
    """
    places: tuple[tuple[Any, list[str]], ...] = (
        (spec.get("elasticsearch"), list(elasticsearch_on)),
        (spec["race"], list(load_generator_on)),
    )
    for part, machines in places:
        if part is not None and machines:
            scheduling = part.get("scheduling") or {}
            part["scheduling"] = {**scheduling, field: machines if field == "machines" else _both(scheduling, machines)}


def _both(scheduling: Json, machines: list[str]) -> list[str]:
    return [*dict.fromkeys([*scheduling.get("avoidMachines", ()), *machines])][:MAX_MACHINES]


def _may_run_alike(one: Json, other: Json, part: str) -> bool:
    """Return whether two specs say the same of where a part may run: else one's machines may be none of the other's."""
    return bool((one.get(part) or {}).get("scheduling") == (other.get(part) or {}).get("scheduling"))


def _nodes(spec: Json) -> int:
    built = spec.get("elasticsearch")
    return int(built["nodes"]) if built else 0


def _attempt_suffix(attempt: int) -> str:
    return f"-{attempt}" if attempt > 1 else ""
