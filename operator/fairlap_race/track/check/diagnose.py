"""Finds out in which file and line a track is wrong that Rally refuses to load, in words that help."""

from __future__ import annotations

import difflib
import json
import re
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jinja2
import jsonschema
from esrally import paths
from esrally.track import loader

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.some_of import some_of
from fairlap_race.rally.classify import classify_track
from fairlap_race.track.check.finding import FoundError, json_cure, template_cure, template_rule
from fairlap_race.track.check.json_paths import task_path
from fairlap_race.track.check.source_map import Place, Rendered, Templates, unclosed_line
from fairlap_race.track.check.tasks import check_tasks, load, load_plugins
from fairlap_race.track.lfs import LFS_POINTER, is_lfs_pointer
from fairlap_race.track.load import TRACK_FILE, Request, TrackDescription

TEMPLATE_LISTS = (
    ("indices", "body"),
    ("templates", "template"),
    ("composable-templates", "template"),
    ("component-templates", "template"),
)
"""Members of track.json whose elements name a template file, and how they call it."""


_MOST_TEMPLATE_BYTES = 16 << 20


def explain(request: Request, answer: TrackDescription, templates: Templates) -> None:
    """Raise FoundError for the error that Rally found."""
    if answer.error_type == "Contradiction":
        raise FoundError(Reason.INVALID_SPEC, str(answer.error), "Give it only once")
    spec, rendered = check_track_file(templates)
    for error in body_errors(templates, spec, rendered):
        raise error
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


def check_track_file(templates: Templates) -> tuple[dict[str, Any], Rendered]:
    """Return track.json as JSON and as it was rendered; raises FoundError when it is not what Rally's schema says."""
    for name in _text_files(templates):
        _check_syntax(templates.track / name, name)
    rendered = _render(templates, TRACK_FILE, includes=True)
    spec = _parse(templates, rendered, TRACK_FILE)
    if not isinstance(spec, dict):
        raise FoundError(Reason.TRACK_INVALID, "track.json must be one JSON object, in braces", rule="json")
    schema = json.loads((Path(paths.rally_root()) / "resources" / "track-schema.json").read_text(encoding="utf-8"))
    errors = jsonschema.validators.validator_for(schema)(schema).iter_errors(spec)
    worst = jsonschema.exceptions.best_match(errors)
    if worst is not None:
        path = list(worst.absolute_path)
        what = f"{_dotted(path)}: {worst.message[-300:]}"
        raise FoundError(Reason.TRACK_INVALID, what, _schema_cure(worst), _place(rendered.place_of(path)), "schema")
    return spec, rendered


def body_errors(templates: Templates, spec: dict[str, Any], rendered: Rendered) -> Iterator[FoundError]:
    """Yield an error for each file named in track.json that is not there or is no JSON once it is rendered."""
    for member, key in TEMPLATE_LISTS:
        for number, element in enumerate(spec.get(member, [])):
            if isinstance(element.get(key), str):
                try:
                    _check_body(templates, element[key], rendered, [member, number, key])
                except FoundError as error:
                    yield error


def _check_body(templates: Templates, name: str, rendered: Rendered, path: list[str | int]) -> None:
    if not (templates.track / name).is_file():
        cure = f"The files of the track are: {_listing(templates.track)}"
        what = f"there is no file {name} in the track"
        raise FoundError(Reason.TRACK_INVALID, what, cure, _place(rendered.place_of(path)), "file-missing")
    _check_syntax(templates.track / name, name)
    _parse(templates, _render(templates, name, includes=False), name)


def _text_files(templates: Templates) -> list[str]:
    """Return track.json and all that it collects; raises FoundError for the first of them that is no text."""
    _text(templates.track / TRACK_FILE, TRACK_FILE)
    try:
        return templates.files(TRACK_FILE)
    except UnicodeDecodeError:
        for path in sorted(templates.track.rglob("*.json")):
            # A large one is no template, but documents.
            if path.is_file() and path.stat().st_size <= _MOST_TEMPLATE_BYTES:
                _text(path, path.relative_to(templates.track).as_posix())
        raise


def _text(path: Path, name: str) -> str:
    if is_lfs_pointer(path):
        cure = "Put the track with the whole file on a volume, or the file into the repository without Git LFS"
        raise FoundError(Reason.TRACK_INVALID, f"{name} {LFS_POINTER}", cure, (name, 1, ""), "git-lfs")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        what = f"{name} is not UTF-8 text: {error}"
        raise FoundError(Reason.TRACK_INVALID, what, "Save it as UTF-8", (name, 1, ""), "utf-8") from None


