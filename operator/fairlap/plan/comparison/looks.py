"""After how many blocks a Comparison looks at its numbers, and how many there may be."""

from fairlap.api.comparison_spec import Design
from fairlap.statistics.gates import SEQUENTIAL, Look, fixed


def looks(design: Design) -> tuple[Look, ...]:
    """Return the looks of a design, the first one first."""
    if design.stop == "fixed":
        return fixed(most_blocks(design))
    least, most = design.min_blocks or SEQUENTIAL[0].blocks, most_blocks(design)
    return tuple(look for look in SEQUENTIAL if least <= look.blocks <= most)


def most_blocks(design: Design) -> int:
    """Return the most blocks that count."""
    return (design.blocks or 2) if design.stop == "fixed" else (design.max_blocks or SEQUENTIAL[-1].blocks)


def looks_cut_short(design: Design, blocks: int) -> tuple[Look, ...]:
    """Return the looks that so many blocks allow when no more will come, for a reason that is in no number."""
    if design.stop == "fixed":
        return fixed(blocks) if blocks > 1 else ()
    return tuple(look for look in looks(design) if look.blocks <= blocks)
