"""What a Comparison says of its blocks: how far it is, and which variant lost races."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from fairlap.api.block_record import TWIN
from fairlap.api.comparison_spec import ComparisonSpec, Design
from fairlap.api.comparison_status import PREPARATION, Block, ComparisonStatus, Expected, RaceOfBlock
from fairlap.comparison.facts.disturbed_race import DISTURBED
from fairlap.comparison.terms.block_reason import BlockReason, fault_of
from fairlap.plan.comparison.disturbed_blocks import is_set_aside, was_disturbed
from fairlap.plan.comparison.looks import most_blocks
from fairlap.wording.durations import expected_time
from fairlap.wording.numerals import figure

SPENDS_NO_RETRY: Final = (BlockReason.CLUSTER_IN_DOUBT, BlockReason.INSTALLATION_CHANGED, DISTURBED)
"""Reasons of what is raced again beside `design.retries`: a preparation is made again because of a block that counts
there, a disturbance has its bound, and an upgrade is nobody's failure."""


def block_title(spec: ComparisonSpec, block: Block) -> str:
    """Return a block's name for people, for example "block 2/10"."""
    name = "preparing" if block.number == PREPARATION else f"block {block.number}/{most_blocks(spec.design)}"
    return f"{name} (attempt {block.attempt})" if block.attempt > 1 else name


def race_title(spec: ComparisonSpec, block: Block) -> str:
    """Return the current race's name for people, for example "block 2/10 · 9.0.0 (2 of 3)"."""
    return f"{block_title(spec, block)} · {block.races[-1].variant} ({len(block.races)} of {len(block.order)})"


def done(spec: ComparisonSpec, blocks: Iterable[Block]) -> str:
    """Return how many blocks count, of those there may be, for example "3/10"."""
    return f"{len(counting(blocks))}/{most_blocks(spec.design)}"


def expectation(variants: int, expected: Expected) -> str:
    """Return what a Comparison will take and can show, before it begins."""
    text = f"{variants} variants, {expected.races} races at most without those raced again"
    if expected.minutes is not None:
        text += f", {expected_time(expected.minutes)}"
    change = expected.smallest_change
    return text if change is None else f"{text}; changes from {figure(change, 2)} % on are found four times in five"


def outlook(spec: ComparisonSpec, status: ComparisonStatus) -> str:
    """Return what is raced next, how many blocks count, and how long the others take if all of them do, once known."""
    there, most = len(counting(status.blocks)), most_blocks(spec.design)
    text = f"{next_title(spec, status.blocks)} is next, {there} {'blocks count' if there != 1 else 'block counts'}"
    minutes = status.expected.minutes if status.expected else None
    if minutes is None:
        return text
    left = minutes * (most - there) / most
    return f"{text}, {expected_time(left)} of races at most without those raced again"


def next_number(blocks: Iterable[Block]) -> int:
    """Return the number of the block that is raced next: the first that does not count yet, the preparation before."""
    there = {block.number for block in blocks if block.valid}
    return next(number for number in range(PREPARATION, len(there) + 1) if number not in there)


def next_title(spec: ComparisonSpec, blocks: Sequence[Block]) -> str:
    """Return the name of the block that is raced next."""
    number = next_number(blocks)
    return block_title(spec, Block(number=number, attempt=1 + sum(block.number == number for block in blocks)))


