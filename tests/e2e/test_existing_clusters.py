"""Races against a cluster that the operator did not build: TLS, users, and what is there already."""

import base64
import json
from collections.abc import Iterator

import pytest
from tests.fixtures.message_form import looks_like

from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.reasons import Reason
from kube import SMALL_JVM, Json, Namespace, benchmark, condition, until

pytestmark = pytest.mark.e2e
SHOP: Json = {
    "apiVersion": "elasticsearch.k8s.elastic.co/v1",
    "kind": "Elasticsearch",
    "metadata": {"name": "shop"},
    "spec": {
        "version": "8.11.0",
        "nodeSets": [
            {
                "name": "default",
                "count": 2,
                "podTemplate": {
                    "spec": {
                        "terminationGracePeriodSeconds": 10,
                        "containers": [
                            {
                                "name": "elasticsearch",
                                "env": [{"name": "ES_JAVA_OPTS", "value": " ".join(["-Xms512m -Xmx512m", *SMALL_JVM])}],
                                "resources": {"requests": {"cpu": "200m"}, "limits": {"memory": "1536Mi"}},
                            }
                        ],
                        "volumes": [{"name": "elasticsearch-data", "emptyDir": {}}],
                    }
                },
            }
        ],
    },
}
TARGET: Json = {
    "hosts": ["https://shop-es-http:9200"],
    "credentialsSecret": {"name": "shop-user"},
    "caSecret": {"name": "shop-es-http-certs-public"},
}


def target(name: str, **changes: object) -> Json:
    made = benchmark(name, race={"params": {"documents": 1000}})
    made["spec"] |= {"target": {**TARGET, **changes}}
    del made["spec"]["elasticsearch"]
    return made


@pytest.fixture(scope="module")
def shop(namespace: Namespace) -> Iterator[Namespace]:
    """The namespace with a cluster that somebody else has, an index of theirs, and a Secret with their user."""
    namespace.apply(SHOP)
    until(
        lambda: namespace.get("elasticsearch", "shop").get("status", {}).get("health") == "green",
        180,
        lambda: "the cluster is not green",
    )
    secret = namespace.get("secret", "shop-es-elastic-user")["data"]["elastic"]
    data = {"username": base64.b64encode(b"elastic").decode(), "password": secret}
    kind = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth"}
    namespace.apply({**kind, "metadata": {"name": "shop-user"}, "data": data})
    curl(namespace, "PUT", "/orders/_doc/1?refresh=true", '{"sold": true}')
    yield namespace
    namespace.attempt("delete", "elasticsearch", "shop", "--wait=false")
    namespace.attempt("delete", "secret", "shop-user")


def curl(namespace: Namespace, method: str, path: str, body: str = "") -> str:
    """What the shop's cluster answers, asked in its pod, where nothing of ours is between."""
    script = 'curl -sk -X "$0" -u "elastic:$1" -H Content-Type:application/json "https://localhost:9200$2" -d "$3"'
    secret = namespace.get("secret", "shop-es-elastic-user")["data"]["elastic"]
    words = (method, base64.b64decode(secret).decode(), path, body)
    return namespace.kubectl("exec", "shop-es-default-0", "-c", "elasticsearch", "--", "bash", "-c", script, *words)


def indices(namespace: Namespace) -> set[str]:
    listed = json.loads(curl(namespace, "GET", "/_cat/indices?format=json"))
    return {line["index"] for line in listed if not line["index"].startswith(".")}


def test_a_race_over_tls_with_a_user_and_two_hosts_leaves_nothing_behind(shop: Namespace) -> None:
    hosts = [f"https://shop-es-http.{shop.name}.svc:9200", "https://shop-es-http:9200"]
    shop.apply(target("guest", hosts=hosts, index={"shards": 2, "replicas": 0}))
    status = shop.until_over("guest")
    assert status["phase"] == "Succeeded", json.dumps(status, indent=1)
    assert status["target"]["rally"] == "2.13" and status["version"] == "8.11.0"
    assert condition(status, "TargetChecked") == "True" and status["environment"]["nodes"] == 2
    (index,) = status["environment"]["indices"]
    assert (index["name"], index["shards"], index["documents"]) == ("access-logs", 2, 1000)
    record = json.loads(text_of(shop.get("configmap", "guest-race-1"), "record.json") or "")
    assert record["target"]["removed"] == ["index access-logs", "ingest pipeline access-logs"]
    assert indices(shop) == {"orders"} and curl(shop, "GET", "/_ingest/pipeline/access-logs") == "{}"
    reasons = {e["reason"] for e in shop.items("events") if e["involvedObject"]["name"] == "guest"}
    assert "TargetChecked" in reasons
    shop.kubectl("delete", "bm", "guest", "--timeout=200s")


