"""Where in a rendered track a task and its operation stand, as JSON paths; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

JsonPath = tuple[str | int, ...]


def task_path(spec: Mapping[str, Any], challenge: str | None, task: str) -> JsonPath | None:
    """Return the path of the task named `task` in the schedule of `challenge`, None when it is not there.

    `spec` is the rendered track.json. A task without a name is named after its operation, as Rally does it.
    """
    for path, element in _tasks(spec, challenge):
        if task_name(element) == task:
            return path
    return None


def operation_path(spec: Mapping[str, Any], at: JsonPath | None, operation: str) -> JsonPath | None:
    """Return the path of the operation: in the list of operations, or written out in the task at the path `at`."""
    for number, element in enumerate(_list(spec, "operations")):
        if isinstance(element, Mapping) and element.get("name") == operation:
            return "operations", number
    return (*at, "operation") if at else None


def task_name(element: Mapping[str, Any]) -> str:
    """Return the name that Rally gives the task `element` of a schedule."""
    operation = element.get("operation")
    if "name" in element:
        return str(element["name"])
    if isinstance(operation, Mapping):
        return str(operation.get("name") or operation.get("operation-type"))
    return str(operation)


def _tasks(spec: Mapping[str, Any], challenge: str | None) -> Iterator[tuple[JsonPath, Mapping[str, Any]]]:
    for path, schedule in _schedules(spec, challenge):
        for number, element in enumerate(schedule):
            at: JsonPath = (*path, number)
            if not isinstance(element, Mapping):
                continue
            parallel = element.get("parallel")
            if isinstance(parallel, Mapping):
                for inner, task in enumerate(_list(parallel, "tasks")):
                    if isinstance(task, Mapping):
                        yield (*at, "parallel", "tasks", inner), task
            else:
                yield at, element


def _schedules(spec: Mapping[str, Any], challenge: str | None) -> Iterator[tuple[JsonPath, list[Any]]]:
    if isinstance(spec.get("schedule"), list):
        yield ("schedule",), spec["schedule"]
    one = spec.get("challenge")
    if isinstance(one, Mapping):
        yield ("challenge", "schedule"), _list(one, "schedule")
    for number, element in enumerate(_list(spec, "challenges")):
        if isinstance(element, Mapping) and challenge in (None, element.get("name")):
            yield ("challenges", number, "schedule"), _list(element, "schedule")


def _list(parent: Mapping[str, Any], key: str) -> list[Any]:
    found = parent.get(key)
    return found if isinstance(found, list) else []
