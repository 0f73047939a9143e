"""From the record of a step to what the status says of it."""

from collections.abc import Iterator, Sequence

from fairlap.api.condition_types import ConditionReason, ConditionType
from fairlap.api.names import PAGE_CACHE_ANNOTATION, PAGE_CACHE_KEPT, PAGE_CACHE_OUTCOME_ANNOTATION, is_race
from fairlap.api.node_resources import node_resources
from fairlap.api.status import MOST_TASKS, Environment, PlannedTask, RaceStatus, Step
from fairlap.plan.basis.conditions import Observation, stamp
from fairlap.plan.basis.seen import Seen
from fairlap.plan.basis.steps import CHECK, PROBE, is_preparation, object_name, race_id
from fairlap.plan.explain.trouble import elasticsearch_pods, find_mishaps, load_generators, machines_of
from fairlap.plan.lifetimes.keep import end_of_keeping
from fairlap.plan.verdict import applied_settings, existing_cluster
from fairlap.plan.verdict.checks import CHECKS, CONSEQUENCES, first_violation, remarks
from fairlap.plan.verdict.http_checks import HTTP_CHECKS
from fairlap.plan.verdict.judged import Judged, mark_failing
from fairlap.plan.verdict.noise import noise_now
from fairlap.plan.verdict.violation import Violation
from fairlap.results import cores, disturbance, drift, throttled_nodes, unsteady_settings
from fairlap.results.aggregate import aggregate, total
from fairlap.results.aggregate import remarks as cut_remarks
from fairlap.results.environment import environment
from fairlap.results.machine_facts import machine_evidence
from fairlap.results.machine_use import machine_uses
from fairlap.results.machine_use import remarks as machine_remarks
from fairlap.results.remarks import RaceRemark, first_that_fit, fit_remarks
from fairlap.results.storage import storage_evidence
from fairlap.results.unread_tasks import unread_tasks
from fairlap_race.contract.index_settings import CODEC, REPLICAS, SHARDS
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.http_record import HttpRecord
from fairlap_race.contract.recorded.record import IndexRecord, Record
from fairlap_race.contract.recorded.track_record import SERVICES, TrackRecord
from fairlap_race.contract.untrusted import parse_time

# Conditions that say what a remark says, for whoever waits for conditions only.
_REMARKED = (
    (ConditionType.LOAD_GENERATOR_SHARED, Reason.LOAD_GENERATOR_SHARED),
    (ConditionType.LOAD_GENERATOR_SATURATED, Reason.LOAD_GENERATOR_SATURATED),
    (ConditionType.SCHEDULE_NOT_KEPT, Reason.SCHEDULE_NOT_KEPT),
)


def judge_step(seen: Seen, step: Step) -> Judged:
    """Return what follows from the step's record: the race, its verdict, and the numbers so far."""
    record = (seen.records or {}).get(step.name)
    if record is None:
        message = "the race said it was done, but its record is missing or cannot be read"
        status, observed = judge_without_record(seen, step, Reason.RECORD_MISSING, message)
        return Judged(mark_failing(status, Reason.RECORD_MISSING, message), observed)
    if step.name == PROBE:
        return existing_cluster.judge_probe(seen, record)
    if step.name == CHECK:
        return _judge_check(seen, record)
    return _judge_race(seen, step, record)


def judge_without_record(seen: Seen, step: Step, reason: Reason, message: str) -> Judged:
    """Return what follows when a step ended without a record: the race is listed as not valid."""
    status = seen.status
    if is_preparation(step.name):
        return Judged(status, (Observation(ConditionType.ACCEPTED, False, reason, message),))
    subject = seen.subject
    race = RaceStatus(
        name=step.name,
        id=race_id(subject.namespace, subject.name, subject.uid, step.name),
        valid=False,
        reason=str(reason),
        message=message,
        elasticsearch_on=_elasticsearch_on(seen),
        load_generator_on=", ".join(machines_of(load_generators(seen.children.pods))),
        record=object_name(subject.name, step.name) if step.job_uid else "",
    )
    invalid = Observation(ConditionType.RACES_VALID, False, reason, f"{step.name}: {message}")
    return Judged(status.model_copy(update={"races": [*status.races, race]}), (invalid,))