def counting(blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks that count, by their numbers; the preparation is none."""
    return sorted((each for each in blocks if each.valid and each.number != PREPARATION), key=lambda each: each.number)


def seconds_of_a_race(blocks: Iterable[Block]) -> float | None:
    """Return the median of the seconds that the races took of those blocks that count; None where none is known."""
    seconds = [race.seconds for block in counting(blocks) for race in block.races if race.seconds]
    return median(seconds) if seconds else None


def lost_races(blocks: Sequence[Block], names: Iterable[str]) -> dict[str, tuple[int, int, Counter[str]]]:
    """Return for each variant how many races it lost by itself, of how many, and for which reasons."""
    races = [race for block in blocks for race in block.races if block.number != PREPARATION and race.valid is not None]
    found = {}
    for name in names:
        mine = [race for race in races if race.variant.removesuffix(TWIN) == name]
        reasons = Counter(race.reason for race in mine if not race.valid and fault_of(race.reason) != "none")
        found[name] = (reasons.total(), len(mine), reasons)
    return found


def uneven_losses(blocks: Sequence[Block], names: Iterable[str]) -> list[str]:
    """Return the finding that one variant lost more races than another; none when all lost as many."""
    lost = lost_races(blocks, names)
    if len({count for count, _, _ in lost.values()}) < 2:
        return []
    return [f"not all variants lost as many races: {describe_losses(lost)}"]


def retries_spent(design: Design, blocks: Iterable[Block]) -> str:
    """Return the words that no block may be raced again any more; "" while one may."""
    void = [block for block in blocks if not block.valid and block.reason not in SPENDS_NO_RETRY]
    over = len(void) > design.retries
    return f"{len(void)} blocks did not count, and design.retries is {design.retries}" if over else ""


def why_void(block: Block) -> RaceOfBlock | None:
    """Return the race for which a block does not count; None where it is not for a race."""
    races = (race for race in block.races if race.valid is False or (race.reason and race.reason == block.reason))
    return next(races, None)


def disturbed_words(blocks: Sequence[Block]) -> list[str]:
    """Return the finding that blocks count whose machine was disturbed; none where there are none."""
    counted, again = counting(blocks), sum(map(is_set_aside, blocks))
    found = sum(map(was_disturbed, counted))
    if not found:
        return []
    after = f", after {again} {'was' if again == 1 else 'were'} raced again for that" if again else ""
    return [f"the machine was disturbed in {found} of the {len(counted)} blocks that count{after}"]


def with_blocks(spec: ComparisonSpec, status: ComparisonStatus, blocks: Sequence[Block]) -> ComparisonStatus:
    """Return the status with these blocks, and what it says of how many count and of what was lost in them."""
    stale = block_findings(status)
    status = status.model_copy(update={"blocks": [*blocks], "blocks_done": done(spec, blocks)})
    others = [text for text in status.findings if text not in stale]
    return status.model_copy(update={"findings": [*block_findings(status), *others][:20]})


def block_findings(status: ComparisonStatus) -> list[str]:
    """Return what a reader must know of the blocks themselves, whatever their numbers say."""
    names = [variant.name for variant in status.variants]
    return [*uneven_losses(status.blocks, names), *disturbed_words(status.blocks), *shared_words(status.blocks)]


def refused_processors(blocks: Iterable[Block]) -> list[RaceOfBlock]:
    """Return the races for whose nodes no machine had whole processors to spare."""
    return [race for block in blocks for race in block.races if race.processors_refused]


def shared_words(blocks: Iterable[Block]) -> list[str]:
    """Return the finding that all nodes share processors since one preparation found no whole ones; none without."""
    if not (found := refused_processors(blocks)):
        return []
    return [
        f"no machine had a whole processor to spare for each node of variant {found[0].variant} in the preparation: "
        "the nodes of all variants whose elasticsearch.resources names no CPU share them; free processors, or name one"
    ]


def describe_losses(lost: dict[str, tuple[int, int, Counter[str]]]) -> str:
    """Return who lost how many, who lost the most first, for example "8.11.0 2 of 7 (OutOfMemory), 9.0.0 none of 6"."""
    parts = []
    for name, (count, of, reasons) in sorted(lost.items(), key=lambda item: -item[1][0]):
        why = ", ".join(f"{reason} {times} times" if times > 1 else reason for reason, times in reasons.most_common())
        parts.append(f"{name} {count or 'none'} of {of}{f' ({why})' if why else ''}")
    return ", ".join(parts)
