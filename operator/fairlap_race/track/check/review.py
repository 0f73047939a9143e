"""Everything that is wrong or doubtful in a track, before a cluster is built for it, with file and line.

Run as `python -m fairlap_race.track.check.review REQUEST.json ANSWER.json` in a process of its own, because loading a
track runs the track's own Python code. The request is a `load.Request`, the answer a `Review`. The check step of a
Benchmark ends with the first error; `fairlap track check` shows all of them, and the warnings.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from esrally.track import loader

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.some_of import some_of
from fairlap_race.contract.specification.race_spec import RACED_AGAIN
from fairlap_race.track.check.diagnose import TEMPLATE_LISTS, body_errors, check_track_file, explain
from fairlap_race.track.check.documents import corpus_errors, corpus_file, used_documents
from fairlap_race.track.check.facts import track_facts
from fairlap_race.track.check.finding import Finding, FoundError, finding
from fairlap_race.track.check.json_paths import JsonPath, operation_path, task_path
from fairlap_race.track.check.lint import Remark, lint
from fairlap_race.track.check.source_map import Rendered, Templates
from fairlap_race.track.check.tasks import (
    PackageMissingError,
    load,
    load_plugins,
    missing_tasks,
    nothing_measured,
    task_errors,
    unsweepable,
)
from fairlap_race.track.check.text import duplicate_keys, quoted, text_counts, windows_line
from fairlap_race.track.check.undefined import EmptyVariable, empty_variables
from fairlap_race.track.child import answer_parent
from fairlap_race.track.effects import changes_of_what_is_left, deleted_at_last
from fairlap_race.track.load import TRACK_FILE, Request, TrackDescription, action_of, describe, rally_config

_LISTED = 5
_HEAD_BYTES = 64 * 1024
"""of a large corpus; its lines all end alike"""
_SMALL_BYTES = 1024 * 1024
_MUSTACHE = ("_ingest/pipeline", "_scripts", "_watcher", "_search/template", "_render")
"""Parts of Elasticsearch's paths whose bodies have Mustache templates."""


@dataclass(frozen=True)
class Review:
    """What the track is and what was found, in the order in which it was looked for, each once."""

    answer: TrackDescription = field(default_factory=TrackDescription)
    errors: tuple[Finding, ...] = ()
    """with a reason each; the track cannot be raced, or not with a valid result"""
    warnings: tuple[Finding, ...] = ()


def review(request: Request) -> Review:
    """Return what the track of `request` is and what is wrong with it; nothing is raised for a bad track."""
    answer = describe(request)
    found = list(_findings(request, answer, Templates(Path(request.track_path), answer.params or request.params)))
    unique = list(dict.fromkeys(found))
    errors = tuple(each for each in unique if each.reason is not None)
    if request.raced_again and not errors and answer.error is None:
        errors = tuple(_errors_again(request, answer))
    return Review(answer, errors, tuple(each for each in unique if each.reason is None))


def _errors_again(request: Request, answer: TrackDescription) -> Iterator[Finding]:
    """Yield what keeps tasks from being raced alone, again and again, on the cluster that the challenge leaves."""
    track = load(request, answer.params)
    challenge = track.find_challenge_or_default(request.challenge or "")
    leaves = [leaf for element in challenge.schedule for leaf in element]
    try:
        actions = [action_of(request, track, leaf) for leaf in leaves]
        changes, deleted = changes_of_what_is_left(actions, request.raced_again), deleted_at_last(actions)
    except Exception as error:  # whatever values the track gives its operations
        what = f"{RACED_AGAIN}: what the tasks of the challenge do cannot be told: {type(error).__name__}: {error}"
        cure = "Look at the parameters of its operations, such as a composite's"
        yield finding(Reason.TRACK_INVALID, what, cure, field=RACED_AGAIN)
        return
    if deleted and not changes:
        what = f"{RACED_AGAIN}: at its end the challenge has deleted what its tasks read: {some_of(deleted, _LISTED)}"
        cure = "Leave that out (race.excludeTasks), or write design.state: Fresh"
        yield finding(Reason.INVALID_SPEC, what, cure, field=RACED_AGAIN)
        return
    if changes:
        listed = "; ".join(f"task {task} {what}" for task, what in changes.items())
        cure = (
            "Leave it out there: it is run once, when the cluster is filled; to measure it in each race write "
            "design.state: Fresh"
        )
        what = f"{RACED_AGAIN}: {listed}, so that each race would find another cluster than the one before"
        yield finding(Reason.INVALID_SPEC, what, cure, field=RACED_AGAIN)
        return
    names = request.raced_again
    alone = replace(
        request,
        include_tasks=names,
        exclude_tasks=(),
        require_tasks=names,
        allowed_tasks=(),
        raced_again=(),
        touches=True,
    )
    for each in review(alone).errors:
        yield replace(each, message=f"{RACED_AGAIN}: raced alone: {each.message}", field=RACED_AGAIN)


