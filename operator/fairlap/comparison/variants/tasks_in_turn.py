"""Whether variants that are raced in turn run the same tasks: each client waits there for that of the others. Pure."""

from collections.abc import Collection, Iterable, Iterator

from fairlap.api.status import PlannedTask
from fairlap_race.contract.some_of import some_clauses

_MOST_NAMED = 5


def unlike_tasks(baseline: Iterable[PlannedTask], other: Iterable[PlannedTask], raced: Collection[str] = ()) -> str:
    """Return in what tasks that other variant is unlike the baseline; "" where one can wait for the other at each.

    `raced`: names of the tasks that blocks run; none: all of them.
    """
    ours, theirs = _in_blocks(baseline, raced), _in_blocks(other, raced)
    found = [*_differences({it.name: it for it in ours}, {it.name: it for it in theirs})]
    if not found and ours != theirs:
        found = ["its tasks come in another order, or others of them run in parallel"]
    return some_clauses(found, _MOST_NAMED)


def _in_blocks(tasks: Iterable[PlannedTask], raced: Collection[str]) -> list[PlannedTask]:
    """Return the tasks that are raced, their parallel elements counted anew from 1."""
    numbers: dict[int, int] = {}
    return [
        it if it.parallel is None else it.model_copy(update={"parallel": numbers.setdefault(it.parallel, len(numbers))})
        for it in tasks
        if not raced or it.name in raced
    ]


def _differences(ours: dict[str, PlannedTask], theirs: dict[str, PlannedTask]) -> Iterator[str]:
    for name, task in ours.items():
        if name not in theirs:
            yield f"it has no task {name}"
        elif (clients := theirs[name].clients) != task.clients:
            has = f"{clients} {'clients' if clients != 1 else 'client'}"
            yield f"its task {name} has {has}, the baseline's {task.clients}"
    yield from (f"the baseline has no task {name}" for name in theirs if name not in ours)
