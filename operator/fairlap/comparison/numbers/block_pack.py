"""A block's record as a ConfigMap keeps it: compressed, and never too large to be kept."""

import gzip
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from sys import getsizeof
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from fairlap.api.block_record import KEY_BLOCK, BlockRecord, Measured, RaceRecord
from fairlap_race.contract.untrusted import MAX_JSON_VALUES, unpacked, value_count

MOST_BYTES: Final = 700_000
"""compressed; a ConfigMap takes 1 MiB as base64"""
MOST_NUMBERS: Final = 40_000
"""of all races together: who reads them again reads no more values than MAX_JSON_VALUES"""
_LEFT_OUT: Final = ("rates", "latencies", "service_times", "task_usage")
"""as they are left out, one after the other"""
_OF_A_NUMBER = attrgetter(*Measured.__slots__)


def pack_block(block: BlockRecord) -> bytes:
    """Return the record compressed; where it would be too large, first without rates.

    Numbers are kept; of more than MOST_NUMBERS those of the first tasks of each race.
    """
    most = MOST_NUMBERS // max(len(block.races), 1)
    block = block.model_copy(update={"races": [_with_fewer_tasks(race, most) for race in block.races]})
    for count in range(len(_LEFT_OUT) + 1):
        text = _text(block, {part: [] for part in _LEFT_OUT[:count]})
        data = gzip.compress(text, mtime=0)
        if len(data) <= MOST_BYTES and value_count(text) <= MAX_JSON_VALUES:
            return data
    return gzip.compress(_text(block, {**{part: [] for part in _LEFT_OUT}, "facts": {}}), mtime=0)


def whole_tasks(numbers: Sequence[Measured], most: int) -> tuple[list[Measured], int]:
    """Return at most so many numbers, all of a task or none, and of how many tasks there are none."""
    cut = min(most, len(numbers))
    while 0 < cut < len(numbers) and numbers[cut].task == numbers[cut - 1].task:
        cut -= 1
    return list(numbers[:cut]), len({each.task for each in numbers[cut:]})


def _with_fewer_tasks(race: RaceRecord, most: int) -> RaceRecord:
    numbers, left_out = whole_tasks(race.numbers, most)
    return race.model_copy(update={"numbers": numbers, "tasks_left_out": race.tasks_left_out + left_out})


def unpack_block(text: bytes) -> BlockRecord | None:
    """Return the record of these bytes, already decompressed; None when they are none."""
    try:
        return BlockRecord.model_validate_json(text)
    except ValidationError:
        return None


def block_in_config_map(config_map: Mapping[str, Any]) -> BlockRecord | None:
    """Return the record that a ConfigMap keeps; None when it keeps none that can be read."""
    text = unpacked(str((config_map.get("binaryData") or {}).get(KEY_BLOCK) or ""))
    return unpack_block(text) if text is not None else None


def without_curves(block: BlockRecord) -> BlockRecord:
    """Return the record with what decisions read: without the parts that go first where it is too large."""
    races = [race.model_copy(update={part: [] for part in _LEFT_OUT}) for race in block.races]
    return block.model_copy(update={"races": races})


def memory_of(part: Any) -> int:
    """Return how many bytes of memory a record takes, or a part of one, about; of a text it is up to 4 a character."""
    if isinstance(part, Measured):  # these are the most
        return getsizeof(part) + sum(map(getsizeof, _OF_A_NUMBER(part)))
    if isinstance(part, BaseModel):
        return getsizeof(part) + getsizeof(part.model_fields_set) + memory_of(vars(part))
    below: Iterable[Any] = ()
    if isinstance(part, dict):
        below = chain(part, part.values())
    elif isinstance(part, list | tuple):
        below = part
    return getsizeof(part) + sum(map(memory_of, below))


def _text(block: BlockRecord, changes: dict[str, object]) -> bytes:
    races = [race.model_copy(update=changes) for race in block.races]
    return block.model_copy(update={"races": races}).model_dump_json(by_alias=True).encode()
