"""From the record of a step to what the status says of it."""

from collections.abc import Sequence
from datetime import datetime

from fairlap.api.status import BenchmarkStatus, RaceStatus, Step
from fairlap.plan.conditions import moment, stamp, with_condition
from fairlap.plan.explain.trouble import elasticsearch_pods, load_generators, mishaps
from fairlap.plan.keep import until
from fairlap.plan.seen import Seen
from fairlap.plan.steps import CHECK, PROBE, is_preparation, is_race, object_name, race_id
from fairlap.plan.verdict import existing_cluster, index_settings
from fairlap.plan.verdict.checks import CONSEQUENCES, first_violation, remarks
from fairlap.plan.verdict.violation import Violation
from fairlap.results.aggregate import aggregate
from fairlap.results.environment import environment, machines
from fairlap.results.machine_use import machine_uses
from fairlap.results.machine_use import remarks as resource_remarks
from fairlap.results.storage import storage_evidence
from fairlap_race.contract.index_settings import CODEC, REPLICAS, SHARDS
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.record import IndexRecord, Record


def judged(seen: Seen, step: Step) -> BenchmarkStatus:
    """Return the status after the step's record was read: the race, its verdict, and the numbers so far."""
    record = (seen.records or {}).get(step.name)
    if record is None:
        message = "the race said it was done, but its record is missing or cannot be read"
        return _failed(without_record(seen, step, Reason.RECORD_MISSING, message), Reason.RECORD_MISSING, message)
    if step.name == PROBE:
        return existing_cluster.probed(seen, record)
    if step.name == CHECK:
        return _track_checked(seen, record)
    violation = _violation(seen, step, record)
    race = _race(seen, step, record, violation)
    status = seen.status.model_copy(update={"races": [*seen.status.races, race]})
    status = _observations(status, seen, record, race, violation)
    valid = [r.name for r in status.races if r.valid and is_race(r.name)]
    good = [found for name in valid if (found := (seen.records or {}).get(name)) is not None]
    changes: dict[str, object] = {"races_done": f"{len(valid)}/{seen.subject.spec.repetitions}"}
    if is_race(step.name):
        pods = seen.children.pods
        ran = environment(record, elasticsearch_pods(pods), load_generators(pods))
        table = seen.resources.get(step.name)
        storage = storage_evidence(table.volumes)[:50] if table else []
        changes["environment"] = ran.model_copy(update={"storage": storage})
        if good:
            changes["results"] = aggregate(good)
        tables = [
            (object_name(seen.subject.name, name), of_race) for name in valid if (of_race := seen.resources.get(name))
        ]
        changes["resources"] = machine_uses(tables)[:60]
    status = status.model_copy(update=changes)
    return _failed(status, violation.reason, f"{step.name}: {violation.message}") if violation else status


def without_record(seen: Seen, step: Step, reason: Reason, message: str) -> BenchmarkStatus:
    """Return the status after a step ended without a record: the race is listed as not valid."""
    status = seen.status
    if is_preparation(step.name):
        return with_condition(status, "Accepted", "False", reason, message, seen.now)
    subject = seen.subject
    race = RaceStatus(
        name=step.name,
        id=race_id(subject.namespace, subject.name, subject.uid, step.name),
        valid=False,
        reason=str(reason),
        message=message[:4096],
        elasticsearch_on=machines(elasticsearch_pods(seen.children.pods)),
        load_generator_on=", ".join(machines(load_generators(seen.children.pods))),
        record=object_name(subject.name, step.name) if step.job_uid else "",
    )
    status = status.model_copy(update={"races": [*status.races, race]})
    return with_condition(status, "RacesValid", "False", reason, f"{step.name}: {message}", seen.now)


def how_to_reach(seen: Seen, step: Step) -> str:
    """Return what to type to look into a cluster that was kept, and until when it is there."""
    name, namespace, spec = object_name(seen.subject.name, step.name), seen.subject.namespace, seen.subject.spec
    end = stamp(until(spec.model_dump(by_alias=True, include={"keep_cluster_for"}), seen.now))
    return (
        f"the cluster of {step.name} is kept for {spec.keep_cluster_for}, until {end} or until the Benchmark is "
        f"deleted: kubectl -n {namespace} port-forward service/{name}-es-http 9200; the password of elastic: kubectl "
        f"-n {namespace} get secret {name}-es-elastic-user -o go-template='{{{{.data.elastic | base64decode}}}}'"
    )


def _failed(status: BenchmarkStatus, reason: Reason, message: str) -> BenchmarkStatus:
    return status.model_copy(update={"failing": True, "reason": str(reason), "message": message[:4096]})


