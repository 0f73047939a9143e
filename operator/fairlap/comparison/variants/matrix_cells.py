"""The combinations of a matrix: which there are, and what each is called. Pure."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import Any, Final

from fairlap.api.comparison_spec import Cell, Matrix
from fairlap.comparison.variants.merge_patch import depth_exceeds

Combination = dict[str, Any]
"""a value for each path"""
LONGEST_NAME: Final = 40
_MOST_COMBINATIONS: Final = 10_000
_PATH: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


def combinations(matrix: Matrix) -> list[Combination]:
    """Return the combinations in the order of the axes, then those that are included; `matrix` has no objections."""
    paths = [axis.path for axis in matrix.axes]
    return [*_within(matrix), *(_in_order(cell, paths) for cell in matrix.include)]


def matrix_objections(matrix: Matrix) -> Iterator[str]:
    """Yield a sentence for each thing that is wrong with a matrix by itself."""
    found = list(_of_axes(matrix))
    if not found:
        found = list(_of_cells(matrix))
    yield from found or _of_size(matrix)


def combination_name(combination: Combination) -> str:
    """Return what a combination is called: its values, joined by "-"; "" when they give no name."""
    return re.sub(r"-{2,}", "-", "-".join(map(_word, combination.values()))).strip("-._")


def _of_axes(matrix: Matrix) -> Iterator[str]:
    seen = set[str]()
    for number, axis in enumerate(matrix.axes):
        field = f"matrix.axes[{number}]"
        if not _PATH.fullmatch(axis.path):
            yield f"{field}.path {axis.path} is no path: write names joined by dots, for example elasticsearch.version"
        if axis.path in seen:
            yield f"{field}.path {axis.path} is there twice: write all of its values in one axis"
        seen.add(axis.path)
        texts = [_text(value) for value in axis.values]
        for text in sorted({text for text in texts if texts.count(text) > 1}):
            yield f"{field}.values has {text} twice: write it once"
    yield from _one_in_another([axis.path for axis in matrix.axes], "matrix.axes")


def _one_in_another(paths: Iterable[str], field: str) -> Iterator[str]:
    for inner, outer in permutations(paths, 2):
        if inner.startswith(f"{outer}."):
            yield f"{field} has {inner}, which is a part of {outer}: write one of the two"


def _of_cells(matrix: Matrix) -> Iterator[str]:
    paths = [axis.path for axis in matrix.axes]
    for number, cell in enumerate(matrix.exclude):
        field = f"matrix.exclude[{number}].at"
        unknown = sorted(cell.at.keys() - set(paths))
        if unknown or not cell.at:
            words = f"names {', '.join(unknown)}, which is no path of an axis" if unknown else "is empty"
            yield f"{field} {words}: write one of {', '.join(paths)}"
            continue
        for axis in matrix.axes:
            if axis.path in cell.at and not any(_same(cell.at[axis.path], value) for value in axis.values):
                known = ", ".join(map(_text, axis.values))
                yield f"{field} has {axis.path} {_text(cell.at[axis.path])}, which is not among its values: {known}"
    for number, cell in enumerate(matrix.include):
        field = f"matrix.include[{number}].at"
        if not cell.at:
            yield f"{field} is empty: write a value for each path, for example {paths[0]}"
        if depth_exceeds(cell.at):
            yield f"{field} is nested too deeply: write it flatter"
        for path in cell.at:
            if not _PATH.fullmatch(path):
                yield f"{field} names {path}, which is no path: write names joined by dots"
        yield from _one_in_another(cell.at, field)


def _of_size(matrix: Matrix) -> Iterator[str]:
    whole = math.prod(len(axis.values) for axis in matrix.axes) + len(matrix.include)
    if whole > _MOST_COMBINATIONS:
        count = f"{whole} variants, those that matrix.exclude leaves out not counted"
    else:
        there = len(combinations(matrix))
        count = f"{there} variants" if there > matrix.max_variants else ""
        if there < 2:
            yield f"matrix gives {there} variant: write two or more values, or exclude fewer"
    if count:
        yield (
            f"matrix gives {count}, and matrix.maxVariants is {matrix.max_variants}: leave values out, exclude more, "
            "or raise maxVariants (12 at most)"
        )


def _within(matrix: Matrix) -> Iterator[Combination]:
    paths = [axis.path for axis in matrix.axes]
    for values in product(*(axis.values for axis in matrix.axes)):
        combination = dict(zip(paths, values, strict=True))
        if not any(_fits(cell, combination) for cell in matrix.exclude):
            yield combination


def _in_order(cell: Cell, paths: Sequence[str]) -> Combination:
    """Return a cell's values in the order of the axes, then by their paths: the API server keeps no order of keys."""
    ordered = [*(path for path in paths if path in cell.at), *sorted(cell.at.keys() - set(paths))]
    return {path: cell.at[path] for path in ordered}


def _fits(cell: Cell, combination: Mapping[str, Any]) -> bool:
    return all(_same(value, combination[path]) for path, value in cell.at.items())


def _same(one: Any, other: Any) -> bool:
    return _text(one) == _text(other)  # in Python, unlike in JSON, true is 1


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _word(value: Any) -> str:
    """Return a value as a part of a name; null takes the field away, so that its default holds."""
    if value is None:
        return "default"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-._")
