"""Of a test that moved is known where it is, and of one that went, that it went."""

from pathlib import Path

import pytest
from tests.same_tests import (
    SUITES,
    TABLE,
    left_out,
    marks_of_make_test,
    missing,
    moved,
    read_reasons,
    read_table,
    without_numbers,
)

ROOT = Path(__file__).parents[3]
MOVED = read_table("""
# comment
tests/a.py tests/x/b.py  # why
tests/x/b.py tests/x/c.py
tests/x/c.py::test_old tests/x/c.py::test_new
tests/d.py::test_one[1] tests/d.py::test_one[2]
tests/e.py::test_gone -
pkg/old.py pkg/room/new.py
pkg/removed.py -
tests/f.py::test_plain tests/f.py::test_plain[now]
tests/f.py::test_words[a b] -> tests/f.py::test_words[c d]
long tests/f.py::test_words[c d] -> it takes an hour
""")


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("tests/a.py::test_it", "tests/x/c.py::test_it"),
        ("tests/a.py::test_it[x]", "tests/x/c.py::test_it[x]"),
        ("tests/a.py::test_old[x-y]", "tests/x/c.py::test_new[x-y]"),
        ("tests/d.py::test_one[1]", "tests/d.py::test_one[2]"),
        ("tests/d.py::test_one[3]", "tests/d.py::test_one[3]"),
        ("tests/e.py::test_gone[3]", "-"),
        ("tests/f.py::test_plain", "tests/f.py::test_plain[now]"),
        ("tests/f.py::test_words[a b]", "tests/f.py::test_words[c d]"),
        ("tests/imports.py::test_way[pkg/old.py]", "tests/imports.py::test_way[pkg/room/new.py]"),
        ("tests/imports.py::test_way[pkg/removed.py]", "-"),
        ("tests/z.py::test_z", "tests/z.py::test_z"),
    ],
)
def test_where_a_test_is_now(before: str, now: str) -> None:
    assert moved(before, MOVED) == now


def test_what_is_missing_is_told_with_its_new_name() -> None:
    now = {"tests/x/c.py::test_it"}
    before = ["tests/a.py::test_it", "tests/e.py::test_gone", "tests/a.py::test_lost"]
    assert missing(before, now, MOVED) == ["tests/a.py::test_lost -> tests/x/c.py::test_lost"]


def test_a_number_that_pytest_gave_may_be_another_one_but_none_of_them_may_be_missing() -> None:
    now = {"tests/g.py::test_it[a-x1]", "tests/g.py::test_it[a-x2]", "tests/g.py::test_it[b-x0]"}
    assert missing(["tests/g.py::test_it[a-x0]", "tests/g.py::test_it[a-x1]"], now, MOVED) == []
    before = [f"tests/g.py::test_it[a-x{number}]" for number in (0, 1, 5)]
    assert missing(before, now, MOVED) == ["tests/g.py::test_it[a-x5] -> tests/g.py::test_it[a-x5]"]
    assert missing(["tests/g.py::test_it[c-x0]"], now, MOVED) != []


def test_what_make_test_ran_and_leaves_out_now_is_told_by_its_new_name() -> None:
    ran = {"tests/a.py::test_it", "tests/a.py::test_old", "tests/e.py::test_gone", "tests/a.py::test_lost"}
    before = ran | {"tests/h.py::test_never_run"}
    now = {"tests/x/c.py::test_it", "tests/x/c.py::test_new", "tests/h.py::test_never_run"}
    assert left_out((before, ran), (now, now - {"tests/x/c.py::test_new"}), MOVED) == ["tests/x/c.py::test_new"]
    assert left_out((before, ran), (now, now), MOVED) == []
    # Numbers of pytest's: one of two is run no longer.
    two = {"tests/g.py::test_it[a-x0]", "tests/g.py::test_it[a-x1]"}
    assert len(left_out((two, two), (two, two - {"tests/g.py::test_it[a-x1]"}), MOVED)) == 1


def test_a_test_is_left_out_for_a_reason() -> None:
    assert read_reasons("long tests/a.py::t[b c] -> it takes an hour  # really\ntests/b.py tests/c.py") == {
        "tests/a.py::t[b c]": "it takes an hour"
    }
    for text in ("long tests/a.py::t", "long tests/a.py::t -> # none", "long a -> b\nlong a -> c"):
        with pytest.raises(ValueError, match="the reason"):
            read_reasons(text)


def test_what_make_test_chooses_stands_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    marks = {suite: marks_of_make_test(makefile, suite) for suite in SUITES}
    not_long = dict.fromkeys(("unit", "rally", "race", "api", "report", "e2e"), "not long")
    assert marks == {**not_long, "soak": None}


def test_the_table_tells_reasons_of_tests_that_are_there() -> None:
    for name in read_reasons(TABLE.read_text(encoding="utf-8")):
        file, _, test = name.partition("::")
        assert f"def {test.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8"), name


@pytest.mark.parametrize(
    ("test", "left"),
    [
        ("a::t[x1-y_z20-7]", "a::t[x-y_z-7]"),
        ("a::t[v1.2-a1b]", "a::t[v1.2-a1b]"),
        ("a::t1", "a::t1"),
    ],
)
def test_what_is_left_of_an_id_without_such_numbers(test: str, left: str) -> None:
    assert without_numbers(test) == left


def test_a_circle_or_a_name_that_stands_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="circle"):
        moved("tests/a.py::t", {"tests/a.py": "tests/b.py", "tests/b.py": "tests/a.py"})
    with pytest.raises(ValueError, match="twice"):
        read_table("a b\na c\n")


def test_the_table_leads_to_files_that_are_there() -> None:
    table = read_table(TABLE.read_text())
    files = {moved(old, table).partition("::")[0] for old in table} - {"-"}
    assert [name for name in (*table, *files) if name.startswith("operator/")] == [], "ids begin with the package"
    assert [
        name for name in sorted(files) if not (ROOT / name).exists() and not (ROOT / "operator" / name).exists()
    ] == []
