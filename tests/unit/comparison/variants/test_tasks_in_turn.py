"""Variants that are raced in turn run the same tasks with as many clients, or it is said which do not."""

import pytest

from fairlap.api.status import PlannedTask
from fairlap.comparison.variants.tasks_in_turn import unlike_tasks


def planned(words: str) -> list[PlannedTask]:
    """Return the tasks of "index:4 search|other": NAME:CLIENTS each, those joined by | in parallel."""
    found = []
    for number, element in enumerate(words.split()):
        names = element.split("|")
        for name, _, clients in (it.partition(":") for it in names):
            parallel = number if len(names) > 1 else None
            found.append(PlannedTask(name=name, clients=int(clients or 1), parallel=parallel))
    return found


@pytest.mark.parametrize(
    ("baseline", "other", "raced", "sentence"),
    [
        ("index:4 search", "index:4 search", (), ""),
        ("index:4 search", "index:2 search", (), "its task index has 2 clients, the baseline's 4"),
        ("index:4 search", "index search", (), "its task index has 1 client, the baseline's 4"),
        ("index:4 search", "index:2 search", ("search",), ""),
        ("index search term", "index term", (), "it has no task search"),
        ("index term", "index search term", (), "the baseline has no task search"),
        ("index a b", "index b a", (), "its tasks come in another order, or others of them run in parallel"),
        ("index a b", "index a|b", (), "its tasks come in another order, or others of them run in parallel"),
        ("a|b c|d", "a|b c|d", (), ""),
        ("a|b c|d", "x|y c|d", ("c", "d"), ""),
        ("a|b index c|d", "index c|d", (), "it has no task a; it has no task b"),
        ("a b c d e f g", "x", (), "it has no task a; it has no task b; it has no task c; it has no task d; it has no "
         "task e; and 3 more"),
        ("", "", (), ""),
    ],
)  # fmt: skip
def test_what_is_unlike_is_named(baseline: str, other: str, raced: tuple[str, ...], sentence: str) -> None:
    assert unlike_tasks(planned(baseline), planned(other), raced) == sentence
