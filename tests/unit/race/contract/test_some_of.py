"""The first of many in a sentence, and how many more there are."""

import pytest

from fairlap_race.contract.some_of import some_clauses, some_of


@pytest.mark.parametrize(
    ("names", "words", "clauses"),
    [
        ((), "", ""),
        (("a",), "a", "a"),
        (("a", "b"), "a, b", "a; b"),
        (("a", "b", "c"), "a, b and 1 more", "a; b; and 1 more"),
        (("a", "b", "c", "d"), "a, b and 2 more", "a; b; and 2 more"),
    ],
)
def test_only_what_is_not_shown_is_counted(names: tuple[str, ...], words: str, clauses: str) -> None:
    assert (some_of(names, 2), some_clauses(iter(names), 2)) == (words, clauses)


def test_the_last_word_may_be_another() -> None:
    assert some_of(["task a 1 s", "task b 2 s"], 1, last=", and ") == "task a 1 s, and 1 more"
