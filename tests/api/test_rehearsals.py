"""Benchmarks without a race, and such as take over what another one's track check has found."""

import pytest

from .manifests import Json, benchmark
from .stage import Stage

pytestmark = pytest.mark.usefixtures("operator")
RACE: Json = {"track": {"builtin": "log_ingest"}, "params": {"bulk_size": 100}}
INDEX: Json = {"codec": "best_compression"}
FOUND = ("challenge", "expectedDocuments", "nodeSettings", "tasks", "trackRevision")
"""what a check writes"""


def said(status: Json, kind: str) -> tuple[str, str, str]:
    return next((c["status"], c["reason"], c["message"]) for c in status["conditions"] if c["type"] == kind)


def checked(status: Json) -> Json:
    return {name: status.get(name) for name in FOUND}


def test_a_rehearsal_succeeds_and_can_be_waited_for(stage: Stage, namespace: str) -> None:
    stage.apply(benchmark(namespace, repetitions=0, race={**RACE, "requireTasks": ["bulk-index"]}))
    wait = ("wait", "--for=condition=Complete", "bm/bm", f"--namespace={namespace}", "--timeout=240s")
    assert stage.plane.kubectl(*wait).returncode == 0
    status = stage.status(namespace, "bm")
    assert stage.runs(namespace) == ["bm-check", "bm-smoke"]
    words = "track check and smoke test went well; no race was asked for"
    assert (status["phase"], status["progress"], status["racesDone"]) == ("Succeeded", words, "0/0")
    assert said(status, "Complete") == ("True", "Rehearsed", words)
    assert "results" not in status
    stage.is_clean(namespace)


def test_a_rehearsal_of_the_check_alone(stage: Stage, namespace: str) -> None:
    stage.apply(benchmark(namespace, repetitions=0, smokeTest=False))
    assert stage.ends(namespace, "bm")["phase"] == "Succeeded"
    assert stage.runs(namespace) == ["bm-check"]
    stage.is_clean(namespace)


def test_the_check_of_another_benchmark_holds(stage: Stage, namespace: str) -> None:
    first = benchmark(namespace, "up-0a", repetitions=0, smokeTest=False, race=RACE, elasticsearch__index=INDEX)
    stage.apply(first)
    there = stage.ends(namespace, "up-0a")
    assert there["tasks"] == [{"name": name, "clients": 4} for name in ("bulk-index", "search-request")]
    assert there["nodeSettings"] == {"index.codec": "best_compression"}, "else nothing is proven below"
    same = {"checkedBy": "up-0a", "smokeTest": False, "elasticsearch__index": INDEX}
    where = {"machines": ["node-a", "node-b"], "avoidMachines": ["node-x", "node-y"]}
    exclusive = {**where, "exclusiveNodes": True}
    race = {**RACE, "scheduling": where}
    stage.apply(benchmark(namespace, "up-1a", race=race, elasticsearch__scheduling=exclusive, **same))
    status = stage.ends(namespace, "up-1a")
    assert status["phase"] == "Succeeded", status
    assert stage.runs(namespace) == ["up-0a-check", "up-1a-race-1"]
    assert checked(status) == checked(there)
    told = said(status, "Accepted")
    assert told == ("True", "CheckedByOther", f"checked by up-0a: {said(there, 'Accepted')[2]}")
    assert said(status, "Complete")[1] == "RacesValid"
    stage.is_clean(namespace)


@pytest.mark.long
def test_in_any_other_case_the_track_is_checked(stage: Stage, namespace: str) -> None:
    stage.apply(benchmark(namespace, "first", repetitions=0, smokeTest=False, race=RACE))
    stage.ends(namespace, "first")
    other = {**RACE, "params": {"bulk_size": 200}}
    stage.apply(
        benchmark(namespace, "other", race=other, smokeTest=False, checkedBy="first"),
        benchmark(namespace, "nobody", race=RACE, smokeTest=False, checkedBy="not-there"),
        benchmark(namespace, "itself", race=RACE, smokeTest=False, checkedBy="itself"),
    )
    for name in ("other", "nobody", "itself"):
        status = stage.ends(namespace, name)
        assert status["phase"] == "Succeeded", status
        assert said(status, "Accepted")[1] == "TrackRendered"
        assert f"{name}-check" in stage.runs(namespace)
    stage.is_clean(namespace)


def test_on_an_existing_cluster_the_first_look_stays(stage: Stage, namespace: str) -> None:
    target: Json = {"hosts": ["https://shop:9200"], "credentialsSecret": {"name": "user"}, "caSecret": {"name": "ca"}}
    common: Json = {"elasticsearch": None, "target": target, "smokeTest": False}
    stage.apply(benchmark(namespace, "up-0a", repetitions=0, **common))
    there = stage.ends(namespace, "up-0a")
    stage.apply(benchmark(namespace, "up-1a", checkedBy="up-0a", **common))
    status = stage.ends(namespace, "up-1a")
    assert status["phase"] == "Succeeded", status
    assert stage.runs(namespace) == ["up-0a-probe", "up-0a-check", "up-1a-probe", "up-1a-race-1"]
    changes = said(status, "TargetChecked")
    assert changes == ("True", "TrackWillChange", f"{said(there, 'TargetChecked')[2]} (found by the check of up-0a)")
    stage.is_clean(namespace)
