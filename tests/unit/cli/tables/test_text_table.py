"""Cells in columns."""

from hypothesis import given
from hypothesis import strategies as st

from fairlap.cli.tables.text_table import align, columns

CELL = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=9)


def test_names_stand_left_and_numbers_right() -> None:
    assert align([("a", "bb", "c"), ("long", "x", "100")], left=2) == "a     bb    c\nlong  x   100"
    assert align([("a", ""), ("b", "long")]) == "a\nb  long"
    assert align([("", "x"), ("row", "1")], rule=True).splitlines()[1] == "---  -"
    assert align([]) == ""


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=1, max_size=5)))
def test_every_cell_of_a_column_begins_at_the_same_place(lines: list[list[str]]) -> None:
    shown = align(lines).splitlines()
    assert [line.split() for line in shown] == lines
    starts = [[columns(line.removesuffix(line.split(None, at)[-1])) for at in range(len(lines[0]))] for line in shown]
    assert all(each == starts[0] for each in starts)


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    assert align([("検索", "1"), ("find", "2"), ("e\u0301", "3")]) == "検索  1\nfind  2\ne\u0301     3"
