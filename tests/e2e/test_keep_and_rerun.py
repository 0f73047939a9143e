"""A failed race's cluster stays as long as it was asked for and can be reached as its message says; then it goes."""

import json
import re
import shlex
import subprocess
import time

import pytest

from kube import Namespace, benchmark, environment, tool, until

pytestmark = pytest.mark.e2e
INDEX = {"settings": {"number_of_replicas": 0}}
SEARCH = {
    "operation-type": "search", "name": "s", "index": "t", "detailed-results": True,
    "body": {"query": {"match_all": {}}},
    "assertions": [{"property": "hits", "condition": "==", "value": 5}],
}  # fmt: skip
TRACK = {
    "version": 2,
    "description": "an assertion that does not hold",
    "indices": [{"name": "t", "body": "index.json"}],
    "schedule": [{"operation": {"operation-type": "create-index", "name": "c"}}, {"operation": SEARCH}],
}


def of_pods(namespace: Namespace, words: str) -> str:
    """What kubectl prints for a command in a condition's message."""
    argv = [tool("kubectl"), *shlex.split(words)[1:]]
    return subprocess.run(argv, env=environment(), check=True, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.produces("AssertionFailed")
def test_kept_reached_and_removed_and_run_again(namespace: Namespace) -> None:
    data = {"track.json": json.dumps(TRACK), "index.json": json.dumps(INDEX)}
    namespace.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "wrong-hits"}, "data": data})
    race = {"track": {"configMap": {"name": "wrong-hits"}}}
    namespace.apply(
        benchmark("kept", elasticsearch={"version": "8.6.1"}, race=race, keepCluster="OnFailure", keepClusterFor="80s")
    )
    status = namespace.until_over("kept")
    ended = time.monotonic()
    assert (status["phase"], status["reason"]) == ("Failed", "AssertionFailed"), status
    record = namespace.get("configmap", "kept-race-1")
    assert {"race.json.gz", "rally.log.gz"} <= set(record["binaryData"]), "a failed race keeps its log"
    message = next(c["message"] for c in status["conditions"] if c["type"] == "ClusterKept")
    secret = re.search(r"(kubectl -n \S+ get secret .*)$", message)
    assert secret and "port-forward service/kept-race-1-es-http 9200" in message
    # The commands of the message work: the password, and a request with it from beside the cluster.
    password = of_pods(namespace, secret[1])
    curl = ["exec", "kept-race-1-es-default-0", "-c", "elasticsearch", "--", "curl", "-sk", "-u", f"elastic:{password}"]
    assert json.loads(namespace.kubectl(*curl, "https://localhost:9200/t/_count"))["count"] == 0
    events = ["get", "events", "--field-selector=involvedObject.name=kept,reason=ClusterKept"]
    until(lambda: "port-forward" in namespace.kubectl(*events), 20, lambda: "no event says how to reach it")
    namespace.kubectl("annotate", "bm/kept", "fairlap.dev/rerun=again")
    until(lambda: namespace.attempt("get", "bm", "kept-2").returncode == 0, 20, lambda: "no kept-2")
    namespace.kubectl("delete", "bm", "kept-2", "--timeout=200s")
    version = namespace.get("bm", "kept")["status"]
    # One kubectl that watches, before those that ask again and again.
    namespace.attempt("wait", "--for=delete", "pod/kept-race-1-es-default-0", "--timeout=270s", seconds=300)
    namespace.nothing_left_of("kept", 90)
    assert time.monotonic() - ended > 20, "it stayed for a while"
    assert namespace.get("bm", "kept")["status"] == version