def _findings(request: Request, answer: TrackDescription, templates: Templates) -> Iterator[Finding]:
    yield from _file_findings(templates.track)
    try:
        missing = _missing_package(request, answer)
        if answer.error is not None and missing is None:
            explain(request, answer, templates)
        spec, rendered = check_track_file(templates)
        if missing is not None:
            yield _needs_packages(spec, f"No module named {missing!r}", rendered)
            for error in body_errors(templates, spec, rendered):
                raise error
            track = loader.TrackFileReader(rally_config(request, answer.params)).read(
                templates.track.name, str(templates.track / TRACK_FILE), str(templates.track)
            )
        else:
            track = load(request, answer.params)
    except FoundError as error:
        yield error.finding
        if error.finding.rule in ("file-missing", "json", "jinja2", "mustache-not-escaped"):
            yield from _other_bodies(templates, error.finding)
        return
    yield from _track_findings(request, answer, templates, track, spec, rendered, missing is None)


def _track_findings(
    request: Request,
    answer: TrackDescription,
    templates: Templates,
    track: Any,
    spec: dict[str, Any],
    rendered: Rendered,
    complete: bool,
) -> Iterator[Finding]:
    every = track.challenges if request.every_challenge else [track.find_challenge_or_default(request.challenge or "")]
    texts = _text_counts_of_track(templates, spec)
    added = load_plugins(request, answer.params) if complete and track.has_plugins else set()
    for challenge in every:
        for error in (
            *missing_tasks(request, challenge),
            *unsweepable(request, challenge),
            *nothing_measured(request, challenge),
        ):
            yield error.finding
        # Without its packages the track's own code could not say what it adds.
        if complete:
            for error in task_errors(request, track, challenge, rendered, added):
                if isinstance(error, PackageMissingError) and request.downloads and track.dependencies:
                    yield _needs_packages(spec, error.words, rendered)
                else:
                    yield error.finding
        for error in corpus_errors(request, track, challenge, rendered):
            yield error.finding
        # What a track would change is asked for only when the cluster is somebody's.
        facts = replace(track_facts(track, challenge, added, texts), existing_cluster=request.touches)
        for remark in lint(facts):
            yield _locate(remark, spec, challenge, rendered)
        for corpus, documents in used_documents(track, challenge):
            yield from _corpus_warnings(request, corpus, documents)
    texts_of = {TRACK_FILE: (spec, rendered)}
    for name in _bodies(templates, spec):
        body = templates.render(name, includes=False)
        texts_of[name] = json.loads(body.text), body
    yield from _text_findings(templates, texts_of)


def _locate(remark: Remark, spec: dict[str, Any], challenge: Any, rendered: Rendered) -> Finding:
    name = None if challenge.auto_generated else challenge.name
    task = task_path(spec, name, remark.task.name)
    operation = operation_path(spec, task, remark.task.operation)
    path = next((at for at in (task, operation) if at and remark.key in (_at(spec, at) or ())), operation or task)
    key = remark.key if path and remark.key in (_at(spec, path) or ()) else "name"
    place = rendered.place_of([*path, key]) if path else None
    return finding(remark.reason, remark.what, remark.cure, place.as_tuple() if place else None, remark.rule)


def _at(spec: Any, path: JsonPath) -> Any:
    for part in path:
        spec = spec[part]
    return spec if isinstance(spec, dict) else None


def _file_findings(track: Path) -> Iterator[Finding]:
    for path in sorted(track.rglob("*.json")):
        line = windows_line(path.read_bytes()) if _is_small(path) else None
        if line:
            yield _windows(path.relative_to(track).as_posix(), line)


def _is_small(path: Path) -> bool:
    return path.is_file() and path.stat().st_size <= _SMALL_BYTES


def _windows(name: str, line: int) -> Finding:
    what = "the line ends with CR LF, as Windows writes it, so the file has other bytes than its author's"
    cure = "Save it with LF; `*.json text eol=lf` in .gitattributes keeps git from changing it"
    return finding(None, what, cure, (name, line, ""), "windows-line-ends")


def _corpus_warnings(request: Request, corpus: str, documents: Any) -> Iterator[Finding]:
    path, _ = corpus_file(request, corpus, documents)
    small = path is not None and path.suffix == ".json" and _is_small(path)
    if path is None or (small and path.is_relative_to(request.track_path)):
        return  # looked at with the other files of the track
    with path.open("rb") as file:
        line = windows_line(file.read(_HEAD_BYTES))
    if line:
        yield _windows(path.name, line)


