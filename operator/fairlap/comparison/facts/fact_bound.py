"""How many facts of a race are kept, and which of them go first where there are more. Pure."""

from collections.abc import Mapping
from itertools import islice
from typing import Final

from fairlap.comparison.facts.fairness_table import cut_with

MOST_FACTS: Final = 3000
_FIRST_OUT: Final = ("default ", "module", "digest of settings", "setting ")
"""Parts as `cut_with` names them; a race without any of one says nothing of it, so each is kept or goes as a whole."""


def within_bound(facts: Mapping[str, str]) -> dict[str, str]:
    """Return the facts of a race by path, at most `MOST_FACTS`: what is compared of one is there of the others, too."""
    kept = dict(facts)
    for part in _FIRST_OUT:
        if len(kept) > MOST_FACTS:
            kept = {path: value for path, value in kept.items() if cut_with(path) != part}
    return dict(islice(kept.items(), MOST_FACTS))
