"""Checks the tasks of a track as Rally would when it starts them: operation types and their parameters."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from esrally.track import loader
from esrally.track import track as model

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.some_of import some_of
from fairlap_race.contract.specification.race_spec import REQUIRE_TASKS
from fairlap_race.rally import sweep_steps
from fairlap_race.track.check.finding import FoundError
from fairlap_race.track.check.json_paths import operation_path, task_path
from fairlap_race.track.check.source_map import Rendered
from fairlap_race.track.load import Request, rally_config

_MANDATORY: dict[str, tuple[str, ...]] = {
    "put-pipeline": ("id", "body"),
    "delete-pipeline": ("id",),
    "put-settings": ("body",),
    "raw-request": ("path",),
    "composite": ("requests",),
    "submit-async-search": ("body",),
    "create-transform": ("transform-id", "body"),
    "esql": ("query",),
    "sql": ("body",),
}
"""Parameters without which Rally's runner ends the race when it comes to the task (esrally/driver/runner.py)."""
_LISTED = 30
"""Names of tasks in one sentence at most."""


class PackageMissingError(FoundError):
    """The track's own code could not import a module; `words`: Python's own, which name it."""

    def __init__(self, reason: Reason, what: str, words: str, place: tuple[str, int, str] | None) -> None:
        super().__init__(reason, what, place=place, rule="dependencies")
        self.words = words


def load(request: Request, params: Mapping[str, Any]) -> Any:
    """Return Rally's track object for `request`, filtered and in test mode as asked for."""
    return loader.load_track(rally_config(request, params))


def load_plugins(request: Request, params: Mapping[str, Any]) -> set[str]:
    """Load the track's own Python code, return the operation types it adds; raises whatever that code raises."""
    added: set[str] = set()
    loader.load_track_plugins(
        rally_config(request, params),
        Path(request.track_path).name,
        register_runner=lambda name, *_, **__: added.add(name),
        register_scheduler=lambda *_, **__: None,
        register_track_processor=lambda *_, **__: None,
    )
    return added


def check_tasks(request: Request, track: Any, rendered: Rendered) -> None:
    """Raise FoundError for the first task of the selected challenge that cannot run."""
    challenge = track.find_challenge_or_default(request.challenge or "")
    for error in task_errors(request, track, challenge, rendered):
        raise error


def task_errors(
    request: Request, track: Any, challenge: Any, rendered: Rendered, added: set[str] | None = None
) -> Iterator[FoundError]:
    """Yield an error for each task of `challenge` that cannot run; `added`: what load_plugins returned, if it ran."""
    leaves = [leaf for element in challenge.schedule for leaf in element]
    if not leaves:
        which = "includeTasks" if request.include_tasks else "excludeTasks"
        names = ", ".join(request.include_tasks or request.exclude_tasks)
        yield FoundError(Reason.NO_TASKS, f"{which} ({names}) leave no task of the challenge {challenge.name}")
    if added is None:
        added = load_plugins(request, {}) if track.has_plugins else set()
    for leaf in leaves:
        try:
            _check_task(track, challenge, leaf, added, rendered)
        except FoundError as error:
            yield error


def nothing_measured(request: Request, challenge: Any) -> Iterator[FoundError]:
    """Yield an error when Rally reports on no task of the challenge that would be raced."""
    leaves = [leaf for element in challenge.schedule for leaf in element]
    # Of a track as such, each challenge is looked at, also one that only prepares a cluster for another.
    if request.every_challenge or not leaves or any(leaf.operation.include_in_reporting for leaf in leaves):
        return
    names = some_of((leaf.name for leaf in leaves), _LISTED)
    what = f"no task of the challenge {challenge.name} is measured: Rally reports on none of {names}"
    yield FoundError(Reason.NO_TASKS, what, "Put a bulk or a search into it, or let the filters leave one")


def missing_tasks(request: Request, challenge: Any) -> Iterator[FoundError]:
    """Yield an error when tasks that the user names are not among those that would be raced."""
    sweep = request.sweep
    swept = ((f"{sweep_steps.field_of(sweep)}.task", (sweep.task,)),) if sweep else ()
    for field, wanted in (
        *swept,
        (REQUIRE_TASKS, request.require_tasks),
        ("race.allow.errorRate", request.allowed_tasks),
    ):
        yield from _missing(request, challenge, field, wanted)


def unsweepable(request: Request, challenge: Any) -> Iterator[FoundError]:
    """Yield an error when the task that the user wants swept is there and cannot be."""
    if request.sweep and (what := sweep_steps.objection(challenge, request.sweep)):
        yield FoundError(Reason.INVALID_SPEC, what)


