"""What an upgrade of the operator changes between the races of a Comparison, and what it leaves unknown of them. Pure.

What both sides of a block share does no harm: a block that an upgrade cut in two is raced again, and what the
installation is from block to block decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from fairlap.api.block_record import TWIN, BlockRecord, RaceRecord
from fairlap.api.spec import BenchmarkSpec
from fairlap.comparison.facts.fairness_table import ROWS, cut_with, row_of
from fairlap.comparison.facts.fairness_words import NOTHING
from fairlap.comparison.facts.race_facts import as_text, leaves, spec_leaves, with_digests
from fairlap_race.contract.some_of import some_clauses, some_of

_INSTALLED: Final = re.compile("|".join(row.pattern for row in ROWS if row.of_installation))
_BEGINNINGS: Final = ("ran: operator", "ran: rally", "ran: Rally", "ran: k6")
"""So begins all that the table has of it: most facts of a race are asked for no more."""
_MOST = 5
"""facts or values in one sentence"""
_MOST_BLOCKS = 30


def installation_changes(races: Sequence[RaceRecord]) -> dict[str, str]:
    """Return in what the installation was another one than in the first race of a block, by the later Benchmark's name.

    That is the image that raced, its programs, and the operator; what only one of both knows is another one, too.
    """
    installed = [(race.benchmark, _of_installation(race)) for race in races if race.valid and race.facts]
    found = {}
    for benchmark, now in installed[1:]:
        first = installed[0][1]
        changed = [
            f"{path.removeprefix('ran: ')} {first.get(path, NOTHING)}, now {now.get(path, NOTHING)}"
            for path in {**first, **now}
            if first.get(path) != now.get(path)
        ]
        if changed:
            found[benchmark] = f"the installation was changed since the block's first race: {'; '.join(changed)}"
    return found


def installation_findings(blocks: Sequence[BlockRecord]) -> list[str]:
    """Return sentences on what was changed from block to block, which decides nothing; none where nothing was."""
    by_fact: dict[str, dict[str, dict[int, None]]] = {}
    for block in blocks:
        for race in block.races:
            told = _of_installation(race) if race.valid else {}
            for path, value in told.items():
                by_fact.setdefault(path, {}).setdefault(value, {})[block.number] = None
    changed = [
        f"{path.removeprefix('ran: ')} "
        + some_of((f"{it} ({_named(numbers)})" for it, numbers in values.items()), _MOST)
        for path, values in by_fact.items()
        if len(values) > 1
    ]
    found = []
    if changed:
        found.append(
            "the installation was changed between blocks, which decides nothing, as both sides of each had the same: "
            + some_clauses(changed, _MOST)
        )
    unknown = [list(filter(_would_differ, paths)) for paths in unknown_facts([_with_digests(it) for it in blocks])]
    if paths := sorted({path for each in unknown for path in each}):
        numbers = [block.number for block, each in zip(blocks, unknown, strict=True) if each]
        found.append(
            f"not known of any race of {_named(numbers)}, so not compared from block to block: {some_of(paths, _MOST)}"
        )
    return found


def unknown_facts(blocks: Sequence[BlockRecord]) -> list[set[str]]:
    """Return for each block the facts that none of its races has, and all races of another block have.

    An operator of before did not know them: that is no difference of the races. What stands for another fact must be
    known of all: where it is not, that other one is compared.
    """
    races = [[set(race.facts) for race in block.races if race.valid and race.facts] for block in blocks]
    known = set[str]().union(*(each[0].intersection(*each[1:]) for each in races if each))
    known -= {row.better_told_by for row in ROWS}
    return [known.difference(*each) if each else set() for each in races]


def as_now_told(blocks: Sequence[BlockRecord], specs: Mapping[str, Mapping[str, Any]]) -> list[BlockRecord]:
    """Return the blocks with their facts as this operator tells them; `specs`: what each variant asks for.

    A race from before a field was there was asked for what that is by default; images are their digests.
    """
    named = {path for block in blocks for race in block.races for path in race.facts if path.startswith("spec.")}
    defaults = {name: dict(_defaults(spec)) for name, spec in specs.items()} if named else {}

    def completed(race: RaceRecord) -> RaceRecord:
        ours = defaults.get(race.variant.removesuffix(TWIN), {}) if race.facts else {}
        facts = {**{path: ours[path] for path in named & ours.keys()}, **with_digests(race.facts)}
        return race.model_copy(update={"facts": facts})

    return [block.model_copy(update={"races": [completed(race) for race in block.races]}) for block in blocks]


def _defaults(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is in a spec the default of its field, as facts have it."""
    try:
        asked = BenchmarkSpec.model_validate(dict(spec))
    except ValidationError:  # it was refused, so nothing was raced
        return
    own = asked.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    set_otherwise = {path for path, _ in leaves("spec", own)}
    for path, value in spec_leaves("spec", asked.to_json()):
        if path not in set_otherwise and value not in ({}, []):
            yield path, as_text(value)


def _with_digests(block: BlockRecord) -> BlockRecord:
    races = [race.model_copy(update={"facts": with_digests(race.facts)}) for race in block.races]
    return block.model_copy(update={"races": races})


def _of_installation(race: RaceRecord) -> dict[str, str]:
    known = ((path, value) for path, value in race.facts.items() if path.startswith(_BEGINNINGS))
    return with_digests({path: value for path, value in known if _INSTALLED.fullmatch(path)})


def _would_differ(path: str) -> bool:
    """Tell whether a fact would be a difference if only some races had it; those of a spec have defaults."""
    row = row_of(path)
    of_no_race = row.recorded or row.where_known or row.of_block or cut_with(path)
    return not (of_no_race or path.startswith("spec."))


def _named(numbers: Iterable[int]) -> str:
    return f"block {some_of(map(str, numbers), _MOST_BLOCKS)}"
