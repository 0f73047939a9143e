"""Blocks whose races are valid and that are raced again: as a whole, with all variants.

That is for an upgrade between two of them, or for a machine that was disturbed in one, each as often as a bound allows.
The rule asks what was remarked on the races and how many blocks were raced again before, never for a number that
they measured or a variant. So it is fixed before any result is seen, and is the same for all variants.
"""

from collections.abc import Sequence

from fairlap.api.comparison_spec import Design
from fairlap.api.comparison_status import PREPARATION, Block
from fairlap.api.names import MAX_CUT_BLOCKS
from fairlap.comparison.facts.disturbed_race import DISTURBED
from fairlap.comparison.terms.block_reason import BlockReason
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


def set_aside(design: Design, blocks: Sequence[Block], over: Block) -> Block:
    """Return a block that is over, not counting where it was disturbed and `blocks`, those before, leave a repetition.

    Nor where an upgrade came between its races, for MAX_CUT_BLOCKS blocks. If an attempt before differed in the very
    same, that was no upgrade: then it counts, and what its races differ in is judged. What is void for another reason
    stays so.
    """
    if not over.valid:
        return over
    changes, cut = _upgrades_in(over), [it for it in blocks if _is_cut(it)]
    again = any(_upgrades_in(it) == changes for it in cut if it.number == over.number)
    if changes and not again and len(cut) < MAX_CUT_BLOCKS:
        return over.model_copy(update={"valid": False, "reason": str(BlockReason.INSTALLATION_CHANGED)})
    if not was_disturbed(over) or sum(map(is_set_aside, blocks)) >= repetitions(design):
        return over
    return over.model_copy(update={"valid": False, "reason": DISTURBED})


def _upgrades_in(block: Block) -> dict[str, str]:
    """Return by variant what an upgrade changed for its race."""
    return {race.variant: race.message for race in block.races if race.reason == BlockReason.INSTALLATION_CHANGED}


def _is_cut(block: Block) -> bool:
    """Return whether a block does not count since an upgrade cut it in two."""
    return block.valid is False and block.reason == BlockReason.INSTALLATION_CHANGED


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
