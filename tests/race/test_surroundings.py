"""What differs between races of one Benchmark, from two real ones; another machine is made by a proxy and a pod."""

from pathlib import Path
from typing import Any

import pytest

from fairlap.api.status import Environment
from fairlap.plan.verdict.checks import first_violation
from fairlap.results import drift
from fairlap.results.environment import environment
from fairlap.results.machine_facts import machine_evidence
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.watched_machines.resources import MachineTable

from .proxy import Proxy
from .runner import Ran, Runner, asked
from .server import Elasticsearch
from .tracks import BULK, CREATE, Json, write

FLAG, ANOTHER = "-XX:TieredStopAtLevel=1", "-XX:TieredStopAtLevel=4"


def surroundings(ran: Ran, digest: str) -> Environment:
    """Return what the operator makes of a race; its pod, which there is none of here, has an image of this digest."""
    assert first_violation(ran.record, asked()) is None
    container = {"name": "elasticsearch", "image": "elasticsearch:8.6.1", "imageID": f"sha256:{digest}"}
    pod: Json = {
        "metadata": {"name": "race-0"},
        "spec": {"nodeName": "a"},
        "status": {"containerStatuses": [container]},
    }
    table = MachineTable.from_json(text_of({"binaryData": ran.binary}, "resources.json"))
    machines = machine_evidence(ran.record, table, [pod], "b", asked(), None)
    return environment(ran.record, [pod], []).model_copy(update={"machines": machines})


def elsewhere(path: str, answer: Any) -> Any:
    """Return what another build of Elasticsearch would answer, with another flag and on another machine."""
    if path == "/":
        answer["version"]["build_hash"] = "another"
    for node in answer["nodes"].values() if path.startswith("/_nodes/jvm,os") else ():
        node["os"] |= {"version": "7.0.0-another", "available_processors": 96}
        flags = node["jvm"]["input_arguments"]
        node["jvm"]["input_arguments"] = [ANOTHER if it == FLAG else it for it in flags]
    return answer


@pytest.mark.long
def test_a_race_in_other_surroundings_is_told_from_one_that_ran_alike(
    runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path
) -> None:
    track = write(tmp_path / "t", CREATE, BULK)

    def raced(**way: Any) -> Ran:
        elasticsearch.reset()
        return runner.run(track, **way)

    proxy = Proxy(elasticsearch, alter_json=elsewhere)
    try:
        other = raced(hosts=[proxy.host], caFile=None)
    finally:
        proxy.shutdown()
        proxy.server_close()
    first = surroundings(raced(), "1")
    assert drift.differences(first, surroundings(raced(), "1")) == []
    found = {it.split(" ")[0]: it for it in drift.differences(first, surroundings(other, "2"))}
    assert set(found) == {"build_hash", "images", "jvm_flags", "kernel", "processors"}, found
    assert "sha256:1" in found["images"] and "sha256:2" in found["images"]
    assert found["jvm_flags"] == f'jvm_flags ["{FLAG}"], now ["{ANOTHER}"]', "of some thirty flags this one"
    assert found["kernel"].endswith(", now 7.0.0-another") and found["processors"].endswith(", now 96")
