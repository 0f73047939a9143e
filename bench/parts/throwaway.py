"""Manifests of what a script builds to race against and takes away again: a small Elasticsearch and its user."""

import base64
import hashlib
import json
import secrets
from collections.abc import Sequence

import yaml

from parts.kubectl import Json, Kubectl

LABEL = "fairlap-bench"
DIGEST = "fairlap-bench-design"
VERSION = "9.0.0"
HEAP = "512m"
# At 85 % of a disk no shard is placed any more, and how full a disk is, is not what is measured.
DISK_CONFIG: Json = {
    f"cluster.routing.allocation.disk.watermark.{mark}": size
    for mark, size in (("low", "3gb"), ("high", "2gb"), ("flood_stage", "1gb"))
}
RESOURCES: Json = {"requests": {"cpu": "200m", "memory": "1Gi"}, "limits": {"memory": "1536Mi"}}
LOAD: Json = {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}}
ELASTICSEARCH = "elasticsearches.elasticsearch.k8s.elastic.co"
BUILT = (ELASTICSEARCH, "statefulsets")
KINDS = ("comparisons.fairlap.dev", *BUILT, "deployments", "services", "configmaps", "secrets")
"""in the order in which they are taken away: what races first, then what it races against"""
MOST_MINUTES = 10
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:CICompilerCount=1 -XX:-AlwaysPreTouch"
"""for a run that only shows that it works: the optimizing compiler would take half of a node's first minute"""

BESIDE_OTHERS: Json = {"disturbed": "Count"}
"""part of a Comparison's design, for such a run: what else runs makes it no longer"""


def built(quick: bool = False) -> Json:
    """Return what a Benchmark's spec.elasticsearch says of such a cluster."""
    options = {"jvmOptions": QUICK_JVM.split()} if quick else {}
    return {"version": VERSION, "heap": HEAP, **options, "config": DISK_CONFIG, "resources": RESOURCES}


def elasticsearch(name: str, bench: str, user: str, quick: bool = False) -> Json:
    """Return ECK's Elasticsearch of one node without TLS, with the user of the Secret `user`."""
    options = f"-Xms{HEAP} -Xmx{HEAP}" + (f" {QUICK_JVM}" if quick else "")
    container = {
        "name": "elasticsearch", "env": [{"name": "ES_JAVA_OPTS", "value": options}], "resources": RESOURCES,
    }  # fmt: skip
    pod = {
        "terminationGracePeriodSeconds": 10,
        "containers": [container],
        "volumes": [{"name": "elasticsearch-data", "emptyDir": {}}],
    }
    return {
        "apiVersion": "elasticsearch.k8s.elastic.co/v1",
        "kind": "Elasticsearch",
        "metadata": {"name": name, "labels": {LABEL: bench}},
        "spec": {
            "version": VERSION,
            "http": {"tls": {"selfSignedCertificate": {"disabled": True}}},
            "auth": {"fileRealm": [{"secretName": user}]},
            "nodeSets": [{"name": "default", "count": 1, "config": DISK_CONFIG, "podTemplate": {"spec": pod}}],
        },
    }


def user(name: str, bench: str) -> Json:
    """Return the Secret of a user, with a new password, that ECK and a target both read."""
    entries = {"username": "bench", "password": secrets.token_urlsafe(16), "roles": "superuser"}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/basic-auth",
        "metadata": {"name": name, "labels": {LABEL: bench}},
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in entries.items()},
    }


def comparison(name: str, bench: str, spec: Json) -> Json:
    """Return a Comparison that is labelled with a digest of its spec."""
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:12]
    return {
        "apiVersion": "fairlap.dev/v1alpha1",
        "kind": "Comparison",
        "metadata": {"name": name, "labels": {LABEL: bench, DIGEST: digest}},
        "spec": spec,
    }


def as_yaml(manifests: Sequence[Json]) -> str:
    """Return manifests as kubectl takes them."""
    return yaml.safe_dump_all(json.loads(json.dumps(manifests)), sort_keys=False, width=120)


def bring_up(kubectl: Kubectl, manifests: Sequence[Json]) -> None:
    """Apply all manifests and wait until the clusters are green and Deployments are there; keeps Secrets that exist.

    Raises CalledProcessError.
    """
    wanted = [
        each for each in manifests if each["kind"] != "Secret" or not kubectl.get("secret", each["metadata"]["name"])
    ]
    kubectl.apply(*wanted)
    timeout = f"--timeout={MOST_MINUTES}m"
    for each in manifests:
        name = each["metadata"]["name"]
        if each["kind"] == "Elasticsearch":
            kubectl("wait", "--for=jsonpath={.status.health}=green", f"elasticsearch/{name}", timeout)
        if each["kind"] in ("Deployment", "StatefulSet"):
            kubectl("rollout", "status", f"{each['kind'].lower()}/{name}", timeout)


def take_down(kubectl: Kubectl, bench: str, kinds: Sequence[str] = KINDS) -> None:
    """Delete what a script has made of these kinds, and wait until it is gone; raises CalledProcessError."""
    # Foreground: the Benchmarks of a Comparison have the same names as those of the next one.
    flags = ("--ignore-not-found", "--cascade=foreground", "--wait", f"--timeout={MOST_MINUTES}m")
    for kind in kinds:
        kubectl("delete", kind, "-l", f"{LABEL}={bench}", *flags)
