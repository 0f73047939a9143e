"""A block's record as a ConfigMap keeps it: compressed, and never too large to be kept."""

import gzip
from typing import Final

from pydantic import ValidationError

from fairlap.api.block_record import BlockRecord

MOST_BYTES: Final = 700_000
"""compressed; a ConfigMap takes 1 MiB as base64"""
_LEFT_OUT: Final = ("rates", "latencies", "service_times", "task_usage")
"""as they are left out, one after the other"""


def pack_block(block: BlockRecord) -> bytes:
    """Return the record compressed; where it would be too large, first without rates; numbers are always kept."""
    for count in range(len(_LEFT_OUT) + 1):
        data = _compressed(block, {part: [] for part in _LEFT_OUT[:count]})
        if len(data) <= MOST_BYTES:
            return data
    return _compressed(block, {**{part: [] for part in _LEFT_OUT}, "facts": {}})


def unpack_block(text: bytes) -> BlockRecord | None:
    """Return the record of these bytes, already decompressed; None when they are none."""
    try:
        return BlockRecord.model_validate_json(text)
    except ValidationError:
        return None


def _compressed(block: BlockRecord, changes: dict[str, object]) -> bytes:
    races = [race.model_copy(update=changes) for race in block.races]
    return gzip.compress(block.model_copy(update={"races": races}).model_dump_json(by_alias=True).encode(), mtime=0)
