"""A track on a volume, and documents that the first Benchmark downloads and the second finds."""

import hashlib
import json
from collections.abc import Iterator

import pytest
from small_examples import race_image
from tests.fixtures.message_form import looks_like

from fairlap_race.contract.reasons import Reason
from kube import Json, Namespace, benchmark, condition

# One worker for both: the second looks at what was begun before the first.
pytestmark = [pytest.mark.e2e, pytest.mark.longest(3)]
DOCUMENTS = "".join(json.dumps({"number": number, "text": f"text {number}"}) + "\n" for number in range(1000))
TRACK = {
    "version": 2,
    "description": "documents from elsewhere",
    "indices": [{"name": "numbers", "body": "index.json"}],
    "corpora": [
        {
            "name": "numbers",
            "base-url": "http://files:8000",
            "documents": [
                {
                    "source-file": "{{ file | default('documents') }}.json.bz2",
                    "document-count": 1000,
                    "uncompressed-bytes": len(DOCUMENTS),
                    "target-index": "numbers",
                }
            ],
        }
    ],
    "schedule": [
        {"operation": "delete-index"},
        {"operation": "create-index"},
        {"name": "index-numbers", "operation": {"operation-type": "bulk", "bulk-size": 10}, "clients": 1},
    ],
}
GOOD = {"volume": {"claimName": "track", "path": "team/numbers"}}
SERVE = """
set -eu
mkdir -p /tmp/served /track/team/numbers
cp /files/track.json /files/index.json /track/team/numbers/
cd /tmp/served
cp /files/documents.json .
python3 -c 'import bz2; bz2.open("documents.json.bz2", "wb").write(open("documents.json", "rb").read())'
exec python3 -u -m http.server 8000
"""


def claim(name: str) -> Json:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def server(image: str) -> list[Json]:
    """Puts the track on its volume and serves the documents; its log tells who asked."""
    labels = {"app": "files"}
    mounts = [{"name": "files", "mountPath": "/files"}, {"name": "track", "mountPath": "/track"}]
    pod = {
        "terminationGracePeriodSeconds": 1,
        "securityContext": {"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000},
        "containers": [{"name": "files", "image": image, "command": ["sh", "-c", SERVE], "volumeMounts": mounts,
                        "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1}}],
        "volumes": [{"name": "files", "configMap": {"name": "files"}},
                    {"name": "track", "persistentVolumeClaim": {"claimName": "track"}}],
    }  # fmt: skip
    files = {
        "track.json": json.dumps(TRACK),
        "index.json": '{"settings": {"index.number_of_replicas": 0}}',
        "documents.json": DOCUMENTS,
    }
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "files"}, "data": files},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "files", "labels": labels}, "spec": pod},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "files"},
         "spec": {"selector": labels, "ports": [{"port": 8000}]}},
    ]  # fmt: skip


# The checks run side by side; none of these needs much.
SMALL = {"requests": {"cpu": "50m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
SHARED = {"track": GOOD, "corpora": {"claimName": "corpora", "maxSize": "32Mi"}, "params": {}, "resources": SMALL}
NEVER = {
    "nogit": ({"track": {"git": {"url": "http://files:8000/tracks.git", "revision": "main"}}}, "TrackFetchFailed"),
    "nomirror": ({"track": {"name": "geonames", "repository": "git://none.invalid/tracks"}}, "TrackFetchFailed"),
    "nopath": ({"track": {"volume": {"claimName": "track", "path": "no/such/path"}}}, "TrackNotFound"),
    "noclaim": ({"track": {"volume": {"claimName": "nowhere"}}}, "VolumeClaimMissing"),
    "noroom": (
        {"track": GOOD, "corpora": {"claimName": "corpora", "maxSize": "1Ki"}, "params": {"file": "other"}},
        "CorporaCacheUnusable",
    ),
}


@pytest.fixture(scope="module")
def begun(namespace: Namespace) -> Iterator[Namespace]:
    """Volumes and the server, beside which the first Benchmark and those that must fail have begun."""
    namespace.apply(claim("track"), claim("corpora"), *server(race_image(namespace)))
    namespace.kubectl("wait", "--for=condition=Ready", "pod/files", "--timeout=400s", seconds=420)
    namespace.apply(
        benchmark("first", race=SHARED),
        *(benchmark(name, race={**race, "resources": SMALL}) for name, (race, _) in NEVER.items()),
    )
    yield namespace
    namespace.kubectl("delete", "bm", "first", *NEVER, "--timeout=200s")
    namespace.kubectl("delete", "pod/files", "--wait=false")


def test_two_benchmarks_share_what_one_downloaded(begun: Namespace) -> None:
    first = begun.until_over("first")
    assert first["phase"] == "Succeeded", first
    begun.apply(benchmark("second", race={**SHARED, "offline": True}))
    second = begun.until_over("second")
    assert second["phase"] == "Succeeded", second

    sha256 = hashlib.sha256(DOCUMENTS.encode()).hexdigest()
    for status, origin in ((first, "downloaded"), (second, "cache")):
        assert condition(status, "Accepted") == "True"
        assert status["environment"]["indices"][0]["documents"] == 1000
        wanted = f"numbers/documents.json, {len(DOCUMENTS)} bytes, sha256:{sha256}, {origin}"
        assert status["environment"]["corpora"] == [wanted]
    assert first["environment"]["trackDigest"] == second["environment"]["trackDigest"]
    log = begun.kubectl("logs", "pod/files")
    assert log.count('"GET /documents.json.bz2') == 1, log
    begun.kubectl("delete", "bm", "second", "--timeout=200s")


@pytest.mark.produces(Reason.TRACK_FETCH_FAILED, Reason.VOLUME_CLAIM_MISSING, Reason.CORPORA_CACHE)
def test_a_track_that_cannot_be_had_is_said_before_a_cluster_is_built(begun: Namespace) -> None:
    for name, (_, reason) in NEVER.items():
        status = begun.until_over(name, 240)
        assert (status["reason"], condition(status, "Accepted")) == (reason, "False"), status
        assert not status.get("races")
        begun.nothing_left_of(name)
        if name != "nomirror":
            known = Reason(reason)
            assert not __file__.endswith(known.test) or looks_like(known.example, status["message"]), status["message"]
    assert "none.invalid" in begun.status("nomirror")["message"]
    assert "no/such/path" in begun.status("nopath")["message"]
