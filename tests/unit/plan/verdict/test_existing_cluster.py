"""A Benchmark whose cluster exists already: probe, check, then races without building anything."""

from dataclasses import replace
from typing import Any

import pytest
from world import SETTINGS, good_record, later, progress, seen
from world import job as made_job

from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus, RaceStatus, Step, TargetStatus
from fairlap.manifests.race_job import job, race_spec
from fairlap.plan.basis.conditions import condition
from fairlap.plan.basis.seen import Children, Subject
from fairlap.plan.basis.steps import steps
from fairlap.plan.benchmark import plan
from fairlap.plan.verdict.checks import first_violation, remarks
from fairlap.plan.verdict.existing_cluster import intentions, race_image, removal
from fairlap.queue.turn import Turn
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded import record as rec
from fairlap_race.contract.specification.race_spec import parse_spec

OLD = replace(SETTINGS, race_images={"2.3": "race6:1"})


def spec(target: dict[str, Any] | None = None, **changes: Any) -> BenchmarkSpec:
    target = {"hosts": ["http://old:9200"], **(target or {})}
    return BenchmarkSpec.model_validate(
        {"target": target, "race": {"track": {"builtin": "log_ingest"}}, "repetitions": 2, **changes}
    )


def at(step: str, stage: str = "Running", **changes: Any) -> BenchmarkStatus:
    made = Step(name=step, stage=stage, since="2026-01-01T00:00:00Z", job_uid="job-1")
    return BenchmarkStatus(phase="Pending", step=made, start_time="2026-01-01T00:00:00Z", **changes)


def probed(version: str = "6.0.0", **outcome: Any) -> rec.Record:
    nodes = (rec.Node("n1", version=version),)
    return rec.Record(
        mode="probe",
        outcome=rec.Outcome(**outcome),
        environment=rec.EnvironmentRecord(version=version, build_hash="abc", nodes=nodes),
        target=rec.TargetReport(cluster_name="old", cluster_uuid="u-1"),
    )


def test_its_steps() -> None:
    assert steps(spec()) == ("probe", "check", "smoke", "race-1", "race-2")


def test_nothing_happens_before_its_turn_and_then_it_starts_without_provisioning() -> None:
    begun = BenchmarkStatus(phase="Pending", start_time="2026-01-01T00:00:00Z")
    waiting = plan(seen(begun, spec(), turn=Turn(may_go=False, ahead=1, behind="ns/other")))
    assert waiting.status.phase == "Queued"
    going = plan(seen(begun, spec())).status
    assert going.step
    assert (going.step.name, going.step.stage, going.phase) == ("probe", "Starting", "Pending")
    assert going.admitted_time


@pytest.mark.parametrize("finished", ["probe", "check", "smoke", "race-1"])
def test_no_step_builds_a_cluster(finished: str) -> None:
    status = BenchmarkStatus(phase="Pending", finished_step=finished, start_time="2026-01-01T00:00:00Z")
    todo = plan(seen(status, spec()))
    assert todo.status.step
    assert todo.status.step.stage == "Starting"
    assert plan(seen(todo.status, spec())).create == ("record", "job")


def collected(step: str, record: rec.Record, settings: Any = OLD, of: BenchmarkSpec | None = None) -> BenchmarkStatus:
    children = Children(job=made_job(), progress=progress("done"))
    before = at(step, target=TargetStatus(rally="2.3"), version="6.0.0")
    return plan(seen(before, of or spec(), children=children, settings=settings, records={step: record})).status


def test_the_probe_chooses_the_rally_that_speaks_to_it() -> None:
    status = collected("probe", probed("6.0.0"))
    assert status.target == TargetStatus(cluster_name="old", cluster_uuid="u-1", build_hash="abc", nodes=1, rally="2.3")
    assert status.version == "6.0.0"
    assert race_image(status, OLD) == "race6:1"
    ready = condition(status, "ClusterReady")
    assert ready
    assert ready.status == "True"
    newer = collected("probe", probed("8.11.0"))
    assert race_image(newer, OLD) == OLD.race_image


@pytest.mark.parametrize(
    ("record", "settings", "reason", "words"),
    [
        (probed("5.6.16"), OLD, Reason.CLIENT_TOO_NEW, "5.6.16"),
        (probed("6.0.0"), SETTINGS, Reason.CLIENT_TOO_NEW, "raceImages"),
        (probed(reason=Reason.SECRET_MISSING, message="no Secret x"), OLD, Reason.SECRET_MISSING, "no Secret x"),
        (probed(reason=Reason.TLS_UNTRUSTED, message="verify failed"), OLD, Reason.TLS_UNTRUSTED, "verify failed"),
    ],
)
def test_a_target_that_cannot_be_raced_is_not_accepted(
    record: rec.Record, settings: Any, reason: Reason, words: str
) -> None:
    status = collected("probe", record, settings)
    accepted = condition(status, "Accepted")
    assert status.failing
    assert accepted
    assert (accepted.status, accepted.reason) == ("False", str(reason))
    assert words in accepted.message


TOUCHES = (
    rec.Touch("index", "access-logs", creates=True, deletes=True),
    rec.Touch("ingest pipeline", "access-logs", creates=True),
)


