"""Finds out what is wrong with a track before a cluster is built for it, and in which file and line.

Rally decides whether a track is in order; this module says where it is not, in words that help. Run as
`python -m esbench_race.track_diagnose REQUEST.json ANSWER.json` in a process of its own, because loading a track runs
the track's own Python code. The request is a `describe.Request`, the answer a `Diagnosis`.
"""

from __future__ import annotations

import difflib
import json
import logging
import re
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
import jsonschema
from esrally import paths
from esrally.track import loader

from esbench_race.classify import classify_track
from esbench_race.codec import decode, encode
from esbench_race.describe import Answer, Request, describe
from esbench_race.reasons import Reason
from esbench_race.track_corpora import check_corpora
from esbench_race.track_finding import Finding, FoundError, json_cure, template_cure
from esbench_race.track_source import Place, Rendered, Templates
from esbench_race.track_tasks import check_tasks, load, load_plugins

TRACK_FILE = "track.json"
_TEMPLATE_LISTS = (
    ("indices", "body"),
    ("templates", "template"),
    ("composable-templates", "template"),
    ("component-templates", "template"),
)
"""Members of track.json whose elements name a template file, and how they call it."""


@dataclass(frozen=True)
class Diagnosis:
    """What the track is, and its first error."""

    answer: Answer = field(default_factory=Answer)
    finding: Finding | None = None


def diagnose(request: Request) -> Diagnosis:
    """Return what the track of `request` is and what is wrong with it; nothing is raised for a bad track."""
    answer = describe(request)
    templates = Templates(Path(request.track_path), answer.params or request.params)
    try:
        if answer.error is not None:
            _explain(request, answer, templates)
        rendered = templates.render(TRACK_FILE, includes=True)
        track = load(request, answer.params)
        check_tasks(request, track, rendered)
        check_corpora(request, track, rendered)
    except FoundError as error:
        return Diagnosis(answer, error.finding)
    return Diagnosis(answer)


def _explain(request: Request, answer: Answer, templates: Templates) -> None:
    """Raise FoundError for the error that Rally found."""
    if answer.error_type == "Contradiction":
        raise FoundError(Reason.INVALID_SPEC, str(answer.error), "Give it only once")
    spec, rendered = _check_track_file(templates)
    _check_bodies(templates, spec, rendered)
    reason = classify_track(str(answer.error))
    if reason is Reason.UNKNOWN_CHALLENGE:
        known = ", ".join(answer.challenges)
        what = f"the track has no challenge {request.challenge!r}"
        raise FoundError(reason, what, f"{_similar(request.challenge or '', answer.challenges)}There are: {known}")
    if reason is Reason.UNKNOWN_PARAMETER:
        _explain_parameters(templates, spec)
    _explain_plugins(request, answer)
    _explain_tasks(request, answer, rendered)
    raise FoundError(reason, str(answer.error), place=_place(_named_place(str(answer.error), spec, rendered)))


def _check_track_file(templates: Templates) -> tuple[dict[str, Any], Rendered]:
    for name in templates.files(TRACK_FILE):
        _check_syntax(templates.track / name, name)
    rendered = _render(templates, TRACK_FILE, includes=True)
    spec = _parse(templates, rendered, TRACK_FILE)
    if not isinstance(spec, dict):
        raise FoundError(Reason.TRACK_INVALID, "track.json must be one JSON object, in braces")
    schema = json.loads((Path(paths.rally_root()) / "resources" / "track-schema.json").read_text(encoding="utf-8"))
    errors = jsonschema.validators.validator_for(schema)(schema).iter_errors(spec)
    worst = jsonschema.exceptions.best_match(errors)
    if worst is not None:
        path = list(worst.absolute_path)
        what = f"{_dotted(path)}: {worst.message[-300:]}"
        raise FoundError(Reason.TRACK_INVALID, what, _schema_cure(worst), _place(rendered.place_of(path)))
    return spec, rendered