def describe_access(seen: Seen, step: Step) -> str:
    """Return what to type to look into a cluster that was kept, and until when it is there."""
    name, namespace, spec = object_name(seen.subject.name, step.name), seen.subject.namespace, seen.subject.spec
    end = stamp(end_of_keeping(spec.model_dump(by_alias=True, include={"keep_cluster_for"}), seen.now))
    return (
        f"the cluster of {step.name} is kept for {spec.keep_cluster_for}, until {end} or until the Benchmark is "
        f"deleted: kubectl -n {namespace} port-forward service/{name}-es-http 9200; the password of elastic: kubectl "
        f"-n {namespace} get secret {name}-es-elastic-user -o go-template='{{{{.data.elastic | base64decode}}}}'"
    )


def _judge_check(seen: Seen, record: Record) -> Judged:
    outcome, track, subject = record.outcome, record.track, seen.subject
    if outcome.reason:
        refused = Observation(ConditionType.ACCEPTED, False, outcome.reason, outcome.message)
        return Judged(mark_failing(seen.status, outcome.reason, outcome.message, outcome.field), (refused,))
    if subject.spec.over_http:
        return _judge_http_check(seen, record)
    challenge = f", challenge {track.challenge}" if track.challenge else ""
    commit = f", commit {track.revision}" if track.revision else ""
    message = f"track {track.name}{challenge}, {len(track.tasks)} tasks{commit}"
    accepted = Observation(ConditionType.ACCEPTED, True, ConditionReason.TRACK_RENDERED, message)
    changes: dict[str, object] = {
        "challenge": track.challenge or seen.status.challenge,
        "tasks": _planned_tasks(track),
        "expected_documents": _expected_documents(track),
        "track_revision": track.revision or "",
        "node_settings": applied_settings.for_nodes(record, subject.spec.index) if subject.spec.elasticsearch else {},
    }
    # Nobody looked: then it may use all of them.
    services = SERVICES if track.services is None else track.services
    changes["track_services"] = [name for name in SERVICES if name in services]
    announced = existing_cluster.announce_changes(subject.spec, record.target)
    return Judged(seen.status.model_copy(update=changes), (accepted, *announced))


def _judge_http_check(seen: Seen, record: Record) -> Judged:
    about, track = record.http or HttpRecord(), record.track
    commit = f", commit {track.revision}" if track.revision else ""
    message = (
        f"{track.name}: {about.requests} requests, {about.distinct} different ones{commit}; "
        f"{len(about.hosts)} host(s) answered, {len(track.tasks)} task(s)"
    )
    accepted = Observation(ConditionType.ACCEPTED, True, ConditionReason.REQUESTS_READ, message)
    return Judged(seen.status.model_copy(update={"track_revision": track.revision or ""}), (accepted,))


def _planned_tasks(track: TrackRecord) -> list[PlannedTask]:
    return [
        PlannedTask(name=it.name, clients=it.clients or 1, parallel=it.parallel, reported=it.reported)
        for it in track.tasks[:MOST_TASKS]
    ]


def _expected_documents(track: TrackRecord) -> int | None:
    """Return the documents that a race is to leave, by the user or by the track; None when neither says how many."""
    plan, by_track = track.documents, track.expected_documents or {}
    if plan.stated.total_documents is not None:
        return plan.stated.total_documents
    if not plan.is_exact and not plan.stated.documents:
        return None
    numbers = {**by_track, **plan.stated.documents} if plan.is_exact else plan.stated.documents
    return total(numbers.values()) if numbers else None