def test_what_the_track_will_do_is_said_before_the_first_race() -> None:
    record = replace(good_record("check"), target=rec.TargetReport(touches=TOUCHES))
    status = collected("check", record)
    said = condition(status, "TargetChecked")
    assert said
    assert said.status == "True"
    assert "creates index access-logs, ingest pipeline access-logs; deletes index access-logs" in said.message
    assert "there are now: nothing" in said.message


def test_what_is_overwritten_is_said() -> None:
    there = replace(TOUCHES[0], existing=("access-logs",), documents=7)
    text = intentions(spec({"overwrite": True}), rec.TargetReport(touches=(there,), unforeseen=("task x: y",)))
    assert "index access-logs (access-logs: 7 documents)" in text
    assert "cannot be foreseen: task x: y" in text


def race_record(**changes: Any) -> rec.Record:
    return replace(good_record(), target=rec.TargetReport(touches=TOUCHES), **changes)


def test_version_and_java_are_recorded_not_compared() -> None:
    assert first_violation(race_record(environment=rec.EnvironmentRecord(version="6.0.0")), spec()) is None


def test_index_settings_are_compared() -> None:
    found = first_violation(race_record(), spec({"index": {"shards": 3}}))
    assert found
    assert found.reason == Reason.SETTINGS_NOT_APPLIED


def test_what_was_there_voids_a_race_unless_overwritten() -> None:
    record = race_record(fresh=rec.Fresh(user_indices=("logs",)))
    found = first_violation(record, spec())
    assert found
    assert found.reason == Reason.CLUSTER_NOT_FRESH
    assert first_violation(record, spec({"overwrite": True})) is None


def test_load_of_others_and_what_stayed_are_remarks() -> None:
    report = rec.TargetReport(others=(rec.OtherLoad("shop", 5, 6),), left=("index logs",))
    said = remarks(replace(good_record(), target=report), [], "")
    assert [remark.reason for remark in said] == [Reason.TARGET_SHARED, Reason.LEFT_ON_TARGET]
    assert "shop +5 documents, +6 searches" in said[0].text
    assert "left on the target: index logs" in said[1].text


@pytest.mark.parametrize(("searches", "unknown", "told"), [(6, True, True), (6, False, False), (0, True, False)])
def test_searches_that_may_be_the_tracks_own_are_told_so(searches: int, unknown: bool, told: bool) -> None:
    report = rec.TargetReport(others=(rec.OtherLoad("shop", 5, searches),), searches_unknown=unknown)
    (said,) = remarks(replace(good_record(), target=report), [], "")
    assert said.text.endswith("since not all indices are known that it searches") is told


@pytest.mark.parametrize(
    ("keep", "step", "expected"),
    [
        ("Never", "race-2", "always"), ("Never", "smoke", "always"), ("OnFailure", "race-1", "onSuccess"),
        ("Always", "race-1", "onSuccess"), ("Always", "race-2", "never"), ("Always", "smoke", "onSuccess"),
    ],
)  # fmt: skip
def test_what_a_step_removes(keep: str, step: str, expected: str) -> None:
    assert removal(spec(keepCluster=keep), step) == expected


def subject(of: BenchmarkSpec) -> Subject:
    return Subject(name="bm", namespace="ns", uid="0123456789ab", generation=1, spec=of)


SECURE = {
    "hosts": ["https://a.ns.svc:9200", "https://b:9200"],
    "credentialsSecret": {"name": "user"},
    "caSecret": {"name": "ca"},
    "overwrite": True,
}


@pytest.mark.parametrize("step", ["probe", "check", "smoke", "race-1"])
@pytest.mark.parametrize("target", [{}, SECURE, {"hosts": ["https://a:9200"]}])
def test_the_runner_reads_what_it_is_told(step: str, target: dict[str, Any]) -> None:
    of = spec(target)
    told = parse_spec(race_spec(subject(of), step, SETTINGS).to_json())
    assert told.tls is (told.hosts[0] != "old:9200")
    assert told.target
    assert told.target.overwrite is bool(target.get("overwrite"))
    secret = bool(target.get("credentialsSecret"))
    assert (told.user_file is not None, told.password_file is not None, told.ca_file is not None) == (secret,) * 3
    assert all("://" not in host for host in told.hosts)


def test_secrets_are_optional_volumes_of_chosen_keys() -> None:
    made = job(subject(spec(SECURE)), "probe", OLD, "race6:1")["spec"]["template"]["spec"]
    assert made["containers"][0]["image"] == "race6:1"
    secrets = {v["name"]: v["secret"] for v in made["volumes"] if "secret" in v}
    assert secrets["credentials"]["secretName"] == "user"
    assert [item["key"] for item in secrets["credentials"]["items"]] == ["username", "password"]
    assert [item["key"] for item in secrets["ca"]["items"]] == ["ca.crt"]
    assert all(secret["optional"] for secret in secrets.values())
    bare = job(subject(spec()), "probe", OLD)["spec"]["template"]["spec"]
    assert not [v for v in bare["volumes"] if "secret" in v]


def test_it_ends_after_its_races() -> None:
    races = [RaceStatus(name=f"race-{n}", id="x", valid=True) for n in (1, 2)]
    status = at("race-2", "Cleaning", races=races, races_done="2/2")
    todo = plan(seen(status, spec(), now=later(seconds=1), confirmed=True))
    assert todo.status.phase == "Succeeded"
    assert todo.delete == ()