def _check_bodies(templates: Templates, spec: dict[str, Any], rendered: Rendered) -> None:
    for member, key in _TEMPLATE_LISTS:
        for number, element in enumerate(spec.get(member, [])):
            name = element.get(key)
            if not isinstance(name, str):
                continue
            if not (templates.track / name).is_file():
                place = rendered.place_of([member, number, key])
                cure = f"The files of the track are: {_listing(templates.track)}"
                raise FoundError(Reason.TRACK_INVALID, f"there is no file {name} in the track", cure, _place(place))
            _check_syntax(templates.track / name, name)
            _parse(templates, _render(templates, name, includes=False), name)


def _check_syntax(path: Path, name: str) -> None:
    environment = jinja2.Environment()  # noqa: S701 - JSON, not HTML
    environment.filters.update(loader.default_internal_template_vars()["filters"])
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FoundError(Reason.TRACK_INVALID, f"{name} is not UTF-8 text: {error}", "Save it as UTF-8") from None
    try:
        environment.compile(text)
    except jinja2.TemplateSyntaxError as error:
        line = (text.split("\n")[error.lineno - 1 : error.lineno] or [""])[0].strip()
        what = f"Jinja2: {error.message}"
        raise FoundError(Reason.TRACK_INVALID, what, template_cure(what), (name, error.lineno, line)) from None


def _render(templates: Templates, name: str, includes: bool) -> Rendered:
    try:
        return templates.render(name, includes)
    except jinja2.TemplateNotFound as error:
        what, cure = f"there is no file {error} to include", f"The files of the track are: {_listing(templates.track)}"
        raise FoundError(Reason.TRACK_INVALID, what, cure, _place(_template_place(templates, name))) from None
    except Exception as error:
        what = f"Jinja2: {error}"
        place = _template_place(templates, name)
        raise FoundError(Reason.TRACK_INVALID, what, template_cure(what), _place(place)) from None


def _template_place(templates: Templates, name: str) -> Place | None:
    # Rendered once more without marks, because the line numbers in Jinja2's traceback are then those of the file.
    source = loader.TemplateSource(str(templates.track), name)
    source.load_template_from_file()
    internal = loader.default_internal_template_vars(
        glob_helper=lambda pattern: [p.relative_to(templates.track).as_posix() for p in templates.track.glob(pattern)]
    )
    files = jinja2.FileSystemLoader(str(templates.track))
    try:
        loader.render_template(source.assembled_source, templates.params, internal, loader=files)
    except Exception as error:
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if frame.filename == "<template>":
                lines, number = templates.lines(name), frame.lineno or 0
                return lines[number - 1] if 0 < number <= len(lines) else None
            place = _own_place(templates.track, frame)
            if place:
                return place
    return None


def _own_place(track: Path, frame: traceback.FrameSummary) -> Place | None:
    path = Path(frame.filename)
    if not path.is_relative_to(track) or not frame.lineno or not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return Place(path.relative_to(track).as_posix(), frame.lineno, lines[frame.lineno - 1].strip())


def _parse(templates: Templates, rendered: Rendered, name: str) -> Any:
    try:
        return json.loads(rendered.text)
    except json.JSONDecodeError as error:
        unmatched = templates.unmatched(name)
        if unmatched:
            cure = f"The files of the track are: {_listing(templates.track)}"
            raise FoundError(
                Reason.TRACK_INVALID, f"rally.collect finds no file {unmatched[0]}", cure, unmatched[1].as_tuple()
            ) from None
        at = min(error.pos, max(0, len(rendered.text.rstrip()) - 1))
        before = len(rendered.text[:at].rstrip()) - 1
        place, previous = rendered.place(at), rendered.place(max(0, before))
        # The parser stops at what follows a wrong or missing comma; the comma's own line is the one to correct.
        comma_too_many = before >= 0 and rendered.text[before] == "," and not error.msg.startswith("Expecting ','")
        comma_missing = error.msg.startswith("Expecting ','") and previous != place
        if comma_too_many or comma_missing:
            place = previous
        cure = json_cure(error.msg, place.text if place else "", comma_too_many)
        what = f"{place.file if place else name} is not JSON once it is rendered: {error.msg}"
        raise FoundError(Reason.TRACK_INVALID, what, cure, _place(place)) from None