def _text_findings(templates: Templates, texts: Mapping[str, tuple[Any, Rendered]]) -> Iterator[Finding]:
    unset: dict[str, list[EmptyVariable]] = {}
    for name, (value, rendered) in texts.items():
        for offset, key in duplicate_keys(rendered.text):
            place = rendered.place(offset)
            what = f"the member {key!r} stands twice in the same object, and only the last one counts"
            yield finding(None, what, "Remove one", place.as_tuple() if place else None, "duplicate-key")
        for empty in empty_variables(templates, name, includes=name == TRACK_FILE):
            if _is_mustache(value, empty.path):
                yield _swallowed(empty)
            else:
                unset.setdefault(empty.name, []).append(empty)
    yield from map(_unset, unset.values())


def _swallowed(empty: EmptyVariable) -> Finding:
    what = f"{{{{ {empty.name} }}}} has no value, so that nothing is left of it in this text"
    cure = (
        "Put braces that are for Elasticsearch between {% raw %} and {% endraw %}; "
        "give a variable of the track a value with | default(…)"
    )
    place = empty.place.as_tuple() if empty.place else None
    return finding(Reason.TEMPLATE_ERROR, what, cure, place, "mustache-not-escaped")


def _unset(found: list[EmptyVariable]) -> Finding:
    first, more = found[0], len({empty.place for empty in found}) - 1
    others = f" and in {more} more line{'' if more == 1 else 's'}" if more else ""
    what = f"{{{{ {first.name} }}}} has no value, so that nothing is left of it in this text{others}"
    cure = "Pass it as a track parameter, give it a value with | default(…), or escape the braces with {% raw %}"
    return finding(None, what, cure, first.place.as_tuple() if first.place else None, "variable-without-value")


def _is_mustache(value: Any, path: JsonPath) -> bool:
    for part in path:
        if isinstance(value, dict):
            kind, target = value.get("operation-type"), str(value.get("path", ""))
            if kind == "put-pipeline" or (kind == "raw-request" and any(name in target for name in _MUSTACHE)):
                return True
        value = value[part]
    return False


def _missing_package(request: Request, answer: TrackDescription) -> str | None:
    """Return the module that the track's own code lacks here although the track asks for it to be installed."""
    if answer.error is None or not request.downloads or not (Path(request.track_path) / "track.py").is_file():
        return None
    try:
        load_plugins(request, answer.params)
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ModuleNotFoundError) and cause.name:
                reader = loader.TrackFileReader(rally_config(request, answer.params))
                path = Path(request.track_path)
                try:
                    asked = reader.read(path.name, str(path / TRACK_FILE), str(path)).dependencies
                except Exception:
                    return None
                return cause.name if asked else None
            cause = cause.__cause__ or cause.__context__
    return None


def _needs_packages(spec: dict[str, Any], missing: str, rendered: Rendered) -> Finding:
    names = ", ".join(map(str, spec.get("dependencies", ())))
    place = rendered.place_of(["dependencies"])
    what = f"{missing}: what the track's own code adds was not checked"
    cure = (
        f"Install {names} beside Rally, and a race image needs them too; if it is a module of the track's repository, "
        "put it beside the track"
    )
    return finding(None, what, cure, place.as_tuple() if place else None, "dependencies")


def _other_bodies(templates: Templates, first: Finding) -> Iterator[Finding]:
    # track.json may be in order although a file that it names is not; then the other files are looked at too.
    try:
        spec, rendered = check_track_file(templates)
    except FoundError:
        return
    yield from (error.finding for error in body_errors(templates, spec, rendered) if error.finding != first)


def _bodies(templates: Templates, spec: dict[str, Any]) -> Iterator[str]:
    names = (element.get(key) for member, key in TEMPLATE_LISTS for element in spec.get(member, []))
    yield from dict.fromkeys(name for name in names if isinstance(name, str) and (templates.track / name).is_file())


def _text_counts_of_track(templates: Templates, spec: dict[str, Any]) -> Counter[str]:
    found = text_counts(spec)
    for name in _bodies(templates, spec):
        try:
            found += text_counts(json.loads(templates.render(name, includes=False).text))
        except Exception:  # noqa: S112 - body_errors says what is wrong with it
            continue
    for path in sorted(filter(Path.is_file, templates.track.rglob("*.py"))):
        found += quoted(path.read_text(encoding="utf-8", errors="replace"))
    return found


def main() -> None:
    """Read the request file, write the answer file."""
    logging.disable(logging.CRITICAL)
    answer_parent(Request, review)


if __name__ == "__main__":
    main()
