"""Each truth check, by the smallest change to a good record that it must catch."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from world import good_record, spec

from fairlap.api.spec import InTurn
from fairlap.plan.verdict.checks import first_violation, java_major, remarks
from fairlap.plan.verdict.violation import Violation
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded import record as rec
from fairlap_race.contract.secret_flags import without_secret
from fairlap_race.contract.specification.turns import TaskTurns

GOOD = good_record()
BULK = GOOD.tasks[0]
Change = Callable[[rec.Record], rec.Record]


def bulk(**changes: object) -> rec.Record:
    return replace(GOOD, tasks=(replace(BULK, **changes),))  # type: ignore[arg-type]


def test_a_good_record_is_valid() -> None:
    assert first_violation(GOOD, spec()) is None
    wanted = {"shards": 1, "replicas": 0, "codec": "default"}
    assert first_violation(GOOD, spec(elasticsearch={"java": 21, "index": wanted})) is None


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (replace(GOOD, outcome=rec.Outcome(Reason.RACE_STALLED, "stood")), Reason.RACE_STALLED),
        (replace(GOOD, rally=rec.Rally(exit_code=64)), Reason.RALLY_FAILED),
        (replace(GOOD, rally=rec.Rally(exit_code=None)), Reason.RALLY_FAILED),
        (replace(GOOD, indices=None), Reason.CLUSTER_UNREACHABLE),
        (replace(GOOD, nodes_restarted=None), Reason.CLUSTER_UNREACHABLE),
        (replace(GOOD, environment=rec.EnvironmentRecord()), Reason.CLUSTER_UNREACHABLE),
        (replace(GOOD, environment=replace(GOOD.environment, version="9.0.1")), Reason.VERSION_MISMATCH),
        (replace(GOOD, environment=replace(GOOD.environment, nodes=())), Reason.SETTINGS_NOT_APPLIED),
        (replace(GOOD, fresh=rec.Fresh(("old",), 0)), Reason.CLUSTER_NOT_FRESH),
        (replace(GOOD, fresh=rec.Fresh((), 2001)), Reason.CLUSTER_NOT_FRESH),
        (replace(GOOD, nodes_restarted=("es-0",)), Reason.ELASTICSEARCH_RESTARTED),
        (replace(GOOD, track=replace(GOOD.track, tasks=())), Reason.NO_TASKS),
        (replace(GOOD, tasks=()), Reason.TASK_MISSING),
        (replace(GOOD, tasks=(replace(BULK, task="other"),)), Reason.TASK_MISSING),
        (bulk(errors=rec.Counts(warmup=1)), Reason.ERROR_RATE),
        (bulk(errors=rec.Counts(normal=1)), Reason.ERROR_RATE),
        (bulk(samples=rec.Counts(warmup=100)), Reason.WARMUP_ATE_ALL),
        (bulk(rally=None), Reason.TASK_MISSING),
        (bulk(rally=rec.RallyNumbers(error_rate=0.0)), Reason.TASK_MISSING),
        (replace(GOOD, samples_dropped=True), Reason.SAMPLES_DROPPED),
        (replace(GOOD, indices=(replace(GOOD.indices[0], documents=999),)), Reason.DOCUMENT_COUNT_MISMATCH),  # type: ignore[index]
        (replace(GOOD, indices=()), Reason.DOCUMENT_COUNT_MISMATCH),
        (replace(GOOD, pipelines=()), Reason.PIPELINE_NOT_APPLIED),
        (replace(GOOD, pipelines=(rec.Pipeline("logs", 0),)), Reason.PIPELINE_NOT_APPLIED),
        (replace(GOOD, pipelines=(rec.Pipeline("logs", 999),)), Reason.PIPELINE_NOT_APPLIED),
        (replace(GOOD, pipelines=(rec.Pipeline("logs", 1000, 1, failed=1),)), Reason.PIPELINE_NOT_APPLIED),
    ],
)
def test_each_lie_is_caught(record: rec.Record, reason: Reason) -> None:
    violation = first_violation(record, spec())
    assert violation is not None and violation.reason == reason and violation.message


@pytest.mark.parametrize("rally", [None, rec.RallyNumbers(error_rate=1.0)])
@pytest.mark.parametrize(
    ("samples", "errors", "share", "reason", "words"),
    [
        ((0, 500), (0, 500), 1.0, None, ""),
        ((10, 500), (10, 500), 1.0, None, ""),
        ((0, 500), (0, 499), 1.0, Reason.TASK_MISSING, "Rally tells no throughput of its 500 measured requests"),
        ((0, 500), (0, 500), 0.9, Reason.ERROR_RATE, "500 of 500 requests failed"),
        ((10, 0), (10, 0), 1.0, Reason.WARMUP_ATE_ALL, "has 10 requests in its warm-up and 0 after it"),
    ],
)
def test_a_task_that_failed_wholly_needs_no_throughput_where_that_is_accepted(
    rally: rec.RallyNumbers | None, samples: tuple[int, int], errors: tuple[int, int], share: float,
    reason: Reason | None, words: str,
) -> None:  # fmt: skip
    record = bulk(samples=rec.Counts(*samples), errors=rec.Counts(*errors), rally=rally)
    found = first_violation(record, spec(race={"allow": {"errorRate": {"bulk": share}}}))
    assert (found and found.reason) is reason and (found is None or words in found.message)


@pytest.mark.parametrize(
    ("turns", "counts"),
    [(TaskTurns("bulk", 95, 5), True), (TaskTurns("bulk", 94, 6), False), (None, False), (TaskTurns("bulk"), True)],
)
def test_requests_that_were_to_be_sent_in_turn_were(turns: TaskTurns | None, counts: bool) -> None:
    in_turn = spec().model_copy(update={"in_turn": InTurn(block="b", races=2, number=0)})
    found = first_violation(bulk(turns=turns), in_turn)
    assert (found is None) is counts and (found is None or found.reason is Reason.NOT_IN_TURN)
    assert first_violation(bulk(turns=turns), spec()) is None


@pytest.mark.parametrize(
    ("clients", "turns", "counts"),
    [(2, (20, 2), True), (2, (20, 3), False), (1, (12, 1), True), (None, (12, 1), True), (None, (12, 2), False)],
)
def test_a_time_may_end_within_a_round(clients: int | None, turns: tuple[int, int], counts: bool) -> None:
    """Slow searches have few rounds, so that one request more of each client is a large share."""
    in_turn = spec().model_copy(update={"in_turn": InTurn(block="b", races=2, number=0)})
    found = first_violation(bulk(clients=clients, turns=TaskTurns("bulk", *turns)), in_turn)
    assert (found is None) is counts


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"shards": 2}, "number_of_shards was to be 2, Elasticsearch has 1"),
        ({"codec": "best_compression"}, "codec was to be best_compression, Elasticsearch has default"),
    ],
)
def test_settings_that_were_not_applied_are_named(asked: dict[str, object], words: str) -> None:
    violation = first_violation(GOOD, spec(elasticsearch={"index": asked}))
    assert violation is not None and violation.reason == Reason.SETTINGS_NOT_APPLIED and words in violation.message


@pytest.mark.parametrize(
    ("options", "found"),
    [(("-Xmx4g", "-Xms1g", "-Xmx1g"), None), (("-Xmx1g", "-Xmx2g"), "-Xmx2g"), (("-Xms1g",), "no -Xmx")],
)
def test_a_node_with_another_heap_is_named(options: tuple[str, ...], found: str | None) -> None:
    nodes = (rec.Node("a", version="9.0.0", jvm_arguments=options),)
    record = replace(GOOD, environment=replace(GOOD.environment, nodes=nodes))
    violation = first_violation(record, spec(elasticsearch={"version": "9.0.0", "heap": "1g"}))
    assert (violation and violation.message) == (found and f"elasticsearch.heap is 1g, but node a runs with {found}")


def test_every_pipeline_has_a_number_of_its_own() -> None:
    track = replace(GOOD.track, pipelines=("logs", "users"), pipeline_documents={"logs": 1000, "users": 10})
    ran = (rec.Pipeline("logs", 1000), rec.Pipeline("users", 10))
    assert first_violation(replace(GOOD, track=track, pipelines=ran), spec()) is None
    short = first_violation(replace(GOOD, track=track, pipelines=(ran[0], rec.Pipeline("users", 1))), spec())
    assert short is not None and short.message == "ingest pipeline users processed 1 of 10 documents"
    undetermined = replace(track, pipeline_documents={})
    assert (
        first_violation(replace(GOOD, track=undetermined, pipelines=(ran[0], rec.Pipeline("users", 1))), spec()) is None
    )


def test_a_node_that_runs_without_an_option_is_named() -> None:
    asked = {"version": "9.0.0", "nodes": 2, "jvmOptions": ["-XX:-UseG1GC"]}
    nodes = tuple(
        rec.Node(name, version="9.0.0", jvm_arguments=options)
        for name, options in (("a", ("-XX:-UseG1GC",)), ("b", ()))
    )
    record = replace(GOOD, environment=replace(GOOD.environment, nodes=nodes))
    violation = first_violation(record, spec(elasticsearch=asked))
    assert violation is not None and violation.reason == Reason.SETTINGS_NOT_APPLIED
    assert violation.message == "elasticsearch.jvmOptions has -XX:-UseG1GC, but these nodes run without it: b"


@pytest.mark.parametrize("written", [str, without_secret])
def test_an_option_that_is_a_secret_is_found_in_the_record(written: Callable[[str], str]) -> None:
    asked = {"version": "9.0.0", "jvmOptions": ["-Dhttps.proxyPassword=hunter"]}

    def violation(ran: str) -> Violation | None:
        nodes = (rec.Node("a", version="9.0.0", jvm_arguments=(written(ran),)),)
        record = replace(GOOD, environment=replace(GOOD.environment, nodes=nodes))
        return first_violation(record, spec(elasticsearch=asked))

    assert violation("-Dhttps.proxyPassword=hunter") is None
    other = violation("-Dhttps.proxyPassword=other")
    assert other is not None and other.reason == Reason.SETTINGS_NOT_APPLIED
    assert "hunter" not in other.message and "-Dhttps.proxyPassword=sha256:" in other.message


def test_another_java_is_caught() -> None:
    violation = first_violation(GOOD, spec(elasticsearch={"version": "9.0.0", "java": 25}))
    assert violation is not None and violation.reason == Reason.JAVA_MISMATCH


@pytest.mark.parametrize(("text", "major"), [("21.0.8", 21), ("1.8.0_402", 8), ("25-ea", 25), ("", None), (None, None)])
def test_java_major(text: str | None, major: int | None) -> None:
    assert java_major(text) == major


def test_documents_that_nobody_counted_are_said() -> None:
    unknown = replace(GOOD, track=replace(GOOD.track, expected_documents=None), indices=())
    assert first_violation(unknown, spec()) is None
    text = "the documents were not counted against the track: it does not determine how many there will be"
    assert remarks(unknown, [], "") == [RaceRemark(Reason.DOCUMENTS_NOT_COUNTED, text)]
    assert remarks(replace(unknown, track=replace(unknown.track, expected_documents={})), [], "") == []
    assert remarks(replace(unknown, outcome=rec.Outcome(Reason.RACE_STALLED, "stood")), [], "") == []


def test_a_shared_machine_is_said() -> None:
    (found,) = remarks(GOOD, ["n1", "n2"], "n1")
    assert found.reason == Reason.LOAD_GENERATOR_SHARED and "shared the machine n1" in found.text
    assert not remarks(GOOD, ["n1", "n2"], "n3")
