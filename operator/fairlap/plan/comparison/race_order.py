"""In which order the variants of a block race: drawn from a seed, and balanced over the blocks.

Rows of Williams' squares (Williams 1949): over as many blocks as there are arms each arm is once at each place, and
over twice as many at most each follows each other equally often. Which arm is which, and which row comes when, is
drawn.
Blocks with and without the baseline's twin have different numbers of arms, so each kind is balanced by itself.
"""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

from fairlap.api.block_record import TWIN

Item = TypeVar("Item")


def seed_of(uid: str) -> int:
    """Return the seed that is drawn from a Comparison's uid: 0 to 2^31 - 1."""
    return int.from_bytes(hashlib.sha256(f"seed/{uid}".encode()).digest()[:4], "big") & 0x7FFFFFFF


def has_twin(block: int, every: int) -> bool:
    """Return whether the baseline also races against itself in a block (from 1); `every`: 0 never, 3 in 1, 4, 7 …."""
    return every > 0 and (block - 1) % every == 0


def race_order(names: Sequence[str], block: int, every: int, seed: int) -> list[str]:
    """Return who races when in a block (from 1), a trailing * for the twin; `names`: the baseline first.

    A block that is raced again has the same order, so that the balance stays.
    """
    twin = has_twin(block, every)
    arms = [*names, f"{names[0]}{TWIN}"] if twin else list(names)
    before = sum(has_twin(number, every) == twin for number in range(1, block))
    return _row(arms, before, f"{seed}/{len(arms)}")


def _row(arms: Sequence[str], number: int, seed: str) -> list[str]:
    """Return the order of the block `number` (from 0) of those with these arms."""
    count = len(arms)
    square, place = divmod(number, count)
    # An odd number of arms needs a square and its mirror, with the same arms, to balance who follows whom.
    mirrored = count % 2 == 1 and square % 2 == 1
    drawn = _shuffled(arms, f"{seed}/arms/{square // 2 if count % 2 else square}")
    first = _shuffled(range(count), f"{seed}/rows/{square}")[place]
    row = [drawn[(step + first) % count] for step in _zigzag(count)]
    return row[::-1] if mirrored else row


def _zigzag(count: int) -> list[int]:
    """Return 0, 1, n-1, 2, n-2 …: whose neighbours differ by each number once (by each twice where n is odd)."""
    return [(step + 1) // 2 if step % 2 else (count - step // 2) % count for step in range(count)]


def _shuffled(items: Sequence[Item], seed: str) -> list[Item]:
    """Return the items in an order that is the same in every version of Python, unlike that of random.shuffle."""
    ranks = [hashlib.sha256(f"{seed}/{place}".encode()).digest() for place in range(len(items))]
    return [items[place] for place in sorted(range(len(items)), key=ranks.__getitem__)]
