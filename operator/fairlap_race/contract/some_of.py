"""The first few of many in a sentence, and how many more there are."""

from collections.abc import Iterable
from itertools import islice


def some_of(names: Iterable[str], most: int, *, last: str = " and ") -> str:
    """Return the first names, `most` of them, and how many more there are: "a, b and 3 more"; "" of none."""
    return _first(names, most, ", ", last)


def some_clauses(clauses: Iterable[str], most: int) -> str:
    """Return the first clauses, `most` of them, and how many more there are: "a; b; and 3 more"; "" of none."""
    return _first(clauses, most, "; ", "; and ")


def _first(parts: Iterable[str], most: int, between: str, last: str) -> str:
    rest = iter(parts)
    shown = between.join(islice(rest, most))
    more = sum(1 for _ in rest)
    return f"{shown}{last}{more} more" if more else shown
