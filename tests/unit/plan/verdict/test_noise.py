"""The status says how small a difference could be seen, by its races and by what Comparisons have shown here."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from world import START, cluster, good_record, job, pod, progress, seen

from fairlap.api.noise_status import Noise
from fairlap.api.status import Step
from fairlap.comparison.facts.race_facts import facts, record_facts
from fairlap.comparison.noise.noise_store import Shown, benchmark_key, encode_noise
from fairlap.plan.basis.conditions import stamp
from fairlap.plan.basis.seen import Children
from fairlap.plan.benchmark import plan
from fairlap_race.contract.recorded.record import Record, Totals


def noise_after(records: dict[str, Record], data: dict[str, Any] | None, kept_on: tuple[str, ...] = ()) -> Noise:
    """Return the noise in the status after these races; `data` is that of the history's ConfigMap."""
    status = plan(seen()).status
    for name in records:
        there = {"elasticsearch": cluster(), "job": job(), "pods": [pod("es-0", node="n1")]}
        at = Step(name=name, stage="Running", since=stamp(START), job_uid="job-1")
        now = seen(status.model_copy(update={"step": at}), children=Children(**there, progress=progress("done")))  # type: ignore[arg-type]
        before = dict(list(records.items())[: list(records).index(name) + 1])
        status = plan(replace(now, records=before, noise=data, kept_on=kept_on)).status
    assert status.noise
    return status.noise


def test_races_that_differ_have_a_noise_and_one_race_has_none() -> None:
    one = noise_after({"race-1": good_record()}, {})
    assert "unknown: 1 valid race, and no Comparison" in one.message
    two = noise_after({"race-1": good_record(), "race-2": good_record("race-2", rate=5200.0)}, {})
    throughput = two.tasks[0].numbers[0]
    assert throughput.races == 2 and throughput.smallest_visible and throughput.smallest_visible > 4


def test_a_history_that_could_not_be_read_is_said() -> None:
    assert "could not be read" in noise_after({"race-1": good_record()}, None).message


def test_the_size_of_the_store_has_its_noise() -> None:
    records = {f"race-{n}": replace(good_record(f"race-{n}"), totals=Totals(store_bytes=10**6 + n)) for n in (1, 2)}
    assert [each.metric for each in noise_after(records, {}).numbers] == ["storeBytes"]


def test_a_race_on_a_kept_cluster_asks_for_what_was_shown_on_such() -> None:
    record, at = good_record(), Shown(START - timedelta(days=1), "throughput", (0.001, 0.0012, 0.0009), 4)
    host = replace(record.environment.load_generator, kernel="6.1")
    record = replace(record, environment=replace(record.environment, load_generator=host))
    beginning = benchmark_key(seen().subject.spec, [record_facts(record)], on_kept_cluster=True)
    data = encode_noise({f"{beginning}what-it-was-built-on": (at,)})
    assert noise_after({"race-1": record}, data, ("n1",)).history == "throughput"
    assert noise_after({"race-1": record}, data).history.startswith("none: no Comparison of the same work on the same")


def test_history_is_that_of_the_same_work_on_the_same_machines() -> None:
    record = good_record()
    subject = seen().subject
    at = [Shown(START - timedelta(days=1), "throughput", (0.001, 0.0012, 0.0009, 0.0011), 4)]
    status = {"races": [{"name": "race-1", "elasticsearchOn": ["n1"]}]}
    known = {**facts({"spec": subject.spec.to_json(), "status": status}), **record_facts(record)}
    key = benchmark_key(subject.spec, [known])
    assert not key.endswith("/")
    found = noise_after({"race-1": record}, encode_noise({key: tuple(at)}))
    assert found.history == "throughput" and found.tasks[0].numbers[0].smallest_visible
    other = noise_after({"race-1": record}, encode_noise({f"{key}x": tuple(at)}))
    assert other.history.startswith("none: ")
