"""Loads a track exactly as Rally does and says what it is: its parameters, challenges, tasks and documents.

Run as `python -m fairlap_race.track.load REQUEST.json ANSWER.json`, in a process of its own, because
loading a track runs the track's own Python code. Rally is imported by its functions, not by the module, because
`Request` and `TrackDescription` are needed where there is no Rally.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlap_race.contract.index_settings import NO_PIPELINE
from fairlap_race.contract.recorded.record import Touch
from fairlap_race.contract.recorded.track_record import TrackTask
from fairlap_race.contract.specification.document_plan import DocumentPlan, WhyUncounted
from fairlap_race.contract.specification.race_spec import REPLAY, IndexSpec
from fairlap_race.contract.specification.sweep import SweepSpec
from fairlap_race.corpora.need import CorpusFile
from fairlap_race.rally import releases, sweep_steps
from fairlap_race.track import effects as touches
from fairlap_race.track.child import answer_parent
from fairlap_race.track.document_effects import TEMPLATE_DELETIONS, WHOLE_DELETIONS, Act, BulkFacts, foresee
from fairlap_race.track.settings_passed import (
    INDEX_SETTINGS,
    NO_SETTINGS,
    ContradictionError,
    TrackSettings,
    asked,
    passed,
)

TRACK_FILE = "track.json"


@dataclass(frozen=True)
class Request:
    """What to load."""

    track_path: str = ""
    challenge: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    """the user's track parameters"""
    include_tasks: tuple[str, ...] = ()
    exclude_tasks: tuple[str, ...] = ()
    require_tasks: tuple[str, ...] = ()
    """names of tasks that must be left of the challenge"""
    raced_again: tuple[str, ...] = ()
    """names of tasks that will be raced alone, again and again, on the cluster that the whole challenge leaves"""
    allowed_tasks: tuple[str, ...] = ()
    """names of tasks that may have errors, which must be left of it, too"""
    sweep: SweepSpec | None = None
    expands: bool = False
    """put the steps of the sweep in place of its task; else it is only looked whether that can be done"""
    test_mode: bool = False
    index: IndexSpec = field(default_factory=IndexSpec)
    build_flavor: str = "default"
    data_cache: str = ""
    downloads: bool = False
    """Corpora with a base-url need not be there: they are downloaded before the race."""
    every_challenge: bool = False
    """All challenges are looked at, not only the one that would be raced."""
    touches: bool = False
    """find out what the track changes on the cluster, too"""
    replayed_writes: tuple[str, ...] | None = None
    """of the builtin track replay: method and path of its requests that do more than read; None for other tracks"""
    generated: bool = False
    """The documents were generated for these parameters, by the generator that ships with the track."""


@dataclass(frozen=True)
class TrackDescription:
    """What was found; with `error` set, everything that was found before it."""

    error: str | None = None
    """Rally's own words"""
    error_type: str | None = None
    """name of Rally's exception, or 'Contradiction'"""
    exposed_params: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    """track parameters to pass to Rally"""
    passed_as: Mapping[str, str] = field(default_factory=dict)
    """for each index setting that was asked for the track parameter that carries it; "" when there is none"""
    name: str | None = None
    challenge: str | None = None
    challenges: tuple[str, ...] = ()
    tasks: tuple[TrackTask, ...] = ()
    sleeps: tuple[str, ...] = ()
    """tasks that only wait"""
    expected_documents: Mapping[str, int] | None = None
    documents: DocumentPlan = field(default_factory=DocumentPlan)
    pipelines: tuple[str, ...] = ()
    pipeline_documents: Mapping[str, int] = field(default_factory=dict)
    """documents that the bulk tasks send through each ingest pipeline, where the track determines it"""
    touches: tuple[Touch, ...] = ()
    """what the tasks create, write to and delete"""
    unforeseen: tuple[str, ...] = ()
    """tasks whose effects cannot be told"""
    corpora: tuple[CorpusFile, ...] = ()
    """files of documents that the tasks use"""
    left_to_rally: str = ""
    """why the files of documents are not known"""
    own_code: bool = False
    """the track brings Python code, which may fetch more than its corpora"""


