"""An existing cluster: what the first look at it says, which Rally speaks to it, and what a race leaves there."""

from collections.abc import Iterable
from typing import Literal

from fairlap.api.condition_types import ConditionReason, ConditionType
from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus, TargetStatus
from fairlap.plan.basis.conditions import Observation
from fairlap.plan.basis.seen import Seen
from fairlap.plan.basis.steps import is_preparation, steps
from fairlap.plan.verdict.judged import Judged, mark_failing
from fairlap.results.remarks import RaceRemark
from fairlap.settings import Settings
from fairlap_race.contract.rally_releases import MAIN, RELEASES, release_for
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record, TargetReport, Touch
from fairlap_race.contract.some_of import some_of

Removal = Literal["always", "onSuccess", "never"]


def judge_probe(seen: Seen, record: Record) -> Judged:
    """Return what follows from the first look at the target: what it is, and whether a Rally here speaks to it."""
    outcome, found = record.outcome, record.environment
    if outcome.reason:
        return _refused(seen, outcome.reason, outcome.message)
    version = found.version or ""
    line = release_for(version)
    if line is None:
        oldest = ".".join(str(part) for part in min(line.oldest for line in RELEASES))
        sentence = f"the target is Elasticsearch {version}; the oldest that a Rally here speaks to is {oldest}"
        return _refused(seen, Reason.CLIENT_TOO_NEW, sentence)
    if line is not MAIN and line.name not in seen.settings.race_images:
        sentence = (
            f"the target is Elasticsearch {version}, which Rally {MAIN.rally} does not speak to; it needs an image "
            f'with Rally {line.rally}: add "{line.name}" to the chart\'s value raceImages'
        )
        return _refused(seen, Reason.CLIENT_TOO_NEW, sentence)
    report = record.target or TargetReport()
    target = TargetStatus(
        cluster_name=report.cluster_name or "",
        cluster_uuid=(report.cluster_uuid or "")[:64],
        build_hash=found.build_hash or "",
        nodes=len(found.nodes),
        rally=line.name,
    )
    text = f"{target.nodes} node(s) of Elasticsearch {version}, cluster {target.cluster_name}; Rally {line.rally}"
    ready = Observation(ConditionType.CLUSTER_READY, True, ConditionReason.TARGET_ANSWERS, text)
    return Judged(seen.status.model_copy(update={"version": version, "target": target}), (ready,))


def _refused(seen: Seen, reason: Reason, message: str) -> Judged:
    refused = Observation(ConditionType.ACCEPTED, False, reason, message)
    return Judged(mark_failing(seen.status, reason, message), (refused,))


def race_image(status: BenchmarkStatus, settings: Settings) -> str:
    """Return the image for the steps of a Benchmark: the one whose Rally speaks to its cluster."""
    line = status.target.rally if status.target else MAIN.name
    return settings.race_image if line == MAIN.name else settings.race_images[line]


def removal(spec: BenchmarkSpec, step: str) -> Removal:
    """Return when a step removes from the target what it created there.

    Only the last step may leave something, and a step that failed is the last one.
    """
    if is_preparation(step) or spec.keep_cluster == "Never":
        return "always"
    return "never" if spec.keep_cluster == "Always" and step == steps(spec)[-1] else "onSuccess"


def announce_changes(spec: BenchmarkSpec, report: TargetReport | None) -> tuple[Observation, ...]:
    """Return the observation that says, before any race, what the track will do to the target, if there is one."""
    if spec.target is None:
        return ()
    text = intentions(spec, report or TargetReport())
    return (Observation(ConditionType.TARGET_CHECKED, True, ConditionReason.TRACK_WILL_CHANGE, text),)


def intentions(spec: BenchmarkSpec, report: TargetReport) -> str:
    """Return in one sentence a line what the track creates, deletes and overwrites on the target."""
    creates = [_name(t) for t in report.touches if t.creates]
    deletes = [_name(t) for t in report.touches if t.deletes]
    there = [f"{_name(t)} ({_existing(t)})" for t in report.touches if t.existing]
    parts = [f"creates {_list(creates)}", f"deletes {_list(deletes)}"]
    parts.append(f"of these there are now: {_list(there)}")
    if report.unforeseen:
        parts.append(f"cannot be foreseen: {_list(report.unforeseen)}")
    after = {
        "Never": "what a race created is removed after it",
        "OnFailure": "what a race created is removed after it, but not when it failed",
        "Always": "what the last race created stays",
    }[spec.keep_cluster]
    return "; ".join(["the track " + parts[0], *parts[1:], after])[:4000]


def remarks(record: Record) -> list[RaceRemark]:
    """Return what a reader must know about a race on a cluster that is not its own."""
    report = record.target
    found: list[RaceRemark] = []
    if report is None:
        return found
    if report.others:
        busiest = sorted(report.others, key=lambda o: -(o.indexed + o.searched))
        work = some_of((f"{o.index} +{o.indexed} documents, +{o.searched} searches" for o in busiest), 5)
        text = f"the target worked for others during the race: {work}"
        if report.searches_unknown and any(it.searched for it in report.others):
            text += "; searches may be the track's own, since not all indices are known that it searches"
        found.append(RaceRemark(Reason.TARGET_SHARED, text))
    if report.left:
        found.append(RaceRemark(Reason.LEFT_ON_TARGET, f"left on the target: {_list(report.left)}"))
    return found


def _name(touch: Touch) -> str:
    return f"{touch.kind} {touch.name}"


def _existing(touch: Touch) -> str:
    names = _list(touch.existing[:10]) + (" …" if len(touch.existing) > 10 else "")
    return names if touch.documents is None else f"{names}: {touch.documents} documents"


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"