def _missing(request: Request, challenge: Any, field: str, wanted: Sequence[str]) -> Iterator[FoundError]:
    names = list(dict.fromkeys(leaf.name for element in challenge.schedule for leaf in element))
    steps = request.sweep.names if request.sweep else ()
    missing = [name for name in dict.fromkeys(wanted) if name not in names and name not in steps]
    if not missing or not names:  # that there is no task at all is said by task_errors
        return
    close = {name: difflib.get_close_matches(name, names, n=1) for name in missing}
    meant = [f"{found[0]} for {name}" if len(missing) > 1 else found[0] for name, found in close.items() if found]
    filters = "includeTasks" if request.include_tasks else "excludeTasks" if request.exclude_tasks else ""
    what = (
        f"{field}: the challenge {challenge.name}{f' with its {filters}' if filters else ''} has no task "
        f"{some_of(missing, _LISTED)}"
    )
    listed = f"There are: {some_of(names, _LISTED)}"
    cure = f"Did you mean {some_of(meant, _LISTED)}? {listed}" if meant else listed
    yield FoundError(Reason.UNKNOWN_TASK, what, cure, field=field)


def _check_task(track: Any, challenge: Any, leaf: Any, added: set[str], rendered: Rendered) -> None:
    operation = leaf.operation
    _check_type(str(operation.type), leaf.name, added, rendered)
    for name in _MANDATORY.get(str(operation.type), ()) if not operation.param_source else ():
        if name not in operation.params:
            what = f"task {leaf.name}: the operation {operation.type} lacks the parameter {name!r}"
            place = _place(rendered, challenge, leaf)
            raise FoundError(Reason.PARAMETER_MISSING, what, f'Add "{name}" to the operation', place)
    try:
        parameter_source(track, leaf)
        _ = leaf.target_throughput, leaf.ignore_response_error_level
    except Exception as error:
        missing = isinstance(error, FileNotFoundError)  # which is a matter of the operation, whatever task uses it
        subject = f"operation {operation.name}" if missing else f"task {leaf.name}"
        words, place = _error_sentence(error), _place(rendered, challenge, leaf)
        what = f"{subject}: {words}"
        if isinstance(error, ModuleNotFoundError):
            raise PackageMissingError(_reason(error), what, words, place) from None
        raise FoundError(_reason(error), what, _cure(error), place, _rule(error)) from None


def _check_type(kind: str, task: str, added: set[str], rendered: Rendered) -> None:
    try:
        model.OperationType.from_hyphenated_string(kind)
    except KeyError:
        if kind in added:
            return
        known = [operation.to_hyphenated_string() for operation in model.OperationType]
        close = difflib.get_close_matches(kind, known, n=1)
        cure = (
            f"Did you mean {close[0]}?" if close else "Use one of Rally's operation types, or register it in track.py"
        )
        what = f"task {task}: there is no operation type {kind!r}"
        place = rendered.place_of_member("operation-type", kind) or rendered.place_of_text(kind)
        at = place.as_tuple() if place else None
        raise FoundError(Reason.TRACK_INVALID, what, cure, at, "operation-type") from None


def _place(rendered: Rendered, challenge: Any, leaf: Any) -> tuple[str, int, str] | None:
    spec = json.loads(rendered.text)
    task = task_path(spec, None if challenge.auto_generated else challenge.name, leaf.name)
    path = operation_path(spec, task, leaf.operation.name)
    # The line with the name says more than that of the opening brace.
    place = rendered.place_of([*path, "name"]) if path else None
    return place.as_tuple() if place else None


def _reason(error: Exception) -> Reason:
    if isinstance(error, FileNotFoundError):
        return Reason.CORPUS_MISSING
    words = str(error)
    missing = ("Mandatory parameter", "mandatory", "Please set the property", "targets no index")
    return Reason.PARAMETER_MISSING if any(text in words for text in missing) else Reason.TRACK_INVALID


def parameter_source(track: Any, leaf: Any) -> Any:
    """Return Rally's parameter source of a task, made once for each operation; raises what the track's code raises.

    Some read files of many megabytes, and many tasks share an operation.
    """
    operation = leaf.operation
    key = (id(operation), "" if operation.param_source else leaf.name)
    if key not in _SOURCES:
        _SOURCES[key] = operation, loader.operation_parameters(track, leaf)
    return _SOURCES[key][1]


_SOURCES: dict[tuple[int, str], tuple[Any, Any]] = {}
"""The operation is kept with its source, so that its id stays its own."""


def _rule(error: Exception) -> str:
    return "" if _reason(error) is Reason.PARAMETER_MISSING else "task-parameters"


def _cure(error: Exception) -> str:
    return "Put the file beside track.json" if isinstance(error, FileNotFoundError) else ""


def _error_sentence(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"there is no {error}, neither in Rally nor in track.py"
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"its parameters come from the file {Path(error.filename).name}, which is not in the track"
    return str(getattr(error, "full_message", None) or error or type(error).__name__)