def _judge_race(seen: Seen, step: Step, record: Record) -> Judged:
    violation = _violation(seen, step, record)
    race = _race(seen, step, record, violation)
    valid = [r.name for r in (*seen.status.races, race) if r.valid and is_race(r.name)]
    good = [found for name in valid if (found := (seen.records or {}).get(name)) is not None]
    changes: dict[str, object] = {"races_done": f"{len(valid)}/{seen.subject.spec.repetitions}"}
    remarked = _remarks(seen, race, record)
    if is_race(step.name):
        pods, spec = seen.children.pods, seen.subject.spec
        ran = environment(record, elasticsearch_pods(pods), load_generators(pods))
        table = seen.resources.get(step.name)
        storage = first_that_fit(storage_evidence(table.volumes[:50]), 50_000) if table else []
        given = seen.status.node_processors
        whole = node_resources(spec.elasticsearch, given).whole_cores() if spec.elasticsearch else None
        evidence = machine_evidence(record, table, elasticsearch_pods(pods), race.load_generator_on, spec, whole)
        remarked += cores.remarks(evidence, whole, given.message if given and not given.whole else "")
        remarked += unsteady_settings.remarks(evidence)
        ran = ran.model_copy(update={"storage": storage, "machines": first_that_fit(evidence, 30_000)})
        changes["environment"], drifted = _environment(seen, race.name, ran)
        remarked += drifted
        if good:
            sweep = seen.subject.spec.race.sweep
            of_races = [machines for name in valid if (machines := seen.resources.get(name))]
            results = aggregate(good, sweep.objective if sweep else None, of_races)
            changes["results"] = results
            if race.valid:
                remarked += [*cut_remarks(record, results, len(ran.indices), good), *_unread(seen, valid)]
        tables = [
            (object_name(seen.subject.name, name), of_race) for name in valid if (of_race := seen.resources.get(name))
        ]
        changes["resources"] = first_that_fit(machine_uses(tables, most=60), 60_000)
    changes["races"] = [*seen.status.races, race.model_copy(update={"remarks": fit_remarks(remarked)})]
    status = seen.status.model_copy(update=changes)
    if is_race(step.name) and good:
        status = status.model_copy(update={"noise": noise_now(seen, status, valid)})
    if violation:
        message = f"{step.name}: {violation.message}"
        failing = mark_failing(status, violation.reason, message, violation.field)
        return Judged(failing, _observe_violation(violation, message))
    return Judged(status, _observe_valid(seen.status.races, race, record, remarked))


def _unread(seen: Seen, valid: Sequence[str]) -> Iterator[RaceRemark]:
    """Yield which of the valid races the results are without."""
    if unread := [name for name in valid if (seen.records or {}).get(name) is None]:
        yield RaceRemark(
            Reason.RECORD_CUT,
            f"the results are those of {len(valid) - len(unread)} of {len(valid)} valid races: the records of "
            f"{', '.join(unread)} cannot be read, or are too large together",
        )


def _environment(seen: Seen, race: str, ran: Environment) -> tuple[Environment, list[RaceRemark]]:
    """Return the first counting race's environment with the differences so far, and what is said of this race."""
    first = next((earlier.name for earlier in seen.status.races if earlier.valid and is_race(earlier.name)), None)
    known = seen.status.environment
    if first is None or known is None:
        return ran, []
    found = drift.differences(known, ran)
    noted = drift.noted(known.differences, race, found)
    return known.model_copy(update={"differences": noted}), [drift.remark(first, found)] if found else []


def _violation(seen: Seen, step: Step, record: Record) -> Violation | None:
    spec = seen.subject.spec
    violation = first_violation(record, spec, HTTP_CHECKS if spec.over_http else CHECKS)
    # What happened to the pods explains what the client met, not the other way round.
    if violation is None or violation.reason in CONSEQUENCES:
        for mishap in find_mishaps(seen.children.pods, seen.evictions or {}):
            then = f"; the race ended with: {violation.message}" if violation else ""
            return Violation(mishap.reason, f"{mishap.message}{then}")
    if violation:
        return violation
    digests = {name: found.track.digest for name, found in _races(seen).items()}
    if is_race(step.name) and len(set(digests.values())) > 1:
        raced = "what race.requests sends" if spec.race.requests else "the track"
        return Violation(Reason.TRACK_CHANGED, f"{raced} is not the same in {', '.join(sorted(digests))}")
    return None


def _races(seen: Seen) -> dict[str, Record]:
    return {name: found for name, found in (seen.records or {}).items() if found is not None and is_race(name)}


