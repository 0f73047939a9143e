"""After how many blocks a Comparison looks at its numbers, and how many there may be."""

from fairlap.api.comparison_spec import Design
from fairlap.comparison.noise.expectation import design_looks
from fairlap.statistics.gates import Look, fixed


def most_blocks(design: Design) -> int:
    """Return the most blocks that count."""
    return design_looks(design)[-1].blocks


def looks_cut_short(design: Design, blocks: int) -> tuple[Look, ...]:
    """Return the looks that so many blocks allow when no more will come, for a reason that is in no number."""
    if design.stop == "fixed":
        return fixed(blocks) if blocks > 1 else ()
    return tuple(look for look in design_looks(design) if look.blocks <= blocks)
