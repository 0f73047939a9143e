"""Counts as people say them."""

import pytest

from fairlap.wording.counts import counted


@pytest.mark.parametrize(("count", "text"), [(0, "0 races"), (1, "1 race"), (2, "2 races")])
def test_one_alone_is_no_plural(count: int, text: str) -> None:
    assert counted(count, "race") == text