def _schema_cure(error: Any) -> str:
    if error.validator == "minimum" and error.absolute_path and str(error.absolute_path[-1]).endswith("-bytes"):
        return "Leave the key out when the size is not known"
    if error.validator == "minItems":
        return "Leave the list out when it has no element"
    if error.validator == "required":
        return "Add it"
    if error.validator == "uniqueItems":
        return "Remove the element that is there twice"
    if error.validator == "type" and "{{" not in str(error.instance):
        return f"Write a value of the type {error.validator_value}; numbers stand without quotes"
    return ""


def _explain_parameters(templates: Templates, spec: dict[str, Any]) -> None:
    complete = loader.CompleteTrackParams(user_specified_track_params=templates.params)
    bodies = [e[key] for member, key in _TEMPLATE_LISTS for e in spec.get(member, []) if isinstance(e.get(key), str)]
    for name in [TRACK_FILE, *bodies]:
        source = loader.TemplateSource(str(templates.track), name)
        source.load_template_from_file()
        loader.register_all_params_in_track(source.assembled_source, complete)
    reserved = sorted(complete.internal_user_defined_track_params())
    if reserved:
        raise FoundError(Reason.UNKNOWN_PARAMETER, f"params.{reserved[0]}: Rally itself sets this one", "Remove it")
    known = sorted(set(complete.sorted_track_defined_params) - set(loader.default_internal_template_vars()["globals"]))
    unused = sorted(set(templates.params) - set(known))
    if unused:
        what = f"params.{unused[0]}: the track has no such parameter"
        cure = f"{_similar(unused[0], known)}It has: {', '.join(known) or 'none'}"
        raise FoundError(Reason.UNKNOWN_PARAMETER, what, cure)


def _explain_tasks(request: Request, answer: Answer, rendered: Rendered) -> None:
    """Raise FoundError when the track can be loaded, but a task of it cannot run."""
    try:
        track = load(request, answer.params)
    except Exception:
        return
    check_tasks(request, track, rendered)


def _explain_plugins(request: Request, answer: Answer) -> None:
    """Raise FoundError when the track's own Python code cannot be loaded."""
    track = Path(request.track_path)
    if not (track / "track.py").is_file():
        return
    try:
        load_plugins(request, answer.params)
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None:
            what = f"{type(cause).__name__}: {cause}"
            if isinstance(cause, SyntaxError) and cause.filename and Path(cause.filename).is_relative_to(track):
                name = Path(cause.filename).relative_to(track).as_posix()
                place = (name, cause.lineno or 1, (cause.text or "").strip())
                raise FoundError(Reason.TRACK_INVALID, what, "Correct the Python code", place) from None
            for frame in reversed(traceback.extract_tb(cause.__traceback__)):
                own = _own_place(track, frame)
                if own:
                    raise FoundError(Reason.TRACK_INVALID, what, "Correct the Python code", _place(own)) from None
            cause = cause.__cause__ or cause.__context__


def _named_place(error: str, spec: dict[str, Any], rendered: Rendered) -> Place | None:
    # Rally's own words quote names: the least general one that stands in the track leads to the line.
    names = [a or b for a, b in re.findall(r"'([^'\n]{1,80})'|\[([^\]\n]{1,80})\]", error)]
    challenges = {c.get("name") for c in spec.get("challenges", [])}
    for name in sorted(names, key=lambda n: n in challenges):
        place = rendered.place_of_text(name)
        if place:
            return place
    return None


def _place(place: Place | None) -> tuple[str, int, str] | None:
    return place.as_tuple() if place else None


def _dotted(path: Iterable[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.lstrip(".") or TRACK_FILE


def _similar(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"Did you mean {close[0]}? " if close else ""


def _listing(track: Path) -> str:
    names = sorted(path.relative_to(track).as_posix() for path in track.rglob("*") if path.is_file())
    return ", ".join(names[:20]) + (" …" if len(names) > 20 else "")


def main() -> None:
    """Read the request file, write the answer file."""
    logging.disable(logging.CRITICAL)
    request = decode(Request, json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    Path(sys.argv[2]).write_text(json.dumps(encode(diagnose(request))), encoding="utf-8")


if __name__ == "__main__":
    main()
