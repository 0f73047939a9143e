"""Small builders of what decisions look at, shared by the tests of plan/."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fairlap.api.spec import BenchmarkSpec
from fairlap.api.status import BenchmarkStatus
from fairlap.plan.basis.conditions import condition
from fairlap.plan.basis.seen import Children, Seen, Subject
from fairlap.queue.turn import Turn
from fairlap.settings import JdkImage, Settings
from fairlap_race.contract.recorded import record as rec
from fairlap_race.contract.recorded.track_record import TrackRecord, TrackTask

START = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = Settings(
    race_image="fairlap/race:1", jdk_images={17: JdkImage("jdk:17", "/jdk"), 21: JdkImage("jdk:21", "/jdk")}
)


def spec(**changes: Any) -> BenchmarkSpec:
    """A spec of one node and one race; keyword `elasticsearch` and `race` are merged, others replace."""
    elasticsearch = {"version": "9.0.0", **changes.pop("elasticsearch", {})}
    race = {"track": {"builtin": "log_ingest"}, **changes.pop("race", {})}
    return BenchmarkSpec.model_validate({"elasticsearch": elasticsearch, "race": race, **changes})


def seen(status: BenchmarkStatus | None = None, of: BenchmarkSpec | None = None, **changes: Any) -> Seen:
    """What a decision looks at; the children are as the API server has them unless `confirmed` is False."""
    subject = Subject(name="bm", namespace="ns", uid="0123456789ab", generation=1, spec=of or spec())
    base = Seen(
        subject=subject, status=status or BenchmarkStatus(), settings=SETTINGS, now=START, turn=Turn(may_go=True)
    )
    return replace(base, **{"confirmed": True, "check_turn": Turn(may_go=True), "machines": (), **changes})


def pod(
    name: str, role: str = "elasticsearch", *, ready: bool = True, node: str = "n1", **status: Any
) -> dict[str, Any]:
    container = {"name": role, "image": "i", "imageID": "sha256:1", "state": {"running": {}}, "restartCount": 0}
    return {
        "metadata": {"name": name, "uid": name, "labels": {"fairlap.dev/role": role}},
        "spec": {"nodeName": node},
        "status": {
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            "containerStatuses": [container],
            **status,
        },
    }


def cluster(generation: int = 1, **status: Any) -> dict[str, Any]:
    found = {"phase": "Ready", "health": "green", "observedGeneration": generation, **status}
    return {"metadata": {"name": "bm-race-1", "uid": "es", "generation": generation}, "status": found}


READY = Children(elasticsearch=cluster(), pods=[pod("es-0")], ready_endpoints=1)


def job(uid: str = "job-1", *, suspend: bool = False, ended: str = "", at: datetime = START) -> dict[str, Any]:
    conditions = [{"type": ended, "status": "True", "lastTransitionTime": at.isoformat()}] if ended else []
    return {"metadata": {"name": "j", "uid": uid}, "spec": {"suspend": suspend}, "status": {"conditions": conditions}}


def progress(stage: str, task: str | None = None, percent: int | None = None) -> str:
    return rec.Progress(stage=stage, task=task, percent=percent).to_json()


def good_record(step: str = "race-1", documents: int = 1000, rate: float = 5000.0) -> rec.Record:
    """A record that every truth check accepts."""
    numbers = rec.RallyNumbers(
        throughput=rec.Throughput(rate, rate, rate, rate), service_time_millis={"p50": 5.0, "p99": 9.0}, error_rate=0.0
    )
    return rec.Record(
        mode="check" if step == "check" else "race",
        race_id=f"ns.bm.{step}",
        started_at="2026-01-01T00:00:00.000Z",
        finished_at="2026-01-01T00:01:00.000Z",
        rally=rec.Rally(version="2.13.0", exit_code=0),
        track=TrackRecord(
            name="log_ingest", challenge="default", digest="sha256:1", pipelines=("logs",),
            pipeline_documents={"logs": documents},
            tasks=(TrackTask("create-index"), TrackTask("bulk", reported=True)),
            expected_documents={"logs": documents},
        ),
        environment=rec.EnvironmentRecord(
            version="9.0.0", build_hash="abc", nodes=(rec.Node("es-0", version="9.0.0", java_version="21.0.8"),)
        ),
        fresh=rec.Fresh(),
        indices=(rec.IndexRecord("logs", shards=1, replicas=0, codec="default", health="green", documents=documents),),
        pipelines=(rec.Pipeline("logs", documents, 12),),
        nodes_restarted=(),
        tasks=(rec.Task("bulk", type="bulk", unit="docs/s", samples=rec.Counts(10, 200), rally=numbers),),
    )  # fmt: skip


def later(**span: float) -> datetime:
    return START + timedelta(**span)


def is_true(status: BenchmarkStatus, kind: str) -> bool:
    found = condition(status, kind)
    return found is not None and found.status == "True"
