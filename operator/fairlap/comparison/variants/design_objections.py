"""Variants that the design's blocks cannot race, found from their specs alone: what CEL says of the template. Pure."""

from collections.abc import Iterable, Iterator

from fairlap.api.base import Json
from fairlap.api.comparison_spec import Design
from fairlap.comparison.variants.merge_patch import changed_paths, part_at


def unfit_for_design(design: Design, field: str, resolved: Json) -> Iterator[str]:
    """Yield what keeps a variant from the design's blocks, as the API server's rules say it of the template.

    `field`: where the variant is written; `resolved`: the spec of its Benchmark.
    """
    if design.keeps_clusters:
        yield from _unfit_for_kept_clusters(design, field, resolved)
    if design.in_turn:
        yield from _unfit_for_turns(resolved["race"])
    if not (design.in_turn or design.keeps_clusters):
        return
    if (part_at(resolved, ("elasticsearch",)).get("scheduling") or {}).get("exclusiveNodes"):
        wanted = "design.kind: Duet" if design.in_turn else "design.state: Kept"
        yield (
            f"elasticsearch.scheduling.exclusiveNodes contradicts {wanted}, where the clusters of all variants are on "
            "the same machines: leave it out"
        )


def _unfit_for_kept_clusters(design: Design, field: str, resolved: Json) -> Iterator[str]:
    if resolved.get("target"):
        yield (
            f"{field} has a target, and design.state: Kept is for clusters that are built: a target stays by itself, "
            "so leave state out and write template.race.includeTasks"
        )
    for name in ("sweep", "capacity"):
        task = part_at(resolved, ("race", name)).get("task")
        if task is not None and task not in design.tasks:
            yield (
                f"race.{name}.task {task} must be one of design.tasks: with design.state: Kept no other one is raced "
                "in the blocks"
            )


def _unfit_for_turns(race: Json) -> Iterator[str]:
    if not race.get("track"):
        yield "design.kind: Duet is for races on a track: write design.kind: Races"
    for name in ("steady", "sweep", "capacity"):
        if race.get(name):
            yield (
                f"race.{name} contradicts design.kind: Duet, where all variants must send as many requests: leave it "
                "out"
            )


def on_other_machines(specs: Iterable[Json]) -> Iterator[str]:
    """Yield what keeps variants that are raced in turn from being on the same machines; `specs`: of all Benchmarks."""
    races = list(specs)
    for part in ("elasticsearch", "race"):
        places = [part_at(each, (part,)).get("scheduling") or {} for each in races]
        if any(changed_paths(places[0], other) for other in places[1:]):
            yield (
                f"variants differ in {part}.scheduling, and with design.kind: Duet all are on the same machines: write "
                "it in the template alone, or design.kind: Races"
            )
