"""The page cache is dropped before each race by a helper, and a helper that does not answer stops no race.

The helper is played by kubectl with the rights of its account; the real one runs in the end-to-end tests.
"""

import json
import threading
import time
from collections.abc import Callable

import pytest
from tests.fixtures.message_form import looks_like

from fairlap_race.contract.reasons import Reason

from .controlplane import ControlPlane
from .manifests import benchmark
from .operator_process import Operator
from .stage import Stage

pytestmark = pytest.mark.independent
NAME = "fairlap-page-cache"


@pytest.mark.parametrize("answers", [True, pytest.param(False, marks=pytest.mark.long)])
@pytest.mark.produces(Reason.PAGE_CACHE_KEPT)
def test_it_is_dropped_before_each_race_or_it_is_said(
    stage: Stage, plane: ControlPlane, namespace: str, install: Callable[..., Operator], answers: bool
) -> None:
    install(namespace, pageCache__enabled=True)
    over = threading.Event()

    def helper() -> None:
        mine = (f"--as=system:serviceaccount:{namespace}:{NAME}", f"--namespace={namespace}")
        while not over.is_set():
            done = plane.kubectl(*mine, "get", "configmap", NAME, "-o=json")
            data = json.loads(done.stdout or "{}").get("data") or {}
            for asked in (key for key in data if key.startswith("asked.node-")):
                patch = json.dumps({"data": {f"done.{asked.removeprefix('asked.')}": "dropped", asked: None}})
                plane.kubectl(*mine, "patch", "configmap", NAME, "--type=merge", f"--patch={patch}")
            time.sleep(0.2)

    thread = threading.Thread(target=helper, daemon=True)
    if answers:
        thread.start()
    stage.apply(benchmark(namespace, smokeTest=False, repetitions=2 if answers else 1))
    status = stage.ends(namespace, "bm")
    over.set()
    assert status["phase"] == "Succeeded", status
    remarks = [it["message"] for it in status["races"][0].get("remarks", ()) if it["reason"] == "PageCacheKept"]
    left = plane.kubectl(f"--namespace={namespace}", "get", "configmap", NAME, "-o=json")
    assert not json.loads(left.stdout).get("data"), "what is not waited for any more is not asked for"
    if answers:
        thread.join()
        on = [race["elasticsearchOn"][0] for race in status["races"]]
        assert [race["pageCache"] for race in status["races"]] == [f"the page cache was dropped on {it}" for it in on]
        assert not remarks
    else:
        assert remarks == [status["races"][0]["pageCache"]]
        (on,) = status["races"][0]["elasticsearchOn"]
        assert looks_like(Reason.PAGE_CACHE_KEPT.example, remarks[0].replace(on, "node-a"))