def _track_checked(seen: Seen, record: Record) -> BenchmarkStatus:
    outcome, track = record.outcome, record.track
    if outcome.reason:
        status = with_condition(seen.status, "Accepted", "False", outcome.reason, outcome.message, seen.now)
        return _failed(status, outcome.reason, outcome.message)
    challenge = f", challenge {track.challenge}" if track.challenge else ""
    commit = f", commit {track.revision}" if track.revision else ""
    message = f"track {track.name}{challenge}, {len(track.tasks)} tasks{commit}"
    status = with_condition(seen.status, "Accepted", "True", "TrackRendered", message, seen.now)
    status = existing_cluster.announced(status, seen, record.target)
    documents = sum(track.expected_documents.values()) if track.expected_documents else None
    changes = {
        "challenge": track.challenge or status.challenge,
        "expected_documents": documents,
        "track_revision": track.revision or "",
        "node_settings": index_settings.for_nodes(record, seen.subject.spec.index)
        if seen.subject.spec.elasticsearch
        else {},
    }
    return status.model_copy(update=changes)


def _violation(seen: Seen, step: Step, record: Record) -> Violation | None:
    violation = first_violation(record, seen.subject.spec)
    # What happened to the pods explains what the client met, not the other way round.
    if violation is None or violation.reason in CONSEQUENCES:
        for mishap in mishaps(seen.children.pods, seen.evictions or {}):
            then = f"; the race ended with: {violation.message}" if violation else ""
            return Violation(mishap.reason, f"{mishap.message}{then}")
    if violation:
        return violation
    digests = {name: found.track.digest for name, found in _races(seen).items()}
    if is_race(step.name) and len(set(digests.values())) > 1:
        return Violation(Reason.TRACK_CHANGED, f"the track is not the same in {', '.join(sorted(digests))}")
    return None


def _races(seen: Seen) -> dict[str, Record]:
    return {name: found for name, found in (seen.records or {}).items() if found is not None and is_race(name)}


def _race(seen: Seen, step: Step, record: Record, violation: Violation | None) -> RaceStatus:
    elasticsearch_on = machines(elasticsearch_pods(seen.children.pods))
    load_generator_on = record.environment.load_generator.node_name or ", ".join(
        machines(load_generators(seen.children.pods))
    )
    of_machines = resource_remarks(seen.resources.get(step.name)) if record.first_request_at else []
    return RaceStatus(
        name=step.name,
        id=record.race_id,
        started_at=record.started_at,
        first_request_at=record.first_request_at,
        rally_exited_at=record.rally_exited_at,
        seconds=_seconds(record.started_at, record.finished_at),
        valid=violation is None,
        reason=str(violation.reason) if violation else "",
        message=violation.message[:4096] if violation else "",
        remarks=[text[:4096] for text in (*remarks(record, elasticsearch_on, load_generator_on), *of_machines)][:20],
        elasticsearch_on=elasticsearch_on,
        load_generator_on=load_generator_on,
        record=object_name(seen.subject.name, step.name),
    )


def _observations(
    status: BenchmarkStatus, seen: Seen, record: Record, race: RaceStatus, violation: Violation | None
) -> BenchmarkStatus:
    now = seen.now
    if violation:
        message = f"{race.name}: {violation.message}"
        status = with_condition(status, "RacesValid", "False", violation.reason, message, now)
        if violation.reason == Reason.SETTINGS_NOT_APPLIED:
            return with_condition(status, "SettingsVerified", "False", violation.reason, message, now)
        return status
    status = with_condition(status, "SettingsVerified", "True", "AsAsked", _settings(record), now)
    if is_race(race.name):
        status = with_condition(status, "RacesValid", "True", "AllChecksPassed", "every race so far is valid", now)
        status = _said(status, "LoadGeneratorShared", _shared([*status.races]), now)
        status = _said(status, "LoadGeneratorSaturated", _saturated([*status.races]), now)
        status = _said(status, "ScheduleNotKept", _behind([*status.races]), now)
    return status


def _said(status: BenchmarkStatus, kind: str, sentence: str, now: datetime) -> BenchmarkStatus:
    return with_condition(status, kind, "True" if sentence else "False", kind if sentence else "No", sentence, now)


def _shared(races: Sequence[RaceStatus]) -> str:
    return "; ".join(f"{r.name}: {text}" for r in races for text in r.remarks if " shared the machine " in text)


def _saturated(races: Sequence[RaceStatus]) -> str:
    return "; ".join(f"{r.name}: {text}" for r in races for text in r.remarks if text.startswith("the load generator"))


def _behind(races: Sequence[RaceStatus]) -> str:
    return "; ".join(f"{r.name}: {text}" for r in races for text in r.remarks if " of its target throughput " in text)


def _settings(record: Record) -> str:
    return "; ".join(
        ", ".join(
            (f"index {i.name}: {i.shards} shard(s)", f"{i.replicas} replica(s)", f"codec {i.codec}", *_further(i))
        )
        for i in record.indices or ()
    )


def _further(index: IndexRecord) -> list[str]:
    shown = (SHARDS, REPLICAS, CODEC)
    return [f"{name} {value}" for name, value in index.settings.items() if name not in shown]


def _seconds(start: str | None, end: str | None) -> float | None:
    return (moment(end) - moment(start)).total_seconds() if start and end else None


__all__ = ["how_to_reach", "judged", "stamp", "without_record"]
