"""The CRD on a real API server: what is refused and with which sentence, what is filled in, what kubectl shows."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from .controlplane import ControlPlane
from .manifests import benchmark, comparison, http_benchmark
from .operator_process import render
from .stage import Stage
from .tools import ROOT

pytestmark = pytest.mark.independent
Json = dict[str, Any]

CAPACITY = {"task": "search", "objective": {"p99": "50ms"}, "targetThroughput": {"from": 50, "to": 500}}
PROBE: Json = {"name": "rate", "path": "/d/status", "pointer": "/1/rate", "between": [40, 60]}
SHARE: Json = {"name": "share", "path": "/_nodes/stats", "part": "/n/*/hit", "rest": "/n/*/miss", "between": [0, 1.5]}
PROBE_FORMS = "race.probes takes exactly one of pointer and part with rest: part and rest are counters that only grow"

JAVA = "elasticsearch.version {} does not run on elasticsearch.java {}: it needs Java {} or later; write that, "
JAVA += "or leave java out for the JDK of the image"
JAVA_7 = "elasticsearch.version 7.17.29 does not run on elasticsearch.java {}: 7.17 runs on Java 8 to 21; "
JAVA_7 += "write one of these, or leave java out for the JDK of the image"
VERSION = "elasticsearch.version {} cannot be built: ECK runs 7.17, 8.x and 9.x; write one of these, "
VERSION += "for example 8.11.0; for a cluster that exists already write target: instead of elasticsearch:"
REPLICAS = "elasticsearch.index.replicas {} cannot be placed on {} node(s), for each copy needs a node of its own; "
REPLICAS += "write nodes: {} or fewer replicas"
REQUESTS = "race.requests and race.track.builtin: replay need each other"
TRACK = "race.track takes exactly one source: builtin, configMap, name, git or volume"
TRACK_NAME = "race.track.revision and race.track.repository belong to race.track.name; for git write race.track.git"
CREDENTIALS = "race.track.git.url must not hold credentials: give them in a secret, as race.track.git.credentialsSecret"
STORAGE = "elasticsearch.storage takes exactly one of size (with an optional className) and ephemeral"
CLASS_NAME = "elasticsearch.storage.className needs elasticsearch.storage.size beside it, for example size: 20Gi"
PLACE = "spec takes exactly one of elasticsearch (a cluster that is built for each race) and target (a cluster that "
PLACE += "exists already)"
TWO_SECRETS = "target takes at most one of credentialsSecret (keys username and password), elasticUserSecret "
HOSTS = "target.hosts are written as https://NAME:PORT or http://NAME:PORT, without user, password and path"
HEAP_OPTION = "elasticsearch.jvmOptions sets the size of the heap: write it as elasticsearch.heap, for example heap: 1g"
FILTERS = "race.includeTasks and race.excludeTasks exclude each other: write one of them"
DURATION = "should match '^([0-9]+h)?([0-9]+m)?([0-9]+s)?$'"

GIT = {"url": "https://example.com/tracks.git", "revision": "main"}

REFUSED: dict[str, tuple[Json, str]] = {
    "9 on Java 17": ({"elasticsearch__java": 17}, JAVA.format("9.0.0", 17, 21)),
    "8 on Java 11": ({"elasticsearch": {"version": "8.11.0", "java": 11}}, JAVA.format("8.11.0", 11, 17)),
    "7 on Java 25": ({"elasticsearch": {"version": "7.17.29", "java": 25}}, JAVA_7.format(25)),
    "6.0.0": ({"elasticsearch__version": "6.0.0"}, VERSION.format("6.0.0")),
    "7.16": ({"elasticsearch__version": "7.16.3"}, VERSION.format("7.16.3")),
    "10": ({"elasticsearch__version": "10.0.0"}, VERSION.format("10.0.0")),
    "no version": ({"elasticsearch__version": None}, "spec.elasticsearch.version: Required value"),
    "not a version": ({"elasticsearch__version": "latest"}, "spec.elasticsearch.version in body should match"),
    "a zero before a part": ({"elasticsearch__version": "9.0.00"}, "spec.elasticsearch.version in body should match"),
    "a zero before all": ({"elasticsearch__version": "08.11.0"}, "spec.elasticsearch.version in body should match"),
    "unknown field": ({"elasticsearch__replicas": 1}, 'unknown field "spec.elasticsearch.replicas"'),
    "unknown field at the top": ({"targets": {}}, 'unknown field "spec.targets"'),
    "both": ({"target": {"hosts": ["http://es:9200"]}}, PLACE),
    "neither": ({"elasticsearch": None}, PLACE),
    "two users": (
        {
            "elasticsearch": None,
            "target": {
                "hosts": ["https://e:9200"],
                "credentialsSecret": {"name": "a"},
                "elasticUserSecret": {"name": "b"},
            },
        },
        TWO_SECRETS,
    ),
    "a user and an API key": (
        {
            "elasticsearch": None,
            "target": {
                "hosts": ["https://e:9200"],
                "apiKeySecret": {"name": "a"},
                "elasticUserSecret": {"name": "b"},
            },
        },
        TWO_SECRETS,
    ),
    "a certificate in the clear": (
        {"elasticsearch": None, "target": {"hosts": ["http://e:9200"], "clientCertificateSecret": {"name": "a"}}},
        "target.clientCertificateSecret is for https:// hosts only",
    ),
    "no host": ({"elasticsearch": None, "target": {"hosts": []}}, "should have at least 1 items"),
    "no scheme": ({"elasticsearch": None, "target": {"hosts": ["elastic-search:9200"]}}, HOSTS),
    "no port": ({"elasticsearch": None, "target": {"hosts": ["https://es.example"]}}, HOSTS),
    "a port beyond all": ({"elasticsearch": None, "target": {"hosts": ["https://es:65536"]}}, HOSTS),
    "an address without brackets": ({"elasticsearch": None, "target": {"hosts": ["https://fd00::1:9200"]}}, HOSTS),
    "an IPv6 address for Rally": (
        {"elasticsearch": None, "target": {"hosts": ["https://es:9200", "https://[fd00::1]:9200"]}},
        "target.hosts has an IPv6 address, which Rally cannot be given: write a name that resolves to it",
    ),
    "password in the host": ({"elasticsearch": None, "target": {"hosts": ["https://u:p@es:9200"]}}, HOSTS),
    "two schemes": (
        {"elasticsearch": None, "target": {"hosts": ["https://a1:9200", "http://b1:9200"]}},
        "target.hosts are all https:// or all http://",
    ),
    "CA without TLS": (
        {"elasticsearch": None, "target": {"hosts": ["http://a1:9200"], "caSecret": {"name": "ca"}}},
        "target.caSecret is for https:// hosts only",
    ),
    "two tracks": ({"race__track": {"builtin": "log_ingest", "configMap": {"name": "mine"}}}, TRACK),
    "revision of a builtin track": ({"race__track": {"builtin": "log_ingest", "revision": "main"}}, TRACK_NAME),
    "git and volume": ({"race__track": {"git": GIT, "volume": {"claimName": "a"}}}, TRACK),
    "password in an address": ({"race__track": {"git": {**GIT, "url": "https://me:word@host/x"}}}, CREDENTIALS),
    "token in an address": ({"race__track": {"git": {**GIT, "url": "https://token@host/x"}}}, CREDENTIALS),
    "password with a slash": ({"race__track": {"git": {**GIT, "url": "https://me:wo/rd@host/x"}}}, CREDENTIALS),
    "password with a slash for ssh": ({"race__track": {"git": {**GIT, "url": "ssh://git:wo/rd@host/x"}}}, CREDENTIALS),
    "password for ssh": ({"race__track": {"git": {**GIT, "url": "ssh://git:word@host/x"}}}, CREDENTIALS),
    "token in the address of a mirror": (
        {"race__track": {"name": "geonames", "repository": "https://token@host/x"}},
        "race.track.repository must not hold credentials: for a repository that asks for them write race.track.git, ",
    ),
    "a program as address": ({"race__track": {"git": {**GIT, "url": "ext::sh -c id"}}}, "git.url in body should match"),
    "a file as address": ({"race__track": {"git": {**GIT, "url": "file:///etc"}}}, "git.url in body should match"),
    "an option as revision": ({"race__track": {"git": {**GIT, "revision": "--x"}}}, "revision in body should match"),
    "a path that leads out": ({"race__track": {"git": {**GIT, "path": "../x"}}}, "path in body should match"),
    "a volume's path that leads out": (
        {"race__track": {"volume": {"claimName": "a", "path": "x/../.."}}},
        "path in body should match",
    ),
    "a replay without requests": ({"race__track": {"builtin": "replay"}}, REQUESTS),
    "requests for another track": ({"race__requests": {"configMap": {"name": "a"}}}, REQUESTS),
    "requests from nowhere": (
        {"race__track": {"builtin": "replay"}, "race__requests": {}},
        "race.requests takes exactly one source: configMap, volume or git",
    ),
    "password in an address of requests": (
        {"race__track": {"builtin": "replay"}, "race__requests": {"git": {**GIT, "url": "https://me:word@host/x"}}},
        CREDENTIALS.replace("track", "requests"),
    ),
    "a file of requests that is a path": (
        {"race__track": {"builtin": "replay"}, "race__requests": {"configMap": {"name": "a"}, "file": "../b"}},
        "file in body should match",
    ),
    "a metrics store without a scheme": (
        {"race__metricsStore": {"hosts": ["keep-metrics:9200"]}},
        HOSTS.replace("target", "race.metricsStore"),
    ),
    "two users of a metrics store": (
        {
            "race__metricsStore": {
                "hosts": ["https://keep:9200"],
                "apiKeySecret": {"name": "a"},
                "credentialsSecret": {"name": "b"},
            }
        },
        "race.metricsStore takes at most one of credentialsSecret (keys username and password), elasticUserSecret",
    ),
    "a CA of a metrics store without TLS": (
        {"race__metricsStore": {"hosts": ["http://keep:9200"], "caSecret": {"name": "a"}}},
        "race.metricsStore.caSecret is for https:// hosts only",
    ),
    "a metrics store that is measured": (
        {
            "elasticsearch": None,
            "target": {"hosts": ["https://a1:9200", "https://b1:9200"]},
            "race__metricsStore": {"hosts": ["https://b1:9200"]},
        },
        "race.metricsStore.hosts has a host of spec.target: what is measured cannot keep its own measurements",
    ),
    "a warm-up that is too short to be judged": (
        {"race__steady": {"maxWarmup": "44s"}},
        "race.steady.maxWarmup is too short: whether a task has settled is told from 36 seconds; write 45s or more",
    ),
    "a warm-up without an end": (
        {"race__steady": {"maxWarmup": "2h"}},
        "race.steady.maxWarmup 2h is too long: a task that has not settled by then may never; write at most 1h",
    ),
    "a warm-up of no length": ({"race__steady": {}}, "race.steady.maxWarmup: Required value"),
    "samples nowhere": ({"race__samples": {}}, "race.samples.claimName: Required value"),
    "no size": ({"race__corpora": {"claimName": "a", "maxSize": "much"}}, "maxSize in body should match"),
    "no track": ({"race__track": {}}, TRACK),
    "track missing": ({"race__track": None}, "race.track is missing: write the track to race on"),
    "race missing": ({"race": None}, "spec.race: Required value"),
    "replicas = nodes": ({"elasticsearch__index": {"replicas": 1}}, REPLICAS.format(1, 1, 2)),
    "replicas > nodes": (
        {"elasticsearch__index": {"replicas": 3}, "elasticsearch__nodes": 2},
        REPLICAS.format(3, 2, 4),
    ),
    "race: 5 minutes": ({"timeouts": {"race": "5 minutes"}}, f"spec.timeouts.race in body {DURATION}"),
    "race: 90": ({"timeouts": {"race": "90"}}, f"spec.timeouts.race in body {DURATION}"),
    "race: 1m1h": ({"timeouts": {"race": "1m1h"}}, f"spec.timeouts.race in body {DURATION}"),
    "race: ''": ({"timeouts": {"race": ""}}, "spec.timeouts.race in body should be at least 2 chars long"),
    "provisioning: -5m": ({"timeouts": {"provisioning": "-5m"}}, f"spec.timeouts.provisioning in body {DURATION}"),
    "race: no timeout, please": (
        {"timeouts": {"race": "99999999h"}},
        "timeouts.race 99999999h is too long: a race that hangs holds its place in the queue until then, and everybody "
        "waits; write at most 720h",
    ),
    "ttl": (
        {"ttlAfterFinished": {"succeeded": "99999999h"}},
        "ttlAfterFinished.succeeded 99999999h is too long: leave it out to keep them for ever; write at most 8760h",
    ),
    "race: 19 digits": ({"timeouts": {"race": "9" * 19 + "s"}}, "s is too long: a race that hangs"),
    "race: 0s": ({"timeouts": {"race": "0s"}}, "timeouts.race is no time at all: write for example 6h"),
    "provisioning: 0h0m": (
        {"timeouts": {"provisioning": "0h0m"}},
        "timeouts.provisioning is no time at all: write for example 15m",
    ),
    "race: a second too long": ({"timeouts": {"race": "720h1s"}}, "timeouts.race 720h1s is too long"),
    "provisioning: 25h": (
        {"timeouts": {"provisioning": "25h"}},
        "timeouts.provisioning 25h is too long: a cluster that never comes holds its place in the queue until then, "
        "and everybody waits; write at most 24h",
    ),
    "kept for ever": (
        {"keepCluster": "Always", "keepClusterFor": "99999h"},
        "keepClusterFor 99999h is too long: a kept cluster occupies its machines until then; write at most 720h",
    ),
    "heap of everything": (
        {"elasticsearch__heap": "9999999999g"},
        "elasticsearch.heap 9999999999g is more than any machine has; write at most half of "
        "elasticsearch.resources.limits.memory, for example 31g",
    ),
    "201 parameters": (
        {"race__params": {f"p{number}": 1 for number in range(201)}},
        "spec.race.params: Too many: 201: must have at most 200 items",
    ),
    "tolerated for ever": (
        {"race__scheduling": {"tolerations": [{"tolerationSeconds": 2**31}]}},
        "tolerationSeconds in body should be less than or equal to 2147483647",
    ),
    "storage none": ({"elasticsearch__storage": {}}, STORAGE),
    "storage both": ({"elasticsearch__storage": {"size": "1Gi", "ephemeral": {}}}, STORAGE),
    "class without size": ({"elasticsearch__storage": {"className": "fast", "ephemeral": {}}}, CLASS_NAME),
    "both filters": ({"race__includeTasks": ["a"], "race__excludeTasks": ["b"]}, FILTERS),
    "heap 1gb": ({"elasticsearch__heap": "1gb"}, "spec.elasticsearch.heap in body should match '^[1-9][0-9]*[mg]$'"),
    "heap as an option": ({"elasticsearch__jvmOptions": ["-XX:-UseG1GC", "-Xmx2g"]}, HEAP_OPTION),
    "heap as a long option": ({"elasticsearch__jvmOptions": ["-XX:MaxHeapSize=2g"]}, HEAP_OPTION),
    "two options in one": ({"elasticsearch__jvmOptions": ["-Da=1 -Db=2"]}, "jvmOptions[0] in body should match"),
    "memory": ({"elasticsearch__resources": {"limits": {"memory": "2GB"}}}, "limits.memory in body should match"),
    "less than no processor": (
        {"elasticsearch__resources": {"limits": {"cpu": -1, "memory": "2Gi"}}},
        "spec.elasticsearch.resources.limits.cpu in body should be greater than or equal to 0",
    ),
    "less than no room": (
        {"race__corpora": {"claimName": "a", "maxSize": -5}},
        "spec.race.corpora.maxSize in body should be greater than or equal to 0",
    ),
    "no node": ({"elasticsearch__nodes": 0}, "spec.elasticsearch.nodes in body should be greater than or equal to 1"),
    "too many nodes": ({"elasticsearch__nodes": 51}, "should be less than or equal to 50"),
    "no race": ({"repetitions": -1}, "spec.repetitions in body should be greater than or equal to 0"),
    "too few machines": (
        {"elasticsearch__nodes": 3, "elasticsearch__scheduling": {"exclusiveNodes": True, "machines": ["a", "b"]}},
        "elasticsearch.scheduling.exclusiveNodes gives each of the 3 nodes a machine of its own, but "
        "elasticsearch.scheduling.machines names only 2; name one for each node, or leave one of the two fields out",
    ),
    "51 machines": (
        {"race__scheduling": {"machines": [f"m{number}" for number in range(51)]}},
        "spec.race.scheduling.machines: Too many: 51: must have at most 50 items",
    ),
    "no name of a machine": (
        {"race__scheduling": {"avoidMachines": ["Node 1"]}},
        "spec.race.scheduling.avoidMachines[0] in body should match",
    ),
    "checked by nobody": ({"checkedBy": ""}, "spec.checkedBy in body should be at least 1 chars long"),
    "nothing expected": ({"race__expect": {}}, "race.expect says nothing: write documents"),
    "a pattern expected": (
        {"race__expect": {"documents": {"logs-*": 1}}},
        "race.expect.documents takes whole names of indices, aliases or data streams, without *",
    ),
    "fewer documents than none": (
        {"race__expect": {"documents": {"logs": -1}}},
        "spec.race.expect.documents.logs in body should be greater than or equal to 0",
    ),
    "nothing allowed": ({"race__allow": {}}, "race.allow says nothing: write errorRate, for example"),
    "an error rate for all": (
        {"race__allow": {"errorRate": 0.001}},
        'spec.race.allow.errorRate in body must be of type object: "number"',
    ),
    "every request may fail": (
        {"race__allow": {"errorRate": {"bulk-index": 1}}},
        "race.allow.errorRate takes the share of a task's requests that may fail, above 0 and below 1",
    ),
    "no request may fail": (
        {"race__allow": {"errorRate": {"bulk-index": 0}}},
        "race.allow.errorRate takes the share of a task's requests that may fail, above 0 and below 1",
    ),
    "0.1 percent, as a number of percent": (
        {"race__allow": {"errorRate": {"bulk-index": 10}}},
        "spec.race.allow.errorRate.bulk-index in body should be less than or equal to 1",
    ),
    **{
        f"a probe {name}": ({"race__probes": [{**PROBE, **change}]}, sentence)
        for name, change, sentence in (
            ("with a name for people", {"name": "Hit rate"}, "spec.race.probes[0].name in body should match"),
            ("of a whole address", {"path": "http://a/b"}, "spec.race.probes[0].path in body should match"),
            ("of another host", {"path": "//a/b"}, "spec.race.probes[0].path in body should match"),
            ("with a header", {"path": "/a\r\nHost: b"}, "spec.race.probes[0].path in body should match"),
            ("with a blank", {"path": "/a b"}, "spec.race.probes[0].path in body should match"),
            ("with what is not sent", {"path": "/a?b#c"}, "spec.race.probes[0].path in body should match"),
            ("of a pointer without a slash", {"pointer": "1/rate"}, "spec.race.probes[0].pointer in body should match"),
            ("of a pointer with ~2", {"pointer": "/a~2"}, "spec.race.probes[0].pointer in body should match"),
            ("with bounds the wrong way round", {"between": [60, 40]}, "race.probes.between takes the lowest and the"),
            ("with one bound", {"between": [60]}, "spec.race.probes[0].between in body should have at least 2 items"),
            ("with three bounds", {"between": [1, 2, 3]}, "spec.race.probes[0].between: Too many: 3"),
            ("with words for bounds", {"between": ["40", "60"]}, 'must be of type number: "string"'),
            ("without bounds", {"between": None}, "spec.race.probes[0].between: Required value"),
            ("of nothing", {"pointer": None}, PROBE_FORMS),
            ("of both", {"part": "/a", "rest": "/b"}, PROBE_FORMS),
            ("of a part alone", {"pointer": None, "part": "/a"}, "race.probes.part and race.probes.rest need each"),
            (
                "of a part by weight",
                {"pointer": None, "part": "/a", "rest": "/b", "weight": "/c"},
                "race.probes.weight",
            ),
            ("that changes what it reads", {"path": "/a/_flush"}, "race.probes.path is read and must change nothing"),
        )
    },
    "two probes of a name": ({"race__probes": [PROBE, PROBE]}, "race.probes has a name twice: each probe has a name"),
    "21 probes": (
        {"race__probes": [{**PROBE, "name": f"p{number}"} for number in range(21)]},
        "spec.race.probes: Too many: 21",
    ),
    "a probe of another node each time": (
        {"elasticsearch__nodes": 2, "race__probes": [{**PROBE, "path": "/_nodes/_local/stats"}]},
        "race.probes.path names _local, which is another node each time",
    ),
    "a sweep along no axis": ({"race__sweep": {"task": "a"}}, "race.sweep takes exactly one of clients"),
    "a sweep along two axes": (
        {"race__sweep": {"task": "a", "clients": [1], "targetThroughput": [5]}},
        "race.sweep takes exactly one of clients",
    ),
    "a sweep of no clients": (
        {"race__sweep": {"task": "a", "clients": [0]}},
        "spec.race.sweep.clients[0] in body should be greater than or equal to 1",
    ),
    "a sweep of the same clients twice": (
        {"race__sweep": {"task": "a", "clients": [1, 1]}},
        "Duplicate value",
    ),
    "a sweep from more to fewer": (
        {"race__sweep": {"task": "a", "clientsRange": {"from": 8, "to": 2}}},
        "race.sweep.clientsRange goes from 8 to 2: write the smaller number as from",
    ),
    "a sweep of 201 steps": (
        {"race__sweep": {"task": "a", "clientsRange": {"from": 1, "to": 201}}},
        "race.sweep has 201 steps",
    ),
    "a sweep of 202 steps, up and down": (
        {"race__sweep": {"task": "a", "clientsRange": {"from": 1, "to": 101}, "order": "upAndDown"}},
        "race.sweep has 101 steps (each twice with the order upAndDown)",
    ),
    "a sweep of no time": (
        {"race__sweep": {"task": "a", "clients": [1], "duration": "0s"}},
        "race.sweep.duration is no time at all",
    ),
    "a sweep with a warm-up alone": (
        {"race__sweep": {"task": "a", "clients": [1], "warmup": "5s"}},
        "race.sweep.warmup needs race.sweep.duration",
    ),
    "a sweep with two objectives": (
        {"race__sweep": {"task": "a", "clients": [1], "objective": {"p50": "5ms", "p99": "50ms"}}},
        "race.sweep.objective takes exactly one of p50, p90 and p99",
    ),
    "a sweep at an objective of no time": (
        {"race__sweep": {"task": "a", "clients": [1], "objective": {"p50": "0.0ms"}}},
        "a latency is a number above 0, of at most three decimal places, with the unit us, ms or s: write for example",
    ),
    "a capacity at an objective in minutes": (
        {"race__capacity": {**CAPACITY, "objective": {"p99": "1m"}}},
        "a latency is a number above 0",
    ),
    "a capacity from more to less": (
        {"race__capacity": {**CAPACITY, "targetThroughput": {"from": 500, "to": 50}}},
        "race.capacity.targetThroughput: from must be below to",
    ),
    "a capacity in too wide a range": (
        {"race__capacity": {**CAPACITY, "targetThroughput": {"from": 0.01, "to": 500}}},
        "race.capacity.targetThroughput: to is more than ten thousand times from",
    ),
    "a capacity at no objective": (
        {"race__capacity": {**CAPACITY, "objective": {"errorRate": 0}}},
        "race.capacity.objective takes exactly one of p50, p90 and p99",
    ),
    "a capacity to a ten-thousandth": (
        {"race__capacity": {**CAPACITY, "resolution": "0.01%"}},
        "spec.race.capacity.resolution in body should match",
    ),
    "a capacity by probes of no time": (
        {"race__capacity": {**CAPACITY, "duration": "0s"}},
        "race.capacity.duration is no time at all",
    ),
    "a capacity and a sweep": (
        {"race__capacity": CAPACITY, "race__sweep": {"task": "a", "clients": [1]}},
        "race.sweep and race.capacity exclude each other",
    ),
    "a required task without a name": ({"race__requireTasks": [""]}, "spec.race.requireTasks[0] in body should be"),
    "51 races": ({"repetitions": 51}, "spec.repetitions in body should be less than or equal to 50"),
    "ttl: 7 days": ({"ttlAfterFinished": {"failed": "7 days"}}, f"spec.ttlAfterFinished.failed in body {DURATION}"),
    "ttl: of something else": (
        {"ttlAfterFinished": {"aborted": "1h"}},
        'unknown field "spec.ttlAfterFinished.aborted"',
    ),
    "keepCluster": ({"keepCluster": "Sometimes"}, 'supported values: "Never", "OnFailure", "Always"'),
    "codec": ({"elasticsearch__index": {"codec": "lz4"}}, 'supported values: "default", "best_compression"'),
    "telemetry": ({"race__telemetry": ["jfr"]}, 'race.telemetry[0]: Unsupported value: "jfr"'),
    "11 secrets of registries": (
        {"imagePullSecrets": [{"name": f"registry-{number}"} for number in range(11)]},
        "spec.imagePullSecrets: Too many: 11: must have at most 10 items",
    ),
    "not a number": ({"repetitions": "three"}, "must be of type integer"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_sentence(plane: ControlPlane, case: str) -> None:
    spec, sentence = REFUSED[case]
    assert sentence in plane.refusal(benchmark("default", **spec))


def test_a_comparison_says_itself_who_has_checked(plane: ControlPlane) -> None:
    spec = {**benchmark("default")["spec"], "checkedBy": "other"}
    variants = [{"name": "a"}, {"name": "b", "patch": {"elasticsearch": {"version": "8.11.0"}}}]
    comparison = {
        **benchmark("default", "cmp"),
        "kind": "Comparison",
        "spec": {"template": spec, "variants": variants, "baseline": "a"},
    }

    def create() -> str:
        return plane.refusal(comparison)

    assert "template.checkedBy is written by the Comparison itself, which checks each variant once" in create()
    del spec["checkedBy"]
    spec["inTurn"] = {"block": "b", "races": 2, "number": 0}
    assert "template.inTurn is written by the Comparison itself: leave it out, and write design.kind: Duet" in create()
    del spec["inTurn"]
    assert create() == ""


DUET: Json = {
    "design__kind": "Duet", "design__state": "Kept", "design__tasks": ["search"], "calibrate": False,
}  # fmt: skip
STEPS_OF_SEARCH: Json = {"task": "search", "clients": [1, 8]}
KEPT: dict[str, tuple[Json, str]] = {
    "tasks of fresh clusters": ({"design__tasks": ["search"]}, "design.tasks is for design.state: Kept; with fresh"),
    "no tasks": ({"design__state": "Kept"}, "design.state: Kept needs design.tasks: the tasks that are raced in each"),
    "a gate on another task": (
        {"design__state": "Kept", "design__tasks": ["search"],
         "gates": [{"task": "bulk", "metric": "throughput", "margin": 5}]},
        "gates[].task must be one of design.tasks, since with design.state: Kept no other one is raced",
    ),
    "a target": (
        {"design__state": "Kept", "design__tasks": ["search"],
         "variants": [{"name": "8.11.0"}, {"name": "old", "target": {"hosts": ["http://es:9200"]}}]},
        "design.state: Kept is for clusters that are built: a target stays by itself",
    ),
    "a capacity that nobody looks for": (
        {"gates": [{"metric": "capacity", "margin": 5}]}, "gates[].metric capacity needs template.race.capacity"
    ),
    "the capacity of a task that is not probed": (
        {"gates": [{"task": "bulk", "metric": "capacity", "margin": 5}], "template__race__capacity": CAPACITY},
        "gates[].task is not the task of template.race.capacity",
    ),
    "a capacity outside of the blocks": (
        {"design__state": "Kept", "design__tasks": ["other"], "template__race__capacity": CAPACITY},
        "template.race.capacity.task must be one of design.tasks",
    ),
    "the capacity of the task that is probed": (
        {"gates": [{"task": "search", "metric": "capacity", "margin": 5}], "template__race__capacity": CAPACITY}, ""
    ),
    "steps outside of the blocks": (
        {"design__state": "Kept", "design__tasks": ["other"], "template__race__sweep": STEPS_OF_SEARCH},
        "template.race.sweep.task must be one of design.tasks",
    ),
    "a gate on a step": (
        {"design__state": "Kept", "design__tasks": ["search"], "template__race__sweep": STEPS_OF_SEARCH,
         "gates": [{"task": "search@8", "metric": "throughput", "margin": 5}]},
        "",
    ),
    "a gate on a step of another task": (
        {"design__state": "Kept", "design__tasks": ["search"], "template__race__sweep": STEPS_OF_SEARCH,
         "gates": [{"task": "bulk@8", "metric": "throughput", "margin": 5}]},
        "gates[].task must be one of design.tasks, since with design.state: Kept no other one is raced",
    ),
    "a gate on the task whose steps are raced": (
        {"design__state": "Kept", "design__tasks": ["search"], "template__race__sweep": STEPS_OF_SEARCH,
         "gates": [{"task": "search", "metric": "throughput", "margin": 5}]},
        "gates[].task is the task of template.race.sweep, whose steps take its place: write one of them",
    ),
    "kept on machines of their own": (
        {"design__state": "Kept", "design__tasks": ["search"],
         "template__elasticsearch__scheduling": {"exclusiveNodes": True}},
        "template.elasticsearch.scheduling.exclusiveNodes contradicts design.kind: Duet and design.state: Kept",
    ),
    "what the Comparison itself writes": (
        {"template__racedAgain": ["search"]}, "template.racedAgain is written by the Comparison itself: leave it out"
    ),
    "fine": (
        {"design__state": "Kept", "design__tasks": ["search"],
         "gates": [{"task": "search", "metric": "throughput", "margin": 5}]},
        "",
    ),
    "in turn on fresh clusters": ({"design__kind": "Duet", "calibrate": True}, ""),
    "in turn with itself on one cluster": (
        {**DUET, "calibrate": True}, "spec.calibrate must be false with design.kind: Duet and design.state: Kept"
    ),
    "in turn on machines of their own": (
        {"design__kind": "Duet", "template__elasticsearch__scheduling": {"exclusiveNodes": True}},
        "template.elasticsearch.scheduling.exclusiveNodes contradicts design.kind: Duet",
    ),
    "a rate in turn": (
        {**DUET, "gates": [{"metric": "throughput", "margin": 5}]},
        "gates[].metric takes no throughput and no latency with design.kind: Duet",
    ),
    "a latency in turn": (
        {**DUET, "gates": [{"metric": "serviceTimeP50", "margin": 5}, {"metric": "latencyP99", "margin": 5}]},
        "gates[].metric takes no throughput and no latency with design.kind: Duet",
    ),
    "warm-ups of any length in turn": (
        {**DUET, "template__race__steady": {"maxWarmup": "5m"}}, "template.race takes no steady, sweep or capacity with"
    ),
    "a capacity in turn": (
        {**DUET, "template__race__capacity": CAPACITY}, "template.race takes no steady, sweep or capacity with"
    ),
    "in turn": ({**DUET, "gates": [{"task": "search", "metric": "serviceTimeP99", "margin": 5}]}, ""),
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_clusters_that_are_kept(plane: ControlPlane, case: str) -> None:
    spec, sentence = KEPT[case]
    said = plane.refusal(comparison("default", **spec))
    assert (said == "") is (sentence == "") and sentence in said


@pytest.mark.parametrize(
    ("word", "sentence"), [("Count", ""), ("Ignore", 'spec.design.disturbed: Unsupported value: "Ignore"')]
)
def test_disturbed_blocks(plane: ControlPlane, word: str, sentence: str) -> None:
    said = plane.refusal(comparison("default", design__disturbed=word))
    assert (said == "") is (sentence == "") and sentence in said


def test_name_too_long_for_eck(plane: ControlPlane) -> None:
    def create(name: str) -> str:
        manifest = json.dumps(benchmark("default", name))
        return plane.kubectl("create", "--dry-run=server", "--filename=-", stdin=manifest).stderr

    sentence = "metadata.name is 28 characters long: write at most 27, because ECK limits the names of the clusters "
    assert f"{sentence}made from it" in create("a" * 28)
    assert create("a" * 27) == ""


TARGET = {"hosts": ["http://es:9200"]}


@pytest.mark.parametrize("name", ["9-0-0", "8.11.0", "logs.es9", "8-vs-9"])
def test_name_that_no_service_may_have(plane: ControlPlane, name: str) -> None:
    """ECK would never build the clusters, and the place would be held until timeouts.provisioning is over."""

    def create(manifest: Json) -> str:
        options = ("--dry-run=server", "--filename=-")
        return plane.kubectl("create", *options, stdin=json.dumps(manifest)).stderr

    sentence = f"metadata.name is {name}: write a name that begins with a letter and has no dot, for example es-9-0-0, "
    sentence += "because ECK names the Services of the clusters after it"
    assert sentence in create(benchmark("default", name)) and sentence in create(comparison("default", name))
    assert create(benchmark("default", f"es-{name.replace('.', '-')}")) == ""
    assert create(benchmark("default", name, elasticsearch=None, target=TARGET)) == "", "nothing is built for it"
    variants = [{"name": "a", "target": TARGET}, {"name": "b", "target": {"hosts": ["http://other:9200"]}}]
    both = {"template__elasticsearch": None, "variants": variants, "baseline": "a"}
    assert create(comparison("default", name, **both)) == ""


HTTP_REFUSED: dict[str, tuple[Json, str]] = {
    "a track": (
        {"race__track": {"builtin": "log_ingest"}},
        "race.load is how requests are sent to a target of kind http",
    ),
    "no load": ({"race__load": None}, "race.track is missing: write the track to race on; for a target of kind http"),
    "no requests": (
        {"race__requests": None},
        "race.track is missing: write the track to race on; for a target of",
    ),
    "another kind": ({"target__kind": "elasticsearch"}, "race.track and target.kind: http exclude each other"),
    "what Rally alone does": (
        {"race__challenge": "a", "race__userTags": {"a": "b"}},
        'what means nothing with target.kind: http, so leave it out: ["race.challenge", "race.userTags"]',
    ),
    "a metrics store": ({"race__metricsStore": {"hosts": ["http://m:9200"]}}, 'so leave it out: ["race.metricsStore"]'),
    "settings of an index": ({"target__index": {"shards": 1}}, "target.index, target.overwrite and target.elasticUser"),
    "another task": ({"race__sweep": {"task": "a", "clients": [1]}}, "race.sweep.task is requests with target.kind"),
    "the capacity of another task": ({"race__capacity": CAPACITY}, "race.capacity.task is requests with target.kind"),
    "errors of another task": ({"race__allow": {"errorRate": {"a": 0.1}}}, "race.allow.errorRate knows only the task"),
    "no client": ({"race__load__clients": 0}, "should be greater than or equal to 1"),
    "no time": ({"race__load__duration": "0s"}, "race.load.duration is no time at all"),
    "no exponent": ({"race__load__order": "zipf"}, "race.load.exponent belongs to race.load.order: zipf"),
    "an exponent of nothing": ({"race__load__exponent": 1.0}, "race.load.exponent belongs to race.load.order: zipf"),
    "a timeout of hours": ({"race__load__timeout": "3600s"}, "race.load.timeout in body should match"),
    "credentials as a header": ({"race__load__headers": {"Authorization": "x"}}, "and not Authorization, Cookie, Host"),
    "an API key as a header": ({"race__load__headers": {"X-Api-Key": "x"}}, "race.load.headers takes no credentials"),
    "a token as a header": ({"race__load__headers": {"x-amz-security-token": "x"}}, "headers takes no credentials"),
    "a proxy's credentials": ({"race__load__headers": {"Proxy-Authorization": "x"}}, "headers takes no credentials"),
    "a header of two lines": ({"race__load__headers": {"x": "a\nb"}}, "race.load.headers takes values of printable"),
    "no path": ({"target__health": "status"}, "target.health in body should match"),
    "no code of a character": ({"target__health": "/100%"}, "target.health in body should match"),
    "a pointer to nothing": ({"race__requests__hits": "hits"}, "race.requests.hits in body should match"),
    "from above to": (
        {"race__sweep": {"task": "requests", "clientsRange": {"from": 4, "to": 2}}},
        "race.sweep.clientsRange goes from 4 to 2: write the smaller number as from",
    ),
}


@pytest.mark.parametrize("case", HTTP_REFUSED)
def test_refused_over_http_with_a_sentence(plane: ControlPlane, case: str) -> None:
    changes, sentence = HTTP_REFUSED[case]
    assert sentence in plane.refusal(http_benchmark("default", **changes))


HTTP_ACCEPTED: dict[str, Json] = {
    "as it is": {},
    "open loop": {"race__load": {"targetThroughput": 200, "clients": 20, "order": "zipf", "exponent": 1.1}},
    "a capacity": {"race__capacity": {**CAPACITY, "task": "requests"}},
    "a sweep and a condition": {
        "race__sweep": {"task": "requests", "clientsRange": {"from": 1, "to": 20}, "interval": "10s"},
        "race__probes": [PROBE],
        "race__allow": {"errorRate": {"requests": 0.01}},
    },
    "with a user": {"target__credentialsSecret": {"name": "user"}},
    "at IPv6 addresses": {"target__hosts": ["http://[fd00::1]:9200", "http://[::ffff:192.0.2.1]:65535"]},
}


@pytest.mark.parametrize("case", HTTP_ACCEPTED)
def test_accepted_over_http(plane: ControlPlane, case: str) -> None:
    assert plane.refusal(http_benchmark("default", **HTTP_ACCEPTED[case])) == ""


ACCEPTED: dict[str, Json] = {
    "requests from git": {
        "race__track": {"builtin": "replay"},
        "race__requests": {"git": GIT, "file": "one-day.ndjson"},
    },
    "time to live": {"ttlAfterFinished": {"succeeded": "168h", "failed": "24h", "benchmark": True}},
    "8 on Java 17": {"elasticsearch": {"version": "8.11.0", "java": 17}},
    "7 on Java 8": {"elasticsearch": {"version": "7.17.29", "java": 8}},
    "9 on Java 21": {"elasticsearch__java": 21},
    "another collector": {"elasticsearch__jvmOptions": ["-XX:-UseG1GC", "-XX:+UseParallelGC"]},
    "the parts of the heap": {"elasticsearch__jvmOptions": ["-Xmn512m", "-XX:MaxHeapFreeRatio=40", "-Xss1m"]},
    "replicas < nodes": {"elasticsearch__nodes": 3, "elasticsearch__index": {"replicas": 2, "shards": 4}},
    "whole cores": {"race__resources": {"limits": {"cpu": 2, "memory": "2Gi"}}},
    "no processor reserved": {"race__resources": {"requests": {"cpu": 0}, "limits": {"memory": "2Gi"}}},
    "volume": {"elasticsearch__storage": {"className": "fast", "size": "20Gi"}},
    "free form": {"race__params": {"bulk_size": 500, "deep": {"list": [1, {"a": None}]}}},
    "elasticsearch.yml": {"elasticsearch__config": {"indices.memory.index_buffer_size": "20%"}},
    "existing cluster": {
        "elasticsearch": None,
        "target": {
            "hosts": ["https://es-0.search.svc:9200", "https://192.0.2.1:9200"],
            "credentialsSecret": {"name": "user"},
            "caSecret": {"name": "ca"},
            "index": {"shards": 2, "replicas": 1},
        },
    },
    "API key and certificate": {
        "elasticsearch": None,
        "target": {
            "hosts": ["https://e:9200"],
            "apiKeySecret": {"name": "key"},
            "clientCertificateSecret": {"name": "client"},
        },
    },
    "Elastic's track": {
        "race__track": {"name": "elastic/logs", "revision": "cff4b31", "repository": "https://mirror/x"}
    },
    "git": {"race__track": {"git": {**GIT, "url": "ssh://git@host:2222/x.git", "credentialsSecret": {"name": "s"}}}},
    "an at sign in a path": {"race__track": {"git": {**GIT, "url": "https://host:8443/a@b/c"}}},
    "track volume": {"race__track": {"volume": {"claimName": "tracks", "path": "shop/catalogue-1.2"}}},
    "samples": {"race__samples": {"claimName": "samples"}},
    "a metrics store": {
        "race__metricsStore": {
            "hosts": ["https://keep-es-http.monitoring.svc:9200"],
            "elasticUserSecret": {"name": "keep-es-elastic-user"},
            "caSecret": {"name": "keep-ca"},
        }
    },
    "a metrics store at an IPv6 address": {"race__metricsStore": {"hosts": ["https://[2001:db8::1]:9200"]}},
    "a metrics store beside a target": {
        "elasticsearch": None,
        "target": {"hosts": ["http://es:9200"]},
        "race__metricsStore": {"hosts": ["http://keep:9200"]},
    },
    "warm until it is settled": {"race__steady": {"maxWarmup": "5m"}},
    "corpora": {"race__corpora": {"claimName": "corpora", "maxSize": "200Gi"}, "race__offline": True},
    "the longest": {
        "timeouts": {"provisioning": "24h", "race": "0720h0m00s"},
        "keepClusterFor": "43200m",
        "ttlAfterFinished": {"failed": "8760h"},
    },
    "200 parameters": {"race__params": {f"p{number}": 1 for number in range(200)}},
    "registries": {"imagePullSecrets": [{"name": "registry.example.com"}]},
    "durations": {"timeouts": {"provisioning": "90s", "race": "1h30m"}},
    "rehearsal": {"repetitions": 0},
    "rehearsal of the check alone": {"repetitions": 0, "smokeTest": False},
    "checked by another": {"checkedBy": "upgrade-0a"},
    "documents by name": {"race__expect": {"documents": {"logs": 0, "a b": 10**12}}},
    "documents in all": {"race__expect": {"totalDocuments": 5}},
    "telemetry": {
        "race__telemetry": ["node-stats", "segment-stats"],
        "race__telemetryParams": {"node-stats-sample-interval": 5, "node-stats-include-mem": False},
    },
    "errors that are accepted": {"race__allow": {"errorRate": {"bulk-index": 0.001, "search term": 5e-06}}},
    "probes": {"race__probes": [PROBE, {**PROBE, "name": "own_rate", "weight": "/1/n~1~0"}, SHARE]},
    "20 probes": {"race__probes": [{**PROBE, "name": f"p{number}", "between": [1, 1]} for number in range(20)]},
    "a probe of the only node": {"race__probes": [{**PROBE, "path": "/_nodes/_local/stats?a=b,c&d=%20"}]},
    "a sweep of clients": {
        "race__sweep": {
            "task": "search",
            "clients": [1, 2, 4, 8],
            "duration": "30s",
            "warmup": "5s",
            "interval": "10s",
            "order": "upAndDown",
            "objective": {"p99": "50ms"},
        },
    },
    "a sweep of a range of clients": {
        "race__sweep": {"task": "search", "clientsRange": {"from": 1, "to": 200}, "order": "random"}
    },
    "an objective below a millisecond": {
        "race__sweep": {"task": "search", "clients": [1], "duration": "30s", "objective": {"p50": "500us"}}
    },
    "an objective between milliseconds": {"race__capacity": {**CAPACITY, "objective": {"p99": "2.5ms"}}},
    "a sweep of rates": {"race__sweep": {"task": "search", "targetThroughput": [50, 100.5], "duration": "30s"}},
    "a capacity": {"race__capacity": {**CAPACITY, "resolution": "2.5%", "clients": 16, "interval": "10s"}},
    "required tasks": {"race__requireTasks": ["bulk-index", "search term"]},
    "machines": {
        "elasticsearch__scheduling": {"machines": ["node-1", "ip-10-0-0-1.internal"], "exclusiveNodes": True},
        "race__scheduling": {"machines": [f"m{number}" for number in range(50)], "avoidMachines": ["node-1"]},
    },
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_accepted(plane: ControlPlane, case: str) -> None:
    assert plane.refusal(benchmark("default", **ACCEPTED[case])) == ""


def test_defaults_are_frozen_with_the_object(stage: Stage, namespace: str) -> None:
    stage.apply(benchmark(namespace))
    assert stage.benchmark(namespace, "bm")["spec"] == {
        "elasticsearch": {
            "version": "9.0.0",
            "nodes": 1,
            "jvmOptions": [],
            "resources": {"requests": {}, "limits": {"memory": "2Gi"}},
            "storage": {"ephemeral": {}},
            "config": {},
        },
        "race": {
            "track": {"builtin": "log_ingest"},
            "params": {},
            "includeTasks": [],
            "excludeTasks": [],
            "requireTasks": [],
            "clientOptions": {},
            "offline": False,
            "telemetry": [],
            "telemetryParams": {},
            "downSampling": 1,
            "probes": [],
            "userTags": {},
            "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "2", "memory": "2Gi"}},
        },
        "repetitions": 1,
        "smokeTest": True,
        "keepCluster": "Never",
        "keepClusterFor": "24h",
        "timeouts": {"provisioning": "15m", "race": "6h"},
        "imagePullSecrets": [],
        "suspend": False,
    }


CHANGES: dict[str, Json] = {
    "elasticsearch": {"elasticsearch": {"version": "8.11.0"}},
    "race": {"race": {"challenge": "default"}},
    "repetitions": {"repetitions": 2},
    "smokeTest": {"smokeTest": False},
    "keepCluster": {"keepCluster": "Always"},
    "keepClusterFor": {"keepClusterFor": "1h"},
    "timeouts": {"timeouts": {"race": "1h"}},
    "imagePullSecrets": {"imagePullSecrets": [{"name": "registry"}]},
}


def test_the_spec_is_immutable_but_for_suspend(stage: Stage, namespace: str) -> None:
    stage.apply(benchmark(namespace))
    declared = set(stage.benchmark(namespace, "bm")["spec"])
    assert declared == {*CHANGES, "suspend"}, "each field of the spec is either immutable or suspend"

    def patch(spec: Json) -> str:
        arguments = ("patch", "bm", "bm", f"--namespace={namespace}", "--type=merge")
        return stage.plane.kubectl(*arguments, f"--patch={json.dumps({'spec': spec})}").stderr

    for field, change in CHANGES.items():
        assert f"spec.{field} is immutable: create another Benchmark instead" in patch(change)
    assert patch({"suspend": True}) == ""
    assert stage.benchmark(namespace, "bm")["spec"]["suspend"] is True


def test_a_target_is_immutable(stage: Stage, namespace: str) -> None:
    stage.apply(benchmark(namespace, elasticsearch=None, target={"hosts": ["http://es:9200"]}))
    arguments = ("patch", "bm", "bm", f"--namespace={namespace}", "--type=merge")
    for change in ({"target": {"overwrite": True}}, {"target": None, "elasticsearch": {"version": "9.0.0"}}):
        done = stage.plane.kubectl(*arguments, f"--patch={json.dumps({'spec': change})}")
        assert "spec.target is immutable: create another Benchmark instead" in done.stderr


FREE_MAPS: dict[str, tuple[tuple[Any, ...], Any, Any]] = {
    # where, what is there, what a merge patch writes
    "params": (("race", "params"), {"size": 500}, {"size": None, "clients": 8}),
    "params to null": (("race", "params"), {"size": 500}, {"size": 501}),
    "params within": (("race", "params"), {"a": {"b": [1]}}, {"a": {"b": None, "c": [1]}}),
    "client options": (("race", "clientOptions"), {"timeout": 60}, {"timeout": None, "max_connections": 8}),
    "config": (("elasticsearch", "config"), {"a.b": 1}, {"a.b": None, "thread_pool.write.size": 1}),
    "config within": (("elasticsearch", "config"), {"a": {"b": 1}}, {"a": {"b": None, "c": 1}}),
    "settings": (("elasticsearch", "index", "settings"), {"a": 1}, {"a": None, "b": 1}),
}


@pytest.mark.parametrize("case", FREE_MAPS)
def test_no_key_of_a_map_without_schema_takes_anothers_place(stage: Stage, namespace: str, case: str) -> None:
    path, before, change = FREE_MAPS[case]

    def spec(value: Any) -> Json:
        for key in reversed(path):
            value = {key: value}
        return value

    stage.apply(benchmark(namespace, **{"__".join(path): before}))
    arguments = ("patch", "bm", "bm", f"--namespace={namespace}", "--type=merge")
    done = stage.plane.kubectl(*arguments, f"--patch={json.dumps({'spec': spec(change)})}")
    assert f"spec.{path[0]} is immutable: create another Benchmark instead" in done.stderr, done
    done = stage.plane.kubectl(*arguments, f"--patch={json.dumps({'spec': spec(before)})}")
    assert done.stderr == "", "what stays as it is may be written"


FREE_MAPS_OF_A_COMPARISON: dict[str, tuple[Json, Json, str]] = {
    "patch": ({"elasticsearch": {"nodes": 2}}, {"race": {"params": {"a": 1}}}, "variants"),
    "patch within": ({"race": {"params": {"a": 1}}}, {"race": {"params": {"b": 1}}}, "variants"),
    "config": ({"elasticsearch": {"config": {"a": 1}}}, {"elasticsearch": {"config": {"b": 1}}}, "variants"),
    "null": ({"elasticsearch": {"java": None}}, {"elasticsearch": {"heap": None}}, "variants"),
    "a null for a part": ({"race": {"params": {"a": 1}}}, {"target": None}, "variants"),
    "a part for a null": ({"target": None}, {"race": {"params": {"a": 1}}}, "variants"),
    "what the template lacks": ({"race": {"params": {"a": 1}}}, {"anything": {"params": {"a": 1}}}, "variants"),
}


@pytest.mark.parametrize("case", FREE_MAPS_OF_A_COMPARISON)
def test_no_part_of_a_patch_takes_anothers_place(stage: Stage, namespace: str, case: str) -> None:
    before, after, field = FREE_MAPS_OF_A_COMPARISON[case]

    def variants(patch: Json) -> list[Json]:
        return [{"name": "old"}, {"name": "new", "patch": patch}]

    def written(patch: Json) -> str:
        # A merge patch would drop the nulls.
        manifest = comparison(namespace, variants=variants(patch), baseline="old")
        return stage.plane.kubectl("replace", "--filename=-", stdin=json.dumps(manifest)).stderr

    stage.apply(comparison(namespace, variants=variants(before), baseline="old"))
    assert f"spec.{field} is immutable: create another Comparison instead" in written(after)
    assert written(before) == ""


def test_who_checked_it_is_immutable(stage: Stage, namespace: str) -> None:
    stage.apply(benchmark(namespace), benchmark(namespace, "other", checkedBy="bm"))
    for name, change in (("bm", "other"), ("other", "another"), ("other", None)):
        arguments = ("patch", "bm", name, f"--namespace={namespace}", "--type=merge")
        done = stage.plane.kubectl(*arguments, f"--patch={json.dumps({'spec': {'checkedBy': change}})}")
        assert "spec.checkedBy is immutable: create another Benchmark instead" in done.stderr


def test_unknown_fields_in_status_are_not_kept_and_spec_is_apart(stage: Stage, namespace: str) -> None:
    stage.apply(benchmark(namespace))
    status = {"phase": "Racing", "nonsense": 1}
    stage.patch("benchmarks", namespace, "bm", {"status": status, "spec": {"suspend": True}}, "status")
    found = stage.benchmark(namespace, "bm")
    assert found["status"].items() >= {"phase": "Racing"}.items()
    assert "nonsense" not in found["status"]
    assert found["spec"]["suspend"] is False, "a write of the status does not change the spec"


def test_what_kubectl_get_shows(stage: Stage, namespace: str) -> None:
    stage.apply(benchmark(namespace))
    status = {
        "phase": "Failed",
        "progress": "race 1/2 · bulk-index 43 %",
        "racesDone": "0/2",
        "version": "9.0.0",
        "track": "log_ingest",
        "challenge": "ramp-up",
        "reason": "ErrorRate",
    }
    stage.patch("benchmarks", namespace, "bm", {"status": status}, "status")

    def table(*arguments: str) -> list[list[str]]:
        done = stage.plane.kubectl("get", *arguments, f"--namespace={namespace}")
        assert done.returncode == 0, done.stderr
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in done.stdout.splitlines()]

    head, row = table("bm")
    assert head == ["NAME", "PHASE", "PROGRESS", "VERSION", "RACES", "AGE"]
    assert row[:-1] == ["bm", "Failed", "race 1/2 · bulk-index 43 %", "9.0.0", "0/2"]
    head, row = table("benchmarks.fairlap.dev", "-o", "wide")
    assert head == ["NAME", "PHASE", "PROGRESS", "VERSION", "RACES", "TRACK", "CHALLENGE", "REASON", "AGE"]
    assert row[5:8] == ["log_ingest", "ramp-up", "ErrorRate"]
    assert table("fairlap")[1][0] == "benchmark.fairlap.dev/bm", "the category lists it, too, beside Comparisons"


def test_kubectl_explain_tells_what_a_field_is(plane: ControlPlane) -> None:
    done = plane.kubectl("explain", "benchmark.spec.keepCluster")
    assert "Whether the last cluster stays for inspection." in " ".join(done.stdout.split())


OF_PIPELINES = ("github-actions.yaml", "gitlab-ci.yaml", "tekton.yaml")
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*.yaml") if path.name not in OF_PIPELINES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_example_is_valid(plane: ControlPlane, path: Path) -> None:
    done = plane.kubectl("create", "--dry-run=server", f"--filename={path}")
    assert done.returncode == 0, done.stderr


def test_there_are_examples() -> None:
    kinds = [doc["kind"] for path in EXAMPLES for doc in yaml.safe_load_all(path.read_text()) if doc]
    assert kinds.count("Benchmark") >= 2 and kinds.count("Comparison") >= 7


def test_the_charts_network_policies_are_accepted(plane: ControlPlane) -> None:
    rules = [{"to": [{"ipBlock": {"cidr": "192.0.2.7/32"}}], "ports": [{"port": 443}]}]
    values = {"apiServer": [{"cidr": "10.96.0.1/32", "port": 443}], "raceEgress": rules, "operatorEgress": rules}
    found = render("default", networkPolicies={"enabled": True, "eckNamespace": "elastic-system", **values})
    policies = [manifest for manifest in found if manifest["kind"] == "NetworkPolicy"]
    done = plane.kubectl(
        "apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=yaml.safe_dump_all(policies)
    )
    assert (done.returncode, done.stdout.count("created (server dry run)")) == (0, 3), done.stderr