def track_params(
    request: Request, exposed: tuple[str, ...], track: TrackSettings = NO_SETTINGS
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the parameters for Rally (the user's, those for the index settings, and strict errors), and for each index
    setting the parameter that carries it.

    Raises ContradictionError when a user's parameter contradicts an index setting.
    """
    params, passed_as = passed(request.index, request.params, exposed, track)
    if "error_level" in exposed:
        # Else many tracks make --on-error=abort a --on-error=continue.
        params.setdefault("error_level", "")
    return params, passed_as


def describe(request: Request) -> TrackDescription:
    """Return what the track of `request` is. Errors of the track are in the answer, not raised."""
    found: dict[str, Any] = {}
    try:
        _load(request, found)
    except ContradictionError as error:
        return TrackDescription(error=str(error), error_type="Contradiction", **found)
    except Exception as error:
        full = getattr(error, "full_message", None) or str(error)
        return TrackDescription(error=full, error_type=type(error).__name__, **found)
    return TrackDescription(**found)


def _load(request: Request, found: dict[str, Any]) -> None:
    from esrally.track import loader  # noqa: PLC0415

    path = Path(request.track_path)
    reader = loader.TrackFileReader(rally_config(request, request.params))
    # A first reading finds the parameters, those of index bodies and templates too; the second shows any error again.
    with contextlib.suppress(Exception):
        reader.read(path.name, str(path / TRACK_FILE), str(path))
    found["exposed_params"] = tuple(reader.complete_track_params.sorted_track_defined_params)
    params, found["passed_as"] = track_params(request, found["exposed_params"], _own_settings(request, found))
    found["params"] = params
    track = loader.load_track(rally_config(request, params))
    expand_if_asked(request, track)
    found["name"] = track.name
    found["challenges"] = tuple(challenge.name for challenge in track.challenges)
    challenge = track.find_challenge_or_default(request.challenge or "")
    found["challenge"] = None if challenge.auto_generated else challenge.name
    leaves = [leaf for element in challenge.schedule for leaf in element]
    found["tasks"] = tuple(_planned(challenge.schedule))
    found["sleeps"] = tuple(leaf.name for leaf in leaves if leaf.operation.type == "sleep")
    acts = _acts(request, track, challenge)
    found["expected_documents"], found["documents"] = foresee(acts)
    through = _through_pipelines(acts)
    found["pipelines"] = tuple(sorted(through))
    found["pipeline_documents"] = {name: documents for name, documents in through.items() if documents is not None}
    if request.touches:
        found["touches"], found["unforeseen"] = touches.touches(action_of(request, track, leaf) for leaf in leaves)
    found["own_code"] = bool(track.has_plugins)
    found["corpora"], found["left_to_rally"] = _corpora(request, params, track)


def _planned(schedule: Iterable[Any]) -> Iterator[TrackTask]:
    """Yield the tasks of Rally's schedule in their order."""
    parallels = 0
    for element in schedule:
        is_parallel = hasattr(element, "tasks")
        parallels += is_parallel
        for leaf in element:
            yield TrackTask(
                name=leaf.name,
                operation=leaf.operation.name,
                type=str(leaf.operation.type),
                clients=leaf.clients,
                reported=bool(leaf.operation.include_in_reporting),
                parallel=parallels if is_parallel else None,
            )


def expand_if_asked(request: Request, track: Any) -> None:
    """Put the steps of the sweep of `request`, if it has one to put there, into Rally's `track`."""
    if request.sweep and request.expands:
        sweep_steps.expand(track, request.challenge, request.sweep)


def _corpora(request: Request, params: Mapping[str, Any], track: Any) -> tuple[tuple[CorpusFile, ...], str]:
    """Return the files of documents that the tasks use, and a sentence when the track's own code keeps us from it."""
    from esrally.track import loader  # noqa: PLC0415

    nothing: dict[str, Any] = dict.fromkeys(
        ("register_runner", "register_scheduler", "register_track_processor"), lambda *_, **__: None
    )
    try:
        if track.has_plugins:
            loader.load_track_plugins(rally_config(request, params), Path(request.track_path).name, **nothing)
        used = list(loader.used_corpora(track))
    except Exception as error:
        if not track.has_plugins:
            return (), ""
        # What the code needs may be installed by Rally only when the race begins; then Rally downloads, too.
        return (), f"the corpora are left to Rally, since the track's code could not be asked: {error}"
    files = tuple(
        CorpusFile(
            corpus=corpus.name,
            document_file=documents.document_file,
            document_archive=documents.document_archive,
            base_url=documents.base_url,
            compressed_bytes=documents.compressed_size_in_bytes,
            uncompressed_bytes=documents.uncompressed_size_in_bytes,
            lines=documents.number_of_lines,
        )
        for corpus in used
        for documents in corpus.documents
        if documents.is_bulk
    )
    return files, ""


def _own_settings(request: Request, found: Mapping[str, Any]) -> TrackSettings:
    """Return the settings of the track as it is without ours; nothing when it cannot be loaded that way."""
    from esrally.track import loader  # noqa: PLC0415

    if INDEX_SETTINGS not in found["exposed_params"] or not asked(request.index):
        return NO_SETTINGS
    try:
        track = loader.load_track(rally_config(request, request.params))
        challenge = track.find_challenge_or_default(request.challenge or "")
    except Exception:
        return NO_SETTINGS  # the second loading shows the error
    operations = [leaf.operation for element in challenge.schedule for leaf in element]
    bodies = [index.body.get("settings") for index in track.indices if isinstance(index.body, Mapping)]
    return TrackSettings(
        create=[op.params.get("settings") or {} for op in operations if str(op.type) == "create-index"],
        bodies=[body for body in bodies if isinstance(body, Mapping)],
    )


def rally_config(request: Request, params: Mapping[str, Any]) -> Any:
    """Return Rally's configuration for loading the track of `request` with the track parameters `params`."""
    from esrally import config, paths  # noqa: PLC0415

    settings: dict[tuple[str, str], Any] = {
        ("node", "rally.root"): paths.rally_root(),
        ("system", "offline.mode"): True,
        ("benchmarks", "local.dataset.cache"): request.data_cache,
        ("track", "track.path"): request.track_path,
        ("track", "repository.name"): None,
        ("track", "params"): dict(params),
        ("track", "challenge.name"): request.challenge,
        ("track", "include.tasks"): list(request.include_tasks),
        ("track", "exclude.tasks"): list(request.exclude_tasks),
        ("track", "test.mode.enabled"): request.test_mode,
        ("mechanic", "distribution.flavor"): request.build_flavor,
    }
    cfg = config.Config()
    for (section, key), value in settings.items():
        cfg.add(config.Scope.application, section, key, value)
    return cfg


def _replayed(request: Request, leaf: Any) -> dict[str, Any] | None:
    """Return what the task of a replay sends that does more than read, as a composite operation; None for others."""
    if request.replayed_writes is None or leaf.operation.param_source != REPLAY:
        return None
    sent = [text.partition(" ") for text in request.replayed_writes]
    return {"requests": [{"operation-type": "raw-request", "method": it[0], "path": it[2]} for it in sent]}


def _acts(request: Request, track: Any, challenge: Any) -> list[Act]:
    """Return the tasks of a challenge, in their order, as far as they concern documents."""
    found = []
    for element in challenge.schedule:
        for leaf in element:
            kind = str(leaf.operation.type)
            bulk = _bulk_facts(track, element, leaf) if kind == "bulk" else None
            if (replayed := _replayed(request, leaf)) is not None:
                found.append(Act(leaf.name, "composite", replayed))
            else:
                found.append(Act(leaf.name, kind, _params(track, leaf), bulk))
    return found


def _params(track: Any, leaf: Any) -> Mapping[str, Any]:
    """Return the parameters of a task; of a deletion those that Rally makes of the track's own indices or templates."""
    from esrally.track import loader  # noqa: PLC0415

    deletes = str(leaf.operation.type) in (*TEMPLATE_DELETIONS, *WHOLE_DELETIONS)
    if deletes and not leaf.operation.param_source:
        with contextlib.suppress(Exception):  # Rally shows the error when it races
            return dict(loader.operation_parameters(track, leaf).params())
    return dict(leaf.operation.params)


def _through_pipelines(acts: list[Act]) -> dict[str, int | None]:
    """Return how many documents the bulks send through each pipeline; None when the track does not determine it."""
    counts: dict[str, int | None] = {}
    for bulk in (act.bulk for act in acts if act.bulk):
        name = bulk.pipeline
        if name is None or name in NO_PIPELINE:
            continue
        before, added = counts.get(name, 0), sum(documents for _, documents in bulk.documents)
        counts[name] = None if bulk.why or before is None else before + added
    return counts


def _bulk_facts(track: Any, element: Any, leaf: Any) -> BulkFacts:
    from esrally.track import params as parameters  # noqa: PLC0415

    named = leaf.operation.params.get("pipeline")
    pipeline = named if isinstance(named, str) else None
    if leaf.operation.param_source:
        return BulkFacts(why=WhyUncounted.OWN_CODE, pipeline=pipeline)
    source = parameters.BulkIndexParamSource(track, dict(leaf.operation.params))
    added: dict[str, int] = {}
    streams: set[str] = set()
    for documents in (each for corpus in source.corpora for each in corpus.documents):
        by_line = documents.includes_action_and_meta_data
        target = "" if by_line else documents.target_data_stream or documents.target_index or ""
        added[target] = added.get(target, 0) + documents.number_of_documents
        if target and target == documents.target_data_stream:
            streams.add(target)
    why = next(
        (
            reason
            for reason, holds in (
                (WhyUncounted.BEGINS_AGAIN, releases.repeats(source)),
                (WhyUncounted.ENDED_BY_OTHER, _is_ended(element, leaf)),
                (WhyUncounted.ENDED_BY_TIME, leaf.iterations or leaf.time_period),
                (WhyUncounted.ID_CONFLICTS, source.id_conflicts != parameters.IndexIdConflict.NoConflicts),
                (WhyUncounted.ACTION_LINES, "" in added),
                (WhyUncounted.PART_OF_CORPUS, source.ingest_percentage != 100),
                (WhyUncounted.PART_OF_CORPUS, releases.documents_wanted(source) is not None),
            )
            if holds
        ),
        None,
    )
    return BulkFacts(tuple(added.items()), why, pipeline, frozenset(streams))


def _is_ended(element: Any, leaf: Any) -> bool:
    """Tell whether another client may end a task: the task that completed-by names runs to its own end."""
    # The older release of Rally knows nothing of "any".
    anybody = getattr(leaf, "any_completes_parent", False)
    others = [other for other in element if other is not leaf]
    if anybody:
        return bool(others) or leaf.clients > 1
    return any(other.completes_parent for other in others)


def action_of(request: Request, track: Any, leaf: Any) -> touches.Action:
    """Return what a task of Rally's `track` does to a cluster, as far as it can be told."""
    from esrally.track import loader  # noqa: PLC0415

    if (replayed := _replayed(request, leaf)) is not None:
        return touches.Action(leaf.name, "composite", params=replayed)
    kind, own_code = str(leaf.operation.type), bool(leaf.operation.param_source)
    if kind == "bulk":
        return touches.Action(leaf.name, kind, bulk=None if own_code else _bulk_targets(track, leaf))
    if own_code or kind not in touches.RESOLVED:
        return touches.Action(leaf.name, kind)
    return touches.Action(leaf.name, kind, params=loader.operation_parameters(track, leaf).params())


def _bulk_targets(track: Any, leaf: Any) -> tuple[tuple[str, str], ...] | None:
    from esrally.track import params as parameters  # noqa: PLC0415

    found: dict[tuple[str, str], None] = {}
    for corpus in parameters.BulkIndexParamSource(track, dict(leaf.operation.params)).corpora:
        for documents in corpus.documents:
            stream, index = documents.target_data_stream, documents.target_index
            if documents.includes_action_and_meta_data or not (stream or index):
                return None
            found[(touches.DATA_STREAM, stream) if stream else (touches.INDEX, index)] = None
    return tuple(found)


def main() -> None:
    """Read the request file, write the answer file."""
    logging.disable(logging.CRITICAL)
    answer_parent(Request, describe)


if __name__ == "__main__":
    main()