def _check_syntax(path: Path, name: str) -> None:
    environment = jinja2.Environment()  # noqa: S701 - JSON, not HTML
    environment.filters.update(loader.default_internal_template_vars()["filters"])
    text = _text(path, name)
    try:
        environment.compile(text)
    except jinja2.TemplateSyntaxError as error:
        number = unclosed_line(environment, text) if "end of template" in str(error.message) else None
        number = number or error.lineno
        line = (text.split("\n")[number - 1 : number] or [""])[0].strip()
        what = f"Jinja2: {error.message}"
        place = (name, number, line)
        raise FoundError(Reason.TEMPLATE_ERROR, what, template_cure(what), place, "jinja2") from None


def _render(templates: Templates, name: str, includes: bool) -> Rendered:
    try:
        return templates.render(name, includes)
    except jinja2.TemplateNotFound as error:
        what, cure = f"there is no file {error} to include", f"The files of the track are: {_listing(templates.track)}"
        place = _place(_template_place(templates, name))
        raise FoundError(Reason.TRACK_INVALID, what, cure, place, "file-missing") from None
    except Exception as error:
        what = f"Jinja2: {error}"
        place = _place(_template_place(templates, name))
        raise FoundError(Reason.TEMPLATE_ERROR, what, template_cure(what), place, template_rule(what)) from None


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
                lines, number = templates.source_lines(name), frame.lineno or 0
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
                Reason.TRACK_INVALID,
                f"rally.collect finds no file {unmatched[0]}",
                cure,
                unmatched[1].as_tuple(),
                "file-missing",
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
        raise FoundError(Reason.TRACK_INVALID, what, cure, _place(place), "json") from None
    except RecursionError:
        what = f"{name} is nested deeper than Rally reads once it is rendered"
        raise FoundError(Reason.TRACK_INVALID, what, "Write it flatter", (name, 1, ""), "json") from None
    except ValueError as error:  # a number of more digits than Python reads
        what = f"{name} cannot be read once it is rendered: {str(error).partition(';')[0]}"
        raise FoundError(Reason.TRACK_INVALID, what, "Write a smaller number", (name, 1, ""), "json") from None


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
    bodies = [e[key] for member, key in TEMPLATE_LISTS for e in spec.get(member, []) if isinstance(e.get(key), str)]
    for name in [TRACK_FILE, *bodies]:
        source = loader.TemplateSource(str(templates.track), name)
        source.load_template_from_file()
        loader.register_all_params_in_track(source.assembled_source, complete)
    # Rally 2.3 does not tell them apart.
    reserved = sorted(getattr(complete, "internal_user_defined_track_params", tuple)())
    if reserved:
        raise FoundError(Reason.UNKNOWN_PARAMETER, f"params.{reserved[0]}: Rally itself sets this one", "Remove it")
    known = sorted(set(complete.sorted_track_defined_params) - set(loader.default_internal_template_vars()["globals"]))
    unused = sorted(set(templates.params) - set(known))
    if unused:
        what = f"params.{unused[0]}: the track has no such parameter"
        cure = f"{_similar(unused[0], known)}It has: {', '.join(known) or 'none'}"
        raise FoundError(Reason.UNKNOWN_PARAMETER, what, cure)


def _explain_tasks(request: Request, answer: TrackDescription, rendered: Rendered) -> None:
    """Raise FoundError when the track can be loaded, but a task of it cannot run."""
    try:
        track = load(request, answer.params)
    except Exception:
        return
    check_tasks(request, track, rendered)


def _explain_plugins(request: Request, answer: TrackDescription) -> None:
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
                raise FoundError(Reason.TRACK_INVALID, what, "Correct the Python code", place, "python") from None
            for frame in reversed(traceback.extract_tb(cause.__traceback__)):
                own = _own_place(track, frame)
                if own:
                    cure = "Correct the Python code"
                    if isinstance(cause, ModuleNotFoundError):
                        cure = "There are the track's own modules, Rally and what Rally needs, and Python's own"
                    raise FoundError(Reason.TRACK_INVALID, what, cure, _place(own), "python") from None
            cause = cause.__cause__ or cause.__context__


def _named_place(error: str, spec: dict[str, Any], rendered: Rendered) -> Place | None:
    # Rally's own words quote names: a task of a challenge leads to its line, else the least general name does.
    names = [a or b for a, b in re.findall(r"'([^'\n]{1,80})'|\[([^\]\n]{1,80})\]", error)]
    challenges = {c.get("name") for c in spec.get("challenges", [])}
    named = next((name for name in names if name in challenges), None)
    for name in names:
        path = task_path(spec, named, name) if name != named else None
        if path:
            return rendered.place_of(path)
    if "No default challenge" in error:
        return rendered.place_of(["challenges"])
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
    return some_of(names, 20)
