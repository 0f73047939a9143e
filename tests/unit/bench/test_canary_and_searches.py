"""bench/canary as far as it goes without Elasticsearch: which moments are slower, and what the table says of them."""

import argparse
from typing import Any

import canary
import pytest

from fairlap_race.contract.watched_machines.canary_margins import HASHING, READING_MEMORY

Json = dict[str, Any]


def moment(memory: float, search: float, others: float = 0.0, **more: float) -> Json:
    pieces = {"memory_seconds": memory, **more}
    return {"canary": pieces, "others": others, "search": {"medianMillis": search}, "machine": "2 processors"}


def test_slower_is_beyond_the_margin_above_the_lower_quartile() -> None:
    times = [0.9, 1.0, 1.0, 1.01, 1.2, 1.24, 1.26, 2.0]
    assert canary.slower(times, READING_MEMORY) == [False] * 6 + [True, True]
    assert canary.slower([1.0, 4.0, 4.0, 4.0, 4.0], HASHING) == [False] * 5, "a faster one is not slower"
    assert canary.slower([], HASHING) == []


@pytest.mark.parametrize(
    ("flags", "count"), [([], 0), ([False], 0), ([True], 1), ([True, True, False, True], 2), ([False, True, True], 1)]
)
def test_moments_in_a_row_are_an_episode(flags: list[bool], count: int) -> None:
    assert canary.episodes(flags) == count


def test_searches_of_slower_moments_stand_beside_those_of_the_others() -> None:
    lines = [moment(1.0, 10.0), moment(1.0, 10.0), moment(2.0, 15.0), moment(2.0, 15.0), moment(1.0, 10.0)]
    table = canary.table([*lines, moment(9.0, 90.0, others=0.5)])
    assert table.startswith("5 moments, 1 more left out for others on the machine")
    assert "| reading memory | 2 of 5 | 1 | 1.50 times | 1.00 |" in table
    assert "| hashing | 0 of 0 | 0 |  |  |" in table, "what was not done is no number"


def test_where_all_moments_are_alike_nothing_is_related() -> None:
    assert "| reading memory | 0 of 2 | 0 |  |  |" in canary.table([moment(1.0, 10.0)] * 2)


def test_without_a_quiet_moment_that_is_said() -> None:
    assert canary.table([moment(1.0, 10.0, others=0.9)]) == "no moment is without others on this machine, of 1"


def test_a_size_has_as_many_moments_as_fit_into_its_minutes() -> None:
    asked = argparse.Namespace(smallest=False, minutes=9.0, search_seconds=1.5, documents=1000)
    size = canary.size_of(asked)
    assert size.moments == 200
    assert size.design == size._replace(moments=7).design != size._replace(search_seconds=2.0).design
