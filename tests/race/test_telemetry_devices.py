"""Rally's telemetry devices on a real Elasticsearch: what each collects is in the record, or it is said."""

import base64
import gzip
import json
from pathlib import Path

import pytest

from fairlap.plan.verdict.checks import first_violation
from fairlap_race.contract.reasons import Reason

from .runner import Runner, asked
from .tracks import BULK, CREATE, search, write

DEVICES = ["node-stats", "segment-stats", "recovery-stats", "shard-stats", "ingest-pipeline-stats", "data-stream-stats"]


@pytest.mark.long
def test_what_the_devices_collect_is_kept(runner: Runner, tmp_path: Path) -> None:
    params = {
        f"{name}-sample-interval": 1 for name in DEVICES if name not in ("segment-stats", "ingest-pipeline-stats")
    }
    track = write(tmp_path / "t", CREATE, BULK, {"operation": "refresh"}, search(seconds=4))
    ran = runner.run(track, telemetry=DEVICES, telemetryParams=params)

    assert first_violation(ran.record, asked()) is None, ran.output[-3000:]
    text = gzip.decompress(base64.b64decode(ran.binary["telemetry.jsonl.gz"])).decode()
    found = [json.loads(line) for line in text.splitlines()]
    of = {name: [line for line in found if line["name"] == name] for name in {line["name"] for line in found}}
    assert len(of["node-stats"]) >= 3 and all(line["node"] == "race-0" for line in of["node-stats"])
    assert any(line["index"] == "t" for line in of["segment-stats"])
    assert "shard-stats" in of, "recoveries are told only while there are some"
    results = json.loads(gzip.decompress(base64.b64decode(ran.binary["race.json.gz"])))["results"]
    assert "ingest_pipeline_cluster_count" in results
    # There is no data stream: the device that has nothing to say is named.
    warned = [it.text for it in ran.remarks() if it.reason is Reason.RALLY_WARNING]
    silent = {name for name in DEVICES if f"Rally: the telemetry device {name} collected nothing" in warned}
    assert silent == set(DEVICES) - set(of) - {"ingest-pipeline-stats"}