def _race(seen: Seen, step: Step, record: Record, violation: Violation | None) -> RaceStatus:
    load_generator_on = record.environment.load_generator.node_name or ", ".join(
        machines_of(load_generators(seen.children.pods))
    )
    return RaceStatus(
        name=step.name,
        id=record.race_id[:300],
        started_at=record.started_at,
        first_request_at=record.first_request_at,
        rally_exited_at=record.rally_exited_at,
        seconds=_seconds(record.started_at, record.finished_at),
        valid=violation is None,
        reason=str(violation.reason) if violation else "",
        message=violation.message if violation else "",
        elasticsearch_on=_elasticsearch_on(seen),
        load_generator_on=load_generator_on[:300],
        page_cache=_noted(seen, PAGE_CACHE_ANNOTATION),
        record=object_name(seen.subject.name, step.name),
    )


def _elasticsearch_on(seen: Seen) -> list[str]:
    return machines_of(elasticsearch_pods(seen.children.pods)) or list(seen.kept_on)


def _noted(seen: Seen, annotation: str) -> str:
    """Return what stands on the step's Job, "" for nothing."""
    meta = (seen.children.job or {}).get("metadata") or {}
    return str((meta.get("annotations") or {}).get(annotation, ""))[:300]


def _remarks(seen: Seen, race: RaceStatus, record: Record) -> list[RaceRemark]:
    table = seen.resources.get(race.name)
    said = remarks(record, race.elasticsearch_on, race.load_generator_on)
    said = [*said, *applied_settings.not_everywhere(record, seen.subject.spec)]
    if not record.first_request_at:
        return said
    # A Job that an older operator started has the sentence alone, which is shown and decides nothing.
    if _noted(seen, PAGE_CACHE_OUTCOME_ANNOTATION) == PAGE_CACHE_KEPT:
        said = [*said, RaceRemark(Reason.PAGE_CACHE_KEPT, race.page_cache)]
    unread = unread_tasks(record)
    watch = table.watch if table else None
    found = [] if watch is None else disturbance.disturbances(
        watch, race.elasticsearch_on, race.load_generator_on, disturbance.reading_tasks(record), unread,
        over_http=record.http is not None, in_turn=seen.subject.spec.in_turn is not None,
    )  # fmt: skip
    # What runs behind an HTTP target is not known, so its machines cannot be looked at.
    of_machines = [] if record.http else machine_remarks(table)
    throttled = throttled_nodes.remarks(table, unread)
    return [*said, *of_machines, *throttled, *disturbance.remarks(found)]


def _observe_violation(violation: Violation, message: str) -> tuple[Observation, ...]:
    observed = [Observation(ConditionType.RACES_VALID, False, violation.reason, message)]
    if violation.reason == Reason.SETTINGS_NOT_APPLIED:
        observed.append(Observation(ConditionType.SETTINGS_VERIFIED, False, violation.reason, message))
    return tuple(observed)


def _observe_valid(
    earlier: Sequence[RaceStatus], race: RaceStatus, record: Record, remarked: Sequence[RaceRemark]
) -> tuple[Observation, ...]:
    as_asked = Observation(ConditionType.SETTINGS_VERIFIED, True, ConditionReason.AS_ASKED, _settings(record))
    # Of indices that the schedule deleted, all of them, there is nothing to verify.
    unread = bool(record.track.passed_as) and not record.indices
    verified = () if record.http or unread else (as_asked,)
    if not is_race(race.name):
        return verified
    text = "every race so far is valid"
    valid = Observation(ConditionType.RACES_VALID, True, ConditionReason.ALL_CHECKS_PASSED, text)
    # The status has at least one remark of each reason of the earlier races; of this one there are all.
    said = [
        *((remark.reason, f"{r.name}: {remark.message}") for r in earlier for remark in r.remarks),
        *((str(remark.reason), f"{race.name}: {remark.text}") for remark in remarked),
    ]
    return (*verified, valid, *(_observe_remark(kind, reason, said) for kind, reason in _REMARKED))


def _observe_remark(kind: ConditionType, reason: Reason, said: Sequence[tuple[str, str]]) -> Observation:
    sentence = "; ".join(text for of, text in said if of == reason)
    return Observation(kind, bool(sentence), reason if sentence else ConditionReason.NOT_REMARKED, sentence)


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
    began, ended = parse_time(start), parse_time(end)
    # Between two times of a clock that was set back there is nothing to be told.
    return (ended - began).total_seconds() if began and ended and ended >= began else None