def test_requests_over_http_with_tls_and_a_user(shop: Namespace) -> None:
    """An Elasticsearch is an HTTP target like any other."""
    kind = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "queries"}}
    lines = ["/orders/_search?q=sold:true", '{"method": "POST", "path": "/orders/_count", "body": {}}']
    shop.apply({**kind, "data": {"requests.ndjson": "\n".join([*lines, ""])}})
    made = target("over-http", kind="http", health="/_cluster/health")
    nodes = {"name": "nodes", "path": "/_cluster/health", "pointer": "/number_of_nodes", "between": [2, 2]}
    sweep = {"task": "requests", "clients": [1, 2], "duration": "4s", "warmup": "1s"}
    made["spec"]["race"] = {
        "requests": {"configMap": {"name": "queries"}},
        "load": {},
        "sweep": sweep,
        "probes": [nodes],
    }
    shop.apply(made)
    status = shop.until_over("over-http")
    assert status["phase"] == "Succeeded", json.dumps(status, indent=1)
    tasks = {task["task"]: task for task in status["results"]["tasks"]}
    assert list(tasks) == ["requests@1", "requests@2"]
    assert all(it["samples"] > 20 and it["http"]["statusShares"] == {"200": 1} for it in tasks.values())
    assert status["results"]["probes"][0]["value"]["median"] == 2 and status["environment"]["k6Version"]
    assert [row["clients"] for row in status["results"]["sweep"]["rows"]] == [1, 2]
    assert indices(shop) == {"orders"}
    shop.kubectl("delete", "bm", "over-http", "--timeout=200s")


def test_what_is_in_the_way_stays_as_it_is(shop: Namespace) -> None:
    curl(shop, "PUT", "/access-logs/_doc/1?refresh=true", '{"theirs": true}')
    shop.apply(target("in-the-way"))
    status = shop.until_over("in-the-way", 120)
    assert (status["phase"], status["reason"]) == ("Failed", "ClusterNotFresh")
    assert "index access-logs (1 documents)" in status["message"]
    assert '"theirs"' in curl(shop, "GET", "/access-logs/_doc/1")
    shop.kubectl("delete", "bm", "in-the-way", "--timeout=200s")
    curl(shop, "DELETE", "/access-logs")


def test_more_addresses_than_nodes_are_refused_before_rally_waits_for_them(shop: Namespace) -> None:
    names = ("shop-es-http", f"shop-es-http.{shop.name}", f"shop-es-http.{shop.name}.svc")
    shop.apply(target("twice", hosts=[f"https://{name}:9200" for name in names]))
    status = shop.until_over("twice", 120)
    assert (status["phase"], status["reason"]) == ("Failed", "InvalidSpec")
    assert "target.hosts has 3 addresses, but the cluster has 2 node(s)" in status["message"]
    shop.kubectl("delete", "bm", "twice", "--timeout=200s")


@pytest.mark.produces(Reason.SECRET_MISSING)
def test_a_secret_or_a_key_that_is_missing_is_named(shop: Namespace) -> None:
    shop.apply(target("no-secret", credentialsSecret={"name": "nobody"}))
    status = shop.until_over("no-secret", 120)
    assert (status["phase"], status["reason"]) == ("Failed", "SecretMissing")
    assert looks_like(Reason.SECRET_MISSING.example, status["message"]), status["message"]
    assert condition(status, "Accepted") == "False"
    shop.kubectl("delete", "bm", "no-secret", "--timeout=200s")


def test_another_ca_is_not_trusted(shop: Namespace) -> None:
    target_without_ca = target("untrusted")
    del target_without_ca["spec"]["target"]["caSecret"]
    shop.apply(target_without_ca)
    status = shop.until_over("untrusted", 120)
    assert (status["phase"], status["reason"]) == ("Failed", "TLSUntrusted")
    shop.kubectl("delete", "bm", "untrusted", "--timeout=200s")


@pytest.mark.produces(Reason.LOAD_GENERATOR_OUT_OF_MEMORY)
def test_a_load_generator_with_less_memory_than_rally_needs(shop: Namespace) -> None:
    starved = target("starved")
    starved["spec"]["race"]["resources"]["limits"]["memory"] = "128Mi"
    starved["spec"]["race"]["resources"]["requests"]["memory"] = "64Mi"
    shop.apply(starved)
    status = shop.until_over("starved", 180)
    assert (status["phase"], status["reason"]) == ("Failed", "LoadGeneratorOutOfMemory"), status
    assert indices(shop) == {"orders"}
    shop.kubectl("delete", "bm", "starved", "--timeout=200s")
