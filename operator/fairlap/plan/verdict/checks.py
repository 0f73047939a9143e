"""Whether a race's numbers may be believed: one named check for each way in which a race lies.

Rally's exit code 0 is not enough: it is 0 with nothing but errors, without any task, and with everything inside
the warm-up. A race counts only when every check passes.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.verdict import (
    applied_pipelines,
    applied_settings,
    existing_cluster,
    http_checks,
    measurement,
    probes_met,
    request_errors,
    requests_done,
    schedules,
    steady_cluster,
)
from fairlap.plan.verdict.violation import Violation
from fairlap.results import shards
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.document_count import count_documents
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.secret_flags import without_secret
from fairlap_race.contract.specification.turns import LEAST_IN_TURN, TaskTurns

# Rally itself warns above this: a cluster that has indexed before is not fresh (rally: telemetry, index stats).
_FRESH_INDEXING_MILLIS = 2000

# What a client meets when a node goes away: then that is the cause, not this.
CONSEQUENCES = frozenset(
    {Reason.CLUSTER_UNREACHABLE, Reason.REQUEST_ERRORS, Reason.RACE_STALLED, Reason.ELASTICSEARCH_RESTARTED}
)


Check = Callable[[Record, BenchmarkSpec], Violation | None]


def first_violation(record: Record, spec: BenchmarkSpec, checks: Iterable[Check] | None = None) -> Violation | None:
    """Return why the race does not count, the root cause first, or None when its numbers may be believed.

    `checks`: in the order of their causes; those of a race by Rally unless others are given.
    """
    return next((found for check in (CHECKS if checks is None else checks) if (found := check(record, spec))), None)


def _ran_to_its_end(record: Record, _: BenchmarkSpec) -> Violation | None:
    outcome = record.outcome
    if outcome.reason in CONSEQUENCES and record.nodes_restarted:
        gone = _list(record.nodes_restarted)
        message = f"restarted or gone during the race: {gone}; the race ended with: {outcome.message}"
        return Violation(Reason.ELASTICSEARCH_RESTARTED, message)
    if outcome.reason:
        return Violation(outcome.reason, outcome.message, outcome.field)
    if record.rally.exit_code != 0:
        return Violation(Reason.RALLY_FAILED, f"Rally ended with exit code {record.rally.exit_code}")
    return None


def _elasticsearch_answered(record: Record, _: BenchmarkSpec) -> Violation | None:
    unknown = [
        name
        for name, value in (
            ("its version", record.environment.version),
            ("its state before the race", record.fresh),
            ("its indices", record.indices),
            ("its pipelines", record.pipelines),
            ("whether nodes restarted", record.nodes_restarted),
        )
        if value is None
    ]
    if unknown:
        return Violation(
            Reason.CLUSTER_UNREACHABLE, f"Elasticsearch could not be asked for {', '.join(unknown)}: no evidence"
        )
    return None


def _version_is_as_asked(record: Record, spec: BenchmarkSpec) -> Violation | None:
    if spec.elasticsearch is None:  # a target is what it is: recorded, not compared
        return None
    asked = spec.elasticsearch.version
    found = {record.environment.version, *(node.version for node in record.environment.nodes)} - {asked}
    if found:
        return Violation(Reason.VERSION_MISMATCH, f"asked for Elasticsearch {asked}, found {_list(found)}")
    if len(record.environment.nodes) != spec.elasticsearch.nodes:
        return Violation(
            Reason.SETTINGS_NOT_APPLIED,
            f"asked for {spec.elasticsearch.nodes} node(s), found {len(record.environment.nodes)}",
        )
    return None


def java_major(version: str | None) -> int | None:
    """Return the major version in a Java version string ("21.0.8" is 21, "1.8.0_402" is 8)."""
    found = re.match(r"(?:1\.)?(\d+)", version or "")
    return int(found[1]) if found else None


def _java_is_as_asked(record: Record, spec: BenchmarkSpec) -> Violation | None:
    asked = spec.elasticsearch.java if spec.elasticsearch else None
    wrong = {node.java_version for node in record.environment.nodes if java_major(node.java_version) != asked}
    if asked is not None and wrong:
        return Violation(Reason.JAVA_MISMATCH, f"asked for Java {asked}, found {_list(wrong)}")
    return None


def _heap_is_as_asked(record: Record, spec: BenchmarkSpec) -> Violation | None:
    heap = spec.elasticsearch.heap if spec.elasticsearch else None
    for node in record.environment.nodes if heap else ():
        # The last one counts: Elasticsearch's own files come before what the operator gives it.
        found = next((option for option in reversed(node.jvm_arguments) if option.startswith("-Xmx")), "no -Xmx")
        if found != f"-Xmx{heap}":
            return Violation(
                Reason.SETTINGS_NOT_APPLIED, f"elasticsearch.heap is {heap}, but node {node.name} runs with {found}"
            )
    return None


def _jvm_options_are_as_asked(record: Record, spec: BenchmarkSpec) -> Violation | None:
    nodes = [(node.name, frozenset(node.jvm_arguments)) for node in record.environment.nodes]
    for option in spec.elasticsearch.jvm_options if spec.elasticsearch else ():
        recorded = {option, without_secret(option)}  # a record that was begun before an update has it as it is
        without = [name for name, arguments in nodes if recorded.isdisjoint(arguments)]
        if without:
            named = without_secret(option)
            return Violation(
                Reason.SETTINGS_NOT_APPLIED,
                f"elasticsearch.jvmOptions has {named}, but these nodes run without it: {_list(without)}",
            )
    return None


def _cluster_was_fresh(record: Record, spec: BenchmarkSpec) -> Violation | None:
    fresh = record.fresh
    if spec.target and spec.target.overwrite:
        return None
    if fresh and fresh.user_indices:
        return Violation(Reason.CLUSTER_NOT_FRESH, f"before the race there were indices: {_list(fresh.user_indices)}")
    if fresh and (fresh.indexing_millis or 0) > _FRESH_INDEXING_MILLIS:
        return Violation(
            Reason.CLUSTER_NOT_FRESH, f"before the race {fresh.indexing_millis} ms had been spent indexing"
        )
    return None


def _nothing_restarted(record: Record, _: BenchmarkSpec) -> Violation | None:
    if record.nodes_restarted:
        return Violation(
            Reason.ELASTICSEARCH_RESTARTED, f"restarted or gone during the race: {_list(record.nodes_restarted)}"
        )
    return None


def _something_ran(record: Record, _: BenchmarkSpec) -> Violation | None:
    if not record.track.tasks:
        return Violation(Reason.NO_TASKS, "the schedule had no task to run")
    if not record.tasks:
        return Violation(Reason.TASK_MISSING, "Rally took no sample of any task")
    return None


def _every_task_has_numbers(record: Record, _: BenchmarkSpec) -> Violation | None:
    measured = {task.task: task for task in record.tasks}
    drowned = measurement.drowned_probes(record)
    for wanted in record.track.tasks:
        if not wanted.reported or wanted.name in drowned:
            continue
        task = measured.get(wanted.name)
        if task is None or task.samples.warmup + task.samples.normal == 0:
            return Violation(Reason.TASK_MISSING, f"task {wanted.name} was to run but has no numbers")
        if task.samples.normal == 0:
            return Violation(
                Reason.WARMUP_ATE_ALL,
                f"task {wanted.name} has {task.samples.warmup} requests in its warm-up and {task.samples.normal} after "
                "it: nothing was measured",
            )
        # That all of them failed is accepted where it gets here, and such a task has no throughput.
        numbers = task.rally is not None and task.rally.throughput.median is not None
        if not numbers and task.errors.normal < task.samples.normal:
            return Violation(
                Reason.TASK_MISSING,
                f"task {wanted.name} was to run but has no numbers: Rally tells no throughput of its "
                f"{task.samples.normal} measured requests",
            )
    return None


def _no_sample_was_dropped(record: Record, _: BenchmarkSpec) -> Violation | None:
    if record.samples_dropped:
        return Violation(Reason.SAMPLES_DROPPED, "Rally dropped samples because its queue was full")
    return None


def _turns_were_taken(record: Record, spec: BenchmarkSpec) -> Violation | None:
    for task in record.tasks if spec.in_turn else ():
        turns = task.turns or TaskTurns(task.task, alone=task.samples.warmup + task.samples.normal)
        # Of a time that ends within a round one race sends one more: with slow searches that is more than that share.
        if turns.share < LEAST_IN_TURN and turns.alone > (task.clients or 1):
            return Violation(
                Reason.NOT_IN_TURN,
                f"task {task.task} sent {turns.alone} of {turns.in_turn + turns.alone} requests while the others that "
                "it takes turns with did not",
            )
    return None


def _documents_are_all_there(record: Record, _: BenchmarkSpec) -> Violation | None:
    mismatch = count_documents(record).mismatch
    return Violation(Reason.DOCUMENT_COUNT_MISMATCH, mismatch) if mismatch else None


def remarks(record: Record, elasticsearch_on: list[str], load_generator_on: str) -> list[RaceRemark]:
    """Return all that a reader must know of a race although it does not void it.

    `elasticsearch_on`, `load_generator_on`: the machines that their pods ran on.
    """
    found = [*_load_generator_remarks(record)]
    found.extend(schedules.remarks(record))
    found.extend(measurement.remarks(record))
    found.extend(request_errors.remarks(record))
    if load_generator_on and load_generator_on in elasticsearch_on:
        text = f"Elasticsearch and the load generator shared the machine {load_generator_on}"
        found.append(RaceRemark(Reason.LOAD_GENERATOR_SHARED, text))
    if record.track.tasks and record.http is None:
        counted = count_documents(record)
        found.extend(RaceRemark(Reason.DOCUMENTS_NOT_COUNTED, text) for text in counted.uncounted)
        found.extend(RaceRemark(Reason.DOCUMENTS_DIVERTED, text) for text in counted.diverted)
    found.extend(applied_pipelines.remarks(record))
    found.extend(requests_done.remarks(record))
    found.extend(applied_settings.remarks(record))
    found.extend(shards.remarks(record))
    found.extend(steady_cluster.remarks(record))
    found.extend(http_checks.remarks(record))
    found.extend(existing_cluster.remarks(record))
    if record.stored_metrics and record.stored_metrics.problem:
        stored = sum(record.stored_metrics.documents.values())
        text = f"race.metricsStore: {stored} documents were stored, not all: {record.stored_metrics.problem}"
        found.append(RaceRemark(Reason.METRICS_NOT_STORED, text))
    if record.sample_file and record.sample_file.problem:
        text = f"race.samples: {record.sample_file.name} could not be written: {record.sample_file.problem}"
        found.append(RaceRemark(Reason.SAMPLES_NOT_KEPT, text))
    if record.left_out:
        text = f"left out of the record, which would have been too large: {_list(record.left_out)}"
        found.append(RaceRemark(Reason.RECORD_CUT, text))
    found.extend(RaceRemark(Reason.RALLY_WARNING, f"Rally: {warning}") for warning in record.rally.warnings)
    return found


def _load_generator_remarks(record: Record) -> Iterator[RaceRemark]:
    load = record.load_generator
    if load.saturated:
        yield RaceRemark(Reason.LOAD_GENERATOR_SATURATED, f"the load generator was saturated: {load.why}")
    elif text := measurement.load_generator_throttled(record):
        yield RaceRemark(Reason.LOAD_GENERATOR_THROTTLED, text)


def _list(names: object) -> str:
    return ", ".join(sorted(str(name) for name in names))  # type: ignore[attr-defined]


CHECKS: tuple[Check, ...] = (
    _ran_to_its_end,
    _elasticsearch_answered,
    _version_is_as_asked,
    _java_is_as_asked,
    _heap_is_as_asked,
    _jvm_options_are_as_asked,
    _cluster_was_fresh,
    _nothing_restarted,
    steady_cluster.nodes_stayed,
    _something_ran,
    request_errors.violation,
    _every_task_has_numbers,
    measurement.violation,
    _no_sample_was_dropped,
    _turns_were_taken,
    requests_done.documents_lost,
    requests_done.searches_hit_nothing,
    requests_done.searches_incomplete,
    _documents_are_all_there,
    applied_pipelines.violation,
    applied_settings.violation,
    steady_cluster.replicas_were_there,
    probes_met.violation,
)
