"""What is only known to fail after minutes of waiting, side by side under an operator of its own."""

import json

import pytest
from tests.fixtures.message_form import looks_like

from fairlap_race.contract.reasons import Reason
from kube import Namespace, benchmark

pytestmark = [pytest.mark.e2e, pytest.mark.longest(4)]

IMAGE = "localhost/no/such-image:1"
# Longer than Kubernetes needs to see how large a volume is: once a minute, every 15 s on localkube.
SLEEP = {"operation": {"operation-type": "sleep", "duration": 110}}
CREATE = {"operation": {"operation-type": "create-index"}}
SEARCH = {"operation": {"operation-type": "search", "index": "waits", "body": {"query": {"match_all": {}}}}}
WAITS = {
    "version": 2,
    "description": "a race that waits",
    "indices": [{"name": "waits", "body": "index.json"}],
    "schedule": [CREATE, SLEEP, SEARCH],
}


@pytest.fixture(scope="module")
def failing(crowd: Namespace) -> Namespace:
    """The namespace in which all of them have begun."""
    data = {"track.json": json.dumps(WAITS), "index.json": "{}"}
    waits = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "waits"}, "data": data}
    storage = {"ephemeral": {"sizeLimit": "16Ki"}}
    huge = {"requests": {"cpu": "900"}, "limits": {"memory": "2Gi"}}
    crowd.apply(
        waits,
        benchmark("crowded", elasticsearch={"storage": storage}, race={"track": {"configMap": {"name": "waits"}}}),
        benchmark("huge", elasticsearch={"resources": huge}, race={"params": {}}, timeouts={"provisioning": "60s"}),
        benchmark("noimage", elasticsearch={"image": IMAGE}, race={"params": {}}),
    )
    return crowd


@pytest.mark.produces(Reason.UNSCHEDULABLE)
def test_a_cluster_that_no_node_can_hold(failing: Namespace) -> None:
    status = failing.until_over("huge", 120)
    assert status["reason"] == "Unschedulable"
    assert looks_like(Reason.UNSCHEDULABLE.example, status["message"]), status["message"]
    failing.nothing_left_of("huge")


@pytest.mark.produces(Reason.IMAGE_PULL)
def test_a_wrong_image_fails_by_name_and_the_cluster_is_removed(failing: Namespace) -> None:
    status = failing.until_over("noimage", 300)
    assert status["reason"] == "ImagePull" and IMAGE in status["message"]
    assert looks_like(Reason.IMAGE_PULL.example, status["message"]), status["message"]
    failing.nothing_left_of("noimage")


@pytest.mark.produces(Reason.EVICTED)
def test_more_data_than_the_machine_lends_it(failing: Namespace) -> None:
    status = failing.until_over("crowded", 400)
    assert status["reason"] == "Evicted" and 'EmptyDir volume "elasticsearch-data" exceeds' in status["message"], status
    said = status["message"].removeprefix("race-1: ")
    assert looks_like(Reason.EVICTED.example, said), said
    failing.nothing_left_of("crowded")
