"""A block's record is never too large to be kept: curves go first, the dearest first, numbers beyond measure last."""

import gzip
import math
import random
import tracemalloc
from typing import Any

import pytest

from fairlap.api.block_record import BlockRecord, Curve, Measured, RaceRecord
from fairlap.api.status import MOST_REMARKS, RemarkStatus
from fairlap.comparison.numbers import block_pack
from fairlap_race.contract.untrusted import MAX_JSON_VALUES, value_count

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


def numbers(count: int) -> list[Measured]:
    return [
        Measured(task=f"t{n // 9}", metric="throughput", value=n + 0.5, unit="docs/s", requests=n) for n in range(count)
    ]


def test_who_reads_a_record_again_is_given_no_more_values_than_are_read() -> None:
    """Twenty races with all the numbers that a race may have, and curves that are small when compressed."""
    points = [(float(x), 1.0) for x in range(200)]
    curves = [Curve(task=f"t{n}", points=points) for n in range(100)]
    race = RaceRecord(variant="a", benchmark="b", numbers=numbers(5000), rates=curves, facts={"a": "b"})
    packed = block_pack.pack_block(BlockRecord(number=1, races=[race] * 20))
    text = gzip.decompress(packed)
    assert len(packed) <= block_pack.MOST_BYTES and value_count(text) <= MAX_JSON_VALUES
    found = block_pack.unpack_block(text)
    assert found is not None and not found.races[0].rates
    kept = block_pack.MOST_NUMBERS // 20 // 9 * 9  # nine of each task
    assert [len(each.numbers) for each in found.races] == [kept] * 20
    assert {each.tasks_left_out for each in found.races} == {math.ceil(5000 / 9) - kept // 9}
    assert found.races[0].numbers == race.numbers[:kept], "the first ones are of the whole race"


def test_what_decisions_do_not_read_is_not_held() -> None:
    whole = block()
    found = block_pack.without_curves(whole)
    assert [found.races[0].numbers, found.races[0].facts] == [whole.races[0].numbers, whole.races[0].facts]
    assert not (found.races[0].rates or found.races[0].latencies or found.races[0].service_times)


LONG = "x" * 4000 + "\U0001f600"


@pytest.mark.parametrize(
    "parts",
    [
        {"numbers": numbers(3000)},
        {"numbers": [Measured(metric="m", value=1.0, task=f"{n}{LONG}") for n in range(100)]},
        {"target_throughput": {f"{n}{LONG * 9}": 1.0 for n in range(20)}},
        {"target_throughput": {str(n): 1.0 for n in range(3000)}},
        {"facts": {f"{n}{LONG * 9}": LONG for n in range(20)}},
        {"remarks": [RemarkStatus(reason="R", message=LONG)] * MOST_REMARKS},
        {"canary": {f"{n}{LONG[-60:]}": 1.0 for n in range(10)}, "sources": {str(n): LONG for n in range(10)}},
        {"message": LONG, "reason": LONG, "uid": LONG, "started_at": LONG},
    ],
    ids="-".join,
)
def test_what_a_record_takes_is_not_told_too_small(parts: dict[str, Any]) -> None:
    """What anybody writes is counted, too: 22 KB, compressed, were 61 MiB of names in memory and counted as nothing."""
    race = RaceRecord(**{"variant": "a", "benchmark": "b", **parts})
    text = BlockRecord(number=1, races=[race]).model_dump_json()
    tracemalloc.start()
    try:
        found = block_pack.unpack_block(text.encode())
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert found is not None and taken <= block_pack.memory_of(found)
