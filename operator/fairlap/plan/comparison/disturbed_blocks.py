"""Blocks in which the machine of a race was disturbed: raced again as a whole, as often as a bound allows.

The rule asks what was remarked on the races and how many blocks were raced again before, never for a number that
they measured or a variant. So it is fixed before any result is seen, and is the same for all variants.
"""

from collections.abc import Iterable, Sequence

from fairlap.api.comparison_spec import Design
from fairlap.api.comparison_status import PREPARATION, Block
from fairlap.comparison.facts.disturbed_race import DISTURBED
from fairlap.plan.comparison.looks import looks_cut_short, most_blocks


def repetitions(design: Design) -> int:
    """Return how many blocks may be raced again for a disturbance: half of those that may count, one at least.

    0 where it was asked that they count, or where races in turn share it: their p50s differed no more for it
    (docs/noise.md).
    """
    return max(1, most_blocks(design) // 2) if design.repeats_disturbed else 0


def was_disturbed(block: Block) -> bool:
    """Return whether the machine of one of a block's races was disturbed."""
    return any(race.reason == DISTURBED for race in block.races)


def is_set_aside(block: Block) -> bool:
    """Return whether a block does not count since its machine was disturbed, and for nothing else."""
    return block.valid is False and block.reason == DISTURBED


def set_aside(design: Design, blocks: Iterable[Block], over: Block) -> Block:
    """Return a block that is over, not counting where it was disturbed and `blocks`, those before, leave a repetition.

    What is void for another reason stays so, and takes no repetition.
    """
    if not over.valid or not was_disturbed(over) or sum(map(is_set_aside, blocks)) >= repetitions(design):
        return over
    return over.model_copy(update={"valid": False, "reason": DISTURBED})


def counted_at_the_end(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks of a Comparison that races no more: of what was set aside and never replaced, the last counts.

    So a Comparison never knows less because a block was to be raced again.
    """
    replaced = {block.number for block in blocks if block.valid}
    last = {block.number: block.attempt for block in blocks if is_set_aside(block) and block.number not in replaced}
    return [
        block.model_copy(update={"valid": True, "reason": ""})
        if is_set_aside(block) and last.get(block.number) == block.attempt
        else block
        for block in blocks
    ]


def enough_to_judge(design: Design, blocks: Sequence[Block]) -> bool:
    """Return whether so many blocks of a Comparison that races no more count that their numbers may be judged."""
    counted = [block for block in counted_at_the_end(blocks) if block.valid and block.number != PREPARATION]
    return bool(looks_cut_short(design, len(counted)))
