"""The archive of a Comparison: it and its blocks' records as one JSON object, from which every report can be remade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError

from fairlap.api.base import Json
from fairlap.api.block_record import BlockRecord
from fairlap.comparison_report.comparison_view import NotAComparisonError, finite

FORMAT: Final = "fairlap.dev/comparison-archive/1"
DATA_ID: Final = "comparison-data"
"""of the element of an HTML report that holds its archive"""


def archive_of(comparison: Json, blocks: Sequence[BlockRecord]) -> Json:
    """Return a Comparison and its records as one JSON object."""
    return {
        "format": FORMAT,
        "comparison": without_bookkeeping(comparison),
        "blocks": [finite(block).model_dump(mode="json", by_alias=True, exclude_none=True) for block in blocks],
    }


def is_archive(data: Json) -> bool:
    """Tell whether a JSON object is an archive rather than a Comparison."""
    return "comparison" in data and "blocks" in data


def read_archive(data: Json) -> tuple[Json, list[BlockRecord]]:
    """Return Comparison and records of an archive; raises NotAComparisonError."""
    comparison, blocks = data.get("comparison"), data.get("blocks")
    if data.get("format") != FORMAT or not isinstance(comparison, dict) or not isinstance(blocks, list):
        raise NotAComparisonError(f"this is no archive of a Comparison: its format is not {FORMAT}")
    try:
        return comparison, [BlockRecord.model_validate(block) for block in blocks]
    except ValidationError as error:
        raise NotAComparisonError(f"a block of the archive cannot be read: {error.errors()[0]['msg']}") from error


def without_bookkeeping(comparison: Json) -> Json:
    """Return a Comparison without what only the API server needs."""
    meta = comparison.get("metadata")
    kept = {key: value for key, value in meta.items() if key != "managedFields"} if isinstance(meta, dict) else {}
    return {**comparison, "metadata": kept}
