"""A block's record is never too large to be kept: curves go first, the dearest first, and no number ever."""

import gzip
import random

import pytest

from fairlap.api.block_record import BlockRecord, Curve, Measured, RaceRecord
from fairlap.comparison import block_pack

PARTS = ("rates", "latencies", "service_times", "task_usage", "facts")


def block() -> BlockRecord:
    chosen = random.Random(1)

    def curves() -> list[Curve]:
        return [Curve(task="t", points=[(float(x), chosen.random()) for x in range(200)])]

    race = RaceRecord(
        variant="a", benchmark="b", numbers=[Measured(task="t", metric="throughput", value=1.0)],
        task_usage=[Measured(task="t", metric="diskWriteBytes", value=chosen.random()) for _ in range(100)],
        service_times=curves(), latencies=curves(), rates=curves(), facts={"a": chosen.randbytes(2000).hex()},
    )  # fmt: skip
    return BlockRecord(number=1, races=[race])


def test_a_record_that_fits_is_kept_whole() -> None:
    assert block_pack.unpack_block(gzip.decompress(block_pack.pack_block(block()))) == block()


@pytest.mark.parametrize("left_out", range(1, 6))
def test_what_is_left_out_of_a_record_that_is_too_large(left_out: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = PARTS[:left_out]
    empty = {part: {} if part == "facts" else [] for part in gone}
    fits = block().model_copy(update={"races": [race.model_copy(update=empty) for race in block().races]})
    monkeypatch.setattr(block_pack, "MOST_BYTES", len(block_pack.pack_block(fits)))
    found = block_pack.unpack_block(gzip.decompress(block_pack.pack_block(block())))
    assert found == fits and found is not None and found.races[0].numbers
