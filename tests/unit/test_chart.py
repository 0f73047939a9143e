"""The Helm chart as helm renders it: least rights, a restricted pod, settings the operator can read."""

import copy
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml

from fairlap.api.names import ROLE_ELASTICSEARCH, ROLE_LABEL, ROLE_LOAD_GENERATOR
from fairlap.environ import settings_from_environment
from fairlap.settings import Settings
from fairlap_race.contract.specification.turns import TURNS_PORT

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "fairlap"
DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
KUBERNETES = "1.34.0"
CLUSTER_SCOPED = {"ClusterRole", "ClusterRoleBinding"}
READS = {"get", "list", "watch"}

Manifest = dict[str, Any]


@functools.cache
def helm() -> str:
    """The helm that the demo uses; HELM names another one. A missing helm is a failure, not a skip."""
    if named := os.environ.get("HELM"):
        return named
    found = subprocess.run(
        [sys.executable, "-m", "localkube", "tool", "helm"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, f"`python3 -m localkube tool helm` failed: {found.stderr[-2000:]}"
    return found.stdout.strip()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([helm(), *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def render(*settings: str, release: str = "fairlap", namespace: str = "bench") -> list[Manifest]:
    done = run(
        *("template", release, str(CHART), "--namespace", namespace, "--kube-version", KUBERNETES),
        *(argument for setting in settings for argument in ("--set", setting)),
    )
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def refusal(*settings: str) -> str:
    done = run(
        *("template", "fairlap", str(CHART), "--kube-version", KUBERNETES),
        *(argument for setting in settings for argument in ("--set", setting)),
    )
    assert done.returncode != 0, f"{settings} was accepted"
    return done.stderr


def only(manifests: list[Manifest], kind: str) -> Manifest:
    found = [manifest for manifest in manifests if manifest["kind"] == kind]
    assert len(found) == 1, f"{len(found)} objects of kind {kind}"
    return found[0]


def but_for_the_lease(manifests: list[Manifest]) -> list[Manifest]:
    return [manifest for manifest in manifests if not manifest["metadata"]["name"].endswith("-lease")]


def rules(manifests: list[Manifest]) -> Iterator[Manifest]:
    for manifest in manifests:
        if manifest["kind"] in ("Role", "ClusterRole"):
            yield from manifest["rules"]


def environment(manifests: list[Manifest]) -> dict[str, str]:
    container = only(manifests, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    return {variable["name"]: variable["value"] for variable in container["env"] if "value" in variable}


def settings_of(manifests: list[Manifest]) -> Settings:
    with mock.patch.dict(os.environ, environment(manifests)):
        return settings_from_environment()


SCOPES = [
    pytest.param((), id="namespaced"),
    pytest.param(("scope.namespaces={team-a,team-b}",), id="two-namespaces"),
    pytest.param(("scope.clusterWide=true",), id="cluster-wide"),
    pytest.param(("scope.clusterWide=true", "rbac.aggregateToUserRoles=true"), id="user-roles"),
]


def test_lint() -> None:
    done = run("lint", "--strict", str(CHART), "--kube-version", KUBERNETES)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("settings", SCOPES)
def test_no_wildcard_and_no_secret(settings: tuple[str, ...]) -> None:
    found = list(rules(render(*settings)))
    assert found
    for rule in found:
        for part in ("apiGroups", "resources", "verbs"):
            assert "*" not in rule[part], rule
        assert not {r for r in rule["resources"] if r.startswith("secrets")}, rule
        assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"]), rule


def test_only_the_right_to_see_volumes_and_machines_is_cluster_scoped_by_default() -> None:
    for settings in ((), ("scope.namespaces={team-a,team-b}",)):
        scoped = [m for m in render(*settings) if m["kind"] in CLUSTER_SCOPED]
        assert {m["metadata"]["name"] for m in scoped} == {"fairlap-bench-storage", "fairlap-bench-machines"}
        found = [(rule["resources"], rule["verbs"]) for rule in rules(scoped)]
        assert found == [(["persistentvolumes"], ["get"]), (["storageclasses"], ["get"]), (["nodes"], ["list"])]
        without = render(*settings, "rbac.storageEvidence=false", "rbac.machineCapacity=false")
        assert not [m["kind"] for m in without if m["kind"] in CLUSTER_SCOPED]


def test_roles_are_where_benchmarks_are() -> None:
    manifests = render("scope.namespaces={team-a,team-b}")
    for kind in ("Role", "RoleBinding"):
        found = {(m["metadata"]["name"], m["metadata"]["namespace"]) for m in manifests if m["kind"] == kind}
        assert found == {("fairlap", "team-a"), ("fairlap", "team-b"), ("fairlap-lease", "bench")}
    for binding in (m for m in manifests if m["kind"] == "RoleBinding"):
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "fairlap", "namespace": "bench"}]
    assert environment(manifests)["FAIRLAP_NAMESPACES"] == "team-a,team-b"


def test_cluster_wide_watches_everything_with_the_same_rules() -> None:
    manifests = render("scope.clusterWide=true", "rbac.storageEvidence=false", "rbac.machineCapacity=false")
    assert environment(manifests)["FAIRLAP_NAMESPACES"] == ""
    assert only(manifests, "ClusterRole")["rules"] == only(but_for_the_lease(render()), "Role")["rules"]
    assert not [m for m in but_for_the_lease(manifests) if m["kind"] == "Role"]


def test_the_default_watches_the_release_namespace() -> None:
    assert environment(render(namespace="perf"))["FAIRLAP_NAMESPACES"] == "perf"


def test_the_operator_holds_what_the_race_roles_grant() -> None:
    held = {(r, verb) for rule in rules(render()) for r in rule["resources"] for verb in rule["verbs"]}
    assert {("configmaps", "get"), ("configmaps", "patch")} <= held
    assert {("roles", "create"), ("rolebindings", "create")} <= held
    # One that is there already is read, to see whose it is; it is never listed, changed or deleted.
    granting = {(r, v) for r, v in held if r in ("roles", "rolebindings", "serviceaccounts")}
    assert granting == {(r, v) for r in ("roles", "rolebindings", "serviceaccounts") for v in ("get", "create")}


def test_comparisons_are_followed_and_answered_but_never_changed() -> None:
    held = {(r, verb) for rule in rules(render()) for r in rule["resources"] for verb in rule["verbs"]}
    assert {verb for r, verb in held if r == "comparisons"} == READS
    assert {verb for r, verb in held if r in ("comparisons/status", "comparisons/finalizers")} == {"update"}
    assert {(r, "update") for r in ("comparisons/status", "comparisons/finalizers")} <= held
    assert ("benchmarks", "create") in held and ("benchmarks", "delete") not in held


def test_users_may_do_with_comparisons_what_they_may_with_benchmarks() -> None:
    manifests = render("rbac.aggregateToUserRoles=true")
    for role in (m for m in manifests if m["metadata"]["name"].endswith(("-edit", "-view"))):
        for rule in role["rules"]:
            assert {r.replace("benchmarks", "comparisons") for r in rule["resources"]} <= set(rule["resources"])


def test_the_secrets_of_registries_reach_the_operator() -> None:
    assert "FAIRLAP_RACE_IMAGE_PULL_SECRETS" not in environment(render())
    named = environment(render("raceImagePullSecrets[0].name=one", "raceImagePullSecrets[1].name=two"))
    assert named["FAIRLAP_RACE_IMAGE_PULL_SECRETS"] == "one,two"


def test_what_expired_is_deleted_only_where_that_was_allowed() -> None:
    def deletes(*settings: str) -> set[str]:
        return {r for rule in rules(render(*settings)) for r in rule["resources"] if "delete" in rule["verbs"]}

    assert deletes("rbac.deleteExpired=true") - deletes() == {"configmaps", "benchmarks"}


def test_view_only_reads() -> None:
    manifests = render("scope.clusterWide=true", "rbac.aggregateToUserRoles=true")
    view = next(m for m in manifests if m["metadata"]["name"].endswith("-view"))
    assert {verb for rule in view["rules"] for verb in rule["verbs"]} <= READS
    assert "rbac.authorization.k8s.io/aggregate-to-view" in view["metadata"]["labels"]


def test_the_pod_is_restricted() -> None:
    pod = only(render(), "Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["terminationGracePeriodSeconds"] == 30
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": "metrics"}
    assert container["resources"]["limits"]["memory"]


def test_one_operator_at_a_time() -> None:
    spec = only(render(), "Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    manifests = render("leaseSeconds=7", "scope.namespaces={team-a}")
    settings = settings_of(manifests)
    assert (settings.lease, settings.lease_seconds) == ("bench/fairlap", 7)
    (role,) = (m for m in manifests if m["kind"] == "Role" and m["metadata"]["name"] == "fairlap-lease")
    assert [rule["verbs"] for rule in role["rules"]] == [["create"], ["get", "update"]]
    assert role["rules"][1]["resourceNames"] == ["fairlap"]


def test_the_operator_reads_its_settings() -> None:
    manifests = render(
        "jdkImages.25.image=registry.example/jdk:25", "jdkImages.25.path=/jdk", "maxActive=3", "metrics.port=9000",
        "maxActivePerNamespace=2", "maxChecks=4", "canarySeconds=1", "avoidKeptClusters=false",
        "raceImage.repository=registry.example/race", "raceImage.tag=v7", "raceImage.pullPolicy=Always",
    )  # fmt: skip
    settings = settings_of(manifests)
    assert settings.race_image == "registry.example/race:v7"
    assert settings.race_image_pull_policy == "Always"
    assert set(settings.jdk_images) == {17, 21, 25}
    assert settings.jdk_images[25].path == "/jdk"
    assert (settings.max_active, settings.metrics_port) == (3, 9000)
    assert (settings.max_active_per_namespace, settings.max_checks, settings.avoid_kept_clusters) == (2, 4, False)
    assert (settings.canary_seconds, settings_of(render()).canary_seconds) == (1, 3)
    assert settings.namespaces == ("bench",)
    assert only(manifests, "Service")["spec"]["ports"][0]["port"] == 9000


def test_images_have_the_app_version() -> None:
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
    manifests = render()
    assert environment(manifests)["FAIRLAP_RACE_IMAGE"] == f"fairlap/race:{version}"
    container = only(manifests, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == f"fairlap/operator:{version}"


def test_service_monitor_is_optional_and_finds_the_service() -> None:
    assert not [m for m in render() if m["kind"] == "ServiceMonitor"]
    manifests = render("metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.labels.release=prometheus")
    monitor, service = only(manifests, "ServiceMonitor"), only(manifests, "Service")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]
    assert monitor["metadata"]["labels"]["release"] == "prometheus"


def test_pod_monitor_is_optional_and_finds_the_pod() -> None:
    assert not [m for m in render() if m["kind"] == "PodMonitor"]
    manifests = render("metrics.podMonitor.enabled=true", "metrics.podMonitor.labels.release=prometheus")
    monitor, template = only(manifests, "PodMonitor"), only(manifests, "Deployment")["spec"]["template"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    ports = [port["name"] for port in template["spec"]["containers"][0]["ports"]]
    assert [endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]] == ports
    assert monitor["metadata"]["labels"]["release"] == "prometheus"


def test_prometheus_reaches_the_operator_and_its_secrets_only_as_files() -> None:
    assert not [name for name in environment(render()) if "PROMETHEUS" in name]
    manifests = render(
        "prometheus.url=https://prometheus.example:9090", "prometheus.labels.cluster=perf-1",
        "prometheus.credentialsSecret.name=prom", "prometheus.caSecret.name=ca", "prometheus.caSecret.key=tls.crt",
    )  # fmt: skip
    settings = settings_of(manifests).prometheus
    assert (settings.url, settings.labels) == ("https://prometheus.example:9090", {"cluster": "perf-1"})
    pod = only(manifests, "Deployment")["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount for mount in pod["containers"][0]["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert mounts["prometheus"] == {"name": "prometheus", "mountPath": settings.credentials, "readOnly": True}
    assert volumes["prometheus"]["secret"]["secretName"] == "prom"
    assert settings.ca_file == f"{mounts['prometheus-ca']['mountPath']}/ca.crt"
    assert volumes["prometheus-ca"]["secret"]["items"] == [{"key": "tls.crt", "path": "ca.crt"}]


POLICIES = ("networkPolicies.enabled=true", "networkPolicies.apiServer[0].cidr=10.96.0.1/32")


def test_network_policies_are_off_by_default() -> None:
    assert not [m for m in render() if m["kind"] == "NetworkPolicy"]


def test_each_pod_may_talk_to_what_it_needs_and_to_nothing_else() -> None:
    manifests = render(*POLICIES, "scope.namespaces={team-a,team-b}", "networkPolicies.eckNamespace=eck")
    found = {
        (m["metadata"]["namespace"], m["metadata"]["name"]): m["spec"]
        for m in manifests
        if m["kind"] == "NetworkPolicy"
    }
    spaces = ("team-a", "team-b")
    roles = ("load-generator", "elasticsearch")
    assert set(found) == {("bench", "fairlap"), *((space, f"fairlap-{role}") for space in spaces for role in roles)}
    assert all(spec["policyTypes"] == ["Ingress", "Egress"] for spec in found.values())
    operator, race, cluster = (
        found[key]
        for key in (("bench", "fairlap"), ("team-a", "fairlap-load-generator"), ("team-a", "fairlap-elasticsearch"))
    )
    template = only(manifests, "Deployment")["spec"]["template"]
    assert operator["podSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    assert operator["ingress"] == [{"ports": [{"port": "metrics"}]}]
    each_other = [{"podSelector": {"matchLabels": {ROLE_LABEL: ROLE_LOAD_GENERATOR}}}]
    assert race["ingress"] == [{"from": each_other, "ports": [{"port": TURNS_PORT}]}], "those that take turns"
    assert {"to": each_other, "ports": [{"port": TURNS_PORT}]} in race["egress"]
    api_server = {"to": [{"ipBlock": {"cidr": "10.96.0.1/32"}}], "ports": [{"port": 443}]}
    assert api_server in operator["egress"]
    assert api_server in race["egress"]
    assert api_server not in cluster["egress"]
    # The labels are those that the operator gives its pods.
    assert race["podSelector"]["matchLabels"] == {ROLE_LABEL: ROLE_LOAD_GENERATOR}
    assert cluster["podSelector"]["matchLabels"] == {ROLE_LABEL: ROLE_ELASTICSEARCH}
    askers = cluster["ingress"][0]["from"]
    assert {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "eck"}}} in askers
    assert {"podSelector": {"matchLabels": {ROLE_LABEL: ROLE_LOAD_GENERATOR}}} in askers


def test_the_privileged_pods_of_the_page_cache_have_a_policy_too() -> None:
    manifests = render(*POLICIES, "pageCache.enabled=true", "networkPolicies.raceEgress[0].ports[0].port=22")
    policies = {m["metadata"]["name"]: m for m in manifests if m["kind"] == "NetworkPolicy"}
    policy, helper = policies["fairlap-page-cache"], only(manifests, "DaemonSet")
    assert policy["metadata"]["namespace"] == helper["metadata"]["namespace"]
    spec, labels = policy["spec"], helper["spec"]["template"]["metadata"]["labels"]
    assert spec["podSelector"]["matchLabels"] == labels
    assert (spec["policyTypes"], spec["ingress"]) == (["Ingress", "Egress"], []), "nobody asks a helper anything"
    dns = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}
    api_server = {"to": [{"ipBlock": {"cidr": "10.96.0.1/32"}}], "ports": [{"port": 443}]}
    assert spec["egress"] == [dns, api_server]
    assert not policies["fairlap"]["spec"]["podSelector"]["matchLabels"].items() <= labels.items()


def test_more_egress_goes_to_the_pods_that_need_it() -> None:
    manifests = render(
        *POLICIES,
        "networkPolicies.raceEgress[0].ports[0].port=22",
        "networkPolicies.operatorEgress[0].ports[0].port=9090",
    )
    found = {m["metadata"]["name"]: m["spec"]["egress"] for m in manifests if m["kind"] == "NetworkPolicy"}
    assert {"ports": [{"port": 22}]} in found["fairlap-load-generator"]
    assert {"ports": [{"port": 9090}]} in found["fairlap"]
    assert not any({"ports": [{"port": port}]} in found["fairlap-elasticsearch"] for port in (22, 9090))


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        (("nosuch=1",), "nosuch"),
        (("prometheus.url=http://me:secret@prometheus:9090",), "url"),
        (("prometheus.url=prometheus:9090",), "url"),
        (("tracks.repository=https://me:secret@mirror/x",), "repository"),
        (("tracks.repository=https://me:sec/ret@mirror/x",), "repository"),
        (("tracks.repository=https://token@mirror/x",), "repository"),
        (("tracks.repository=ssh://git:secret@mirror/x",), "repository"),
        (("maxActive=0",), "maxActive"),
        (("maxActivePerNamespace=-1",), "maxActivePerNamespace"),
        (("maxChecks=0",), "maxChecks"),
        (("canarySeconds=-1",), "canarySeconds"),
        (("canarySeconds=61",), "canarySeconds"),
        (("avoidKeptClusters=perhaps",), "avoidKeptClusters"),
        (("metrics.port=80",), "port"),
        (("image.pullPolicy=Sometimes",), "pullPolicy"),
        (("jdkImages.x.image=a", "jdkImages.x.path=/a"), "jdkImages"),
        (("jdkImages.21.path=relative",), "path"),
        (("scope.namespaces={Not_A_Name}",), "namespaces"),
        (("scope.clusterWide=true", "scope.namespaces={a}"), "leave scope.namespaces empty"),
        (("serviceAccount.create=false",), "serviceAccount.name is needed"),
        (("networkPolicies.enabled=true",), "networkPolicies.apiServer is empty"),
        ((*POLICIES, "scope.clusterWide=true"), "networkPolicies.enabled needs scope.namespaces"),
        ((*POLICIES, "networkPolicies.apiServer[0].cidr=kubernetes.default"), "cidr"),
        (("podLabels.app\\.kubernetes\\.io/name=zzz",), "podLabels: app.kubernetes.io/name is the chart's own label"),
        (("podLabels.fairlap\\.dev/role=load-generator",), "podLabels: fairlap.dev/role is"),
        (("metrics.podMonitor.interval=1m 30s",), "interval"),
        (("metrics.podMonitor.interval=30s1m",), "interval"),
        (("metrics.podMonitor.interval=",), "interval"),
    ],
)
def test_wrong_values_are_refused(settings: tuple[str, ...], word: str) -> None:
    assert word in refusal(*settings)


@pytest.mark.parametrize(
    ("where", "enabled"),
    [
        ("metrics.serviceMonitor.labels", "metrics.serviceMonitor.enabled=true"),
        ("metrics.podMonitor.labels", "metrics.podMonitor.enabled=true"),
        ("grafana.dashboard.labels", "grafana.dashboard.enabled=true"),
    ],
)
def test_no_label_of_the_user_stands_a_second_time_beside_the_charts_own(where: str, enabled: str) -> None:
    assert f"{where}: helm.sh/chart is" in refusal(enabled, f"{where}.helm\\.sh/chart=zzz")


def test_labels_of_the_user_stand_beside_those_that_are_selected() -> None:
    spec = only(render("podLabels.team=a", "podLabels.app\\.kubernetes\\.io/part-of=b"), "Deployment")["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert {"team": "a", "app.kubernetes.io/part-of": "b", **spec["selector"]["matchLabels"]}.items() <= labels.items()


def test_intervals_are_those_that_the_prometheus_operator_takes() -> None:
    schema = SCHEMA["definitions"]["monitor"]["properties"]["interval"]
    for text, takes in {
        "30s": True, "500ms": True, "1m30s": True, "1h": True, "1d": True, "1w2d3h4m5s6ms": True, "": False,
        "30": False, "30s1m": False, "1m 30s": False, "1.5m": False, "-1m": False,
    }.items():  # fmt: skip
        assert bool(len(text) >= schema.get("minLength", 0) and re.search(schema["pattern"], text)) == takes, text
    monitor = only(render("metrics.podMonitor.enabled=true", "metrics.podMonitor.interval=1m30s"), "PodMonitor")
    assert [each["interval"] for each in monitor["spec"]["podMetricsEndpoints"]] == ["1m30s"]


@pytest.mark.parametrize(
    "url",
    ["https://mirror", "http://mirror:80/x@y.git", "git://mirror/x", "ssh://git@mirror:22/x.git", "ssh://mirror:22/x"],
)
def test_mirrors_of_the_tracks(url: str) -> None:
    assert settings_of(render(f"tracks.repository={url}")).tracks_repository == url


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from leaves(inner)
    else:
        yield value


@pytest.mark.parametrize("odd", ["4711", "null", "2024-01-02"])
@pytest.mark.parametrize("scope", ['{"clusterWide": true}', '{"namespaces": ["4712", "false"]}'])
def test_names_that_yaml_reads_as_something_else_stay_names(tmp_path: Path, odd: str, scope: str) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(f'''
scope: {scope}
priorityClassName: "{odd}"
serviceAccount: {{name: "{odd}"}}
pageCache: {{enabled: true}}
grafana: {{dashboard: {{enabled: true}}}}
metrics: {{serviceMonitor: {{enabled: true}}, podMonitor: {{enabled: true}}}}
prometheus: {{url: "http://p", credentialsSecret: {{name: "{odd}"}}, caSecret: {{name: "{odd}"}}}}
networkPolicies:
  {{enabled: {str("namespaces" in scope).lower()}, apiServer: [{{cidr: "10.96.0.1/32"}}], eckNamespace: "{odd}"}}
rbac: {{aggregateToUserRoles: true}}
''')
    release = "1" * 53  # helm's longest: the chart's own name finds no room behind it
    command = ("template", release, str(CHART), "--namespace", odd, "--kube-version", KUBERNETES, "-f", str(values))
    done = run(*command)
    assert done.returncode == 0, done.stderr
    manifests = [document for document in yaml.safe_load_all(done.stdout) if document]
    assert not {yaml.safe_load(text) for text in (odd, "4712", release, release[:52])} & set(leaves(manifests))
    names = {name for each in manifests for name in (each["metadata"].get("namespace", odd), each["metadata"]["name"])}
    assert all(isinstance(name, str) for name in names)
    assert {"4712", "false"} <= names or "clusterWide" in scope


def test_every_value_is_in_the_schema() -> None:
    assert set(DEFAULTS) == set(SCHEMA["properties"]) - {"global"}


def each_value(values: dict[str, Any], schema: Any, path: str = "") -> Iterator[tuple[str, Any, bool, bool]]:
    """Each value of values.yaml: its path, its default, whether it may be missing, and whether the schema lets it."""
    for key, default in values.items():
        here = schema["properties"][key]
        here = SCHEMA["definitions"][here["$ref"].rpartition("/")[2]] if "$ref" in here else here
        # A missing map whose keys are the user's or Kubernetes' own is an empty one.
        free = here.get("type") == "object" and not here.keys() & {"properties", "patternProperties"}
        yield f"{path}{key}", default, free or default in ("", [], {}), key not in schema.get("required", ())
        if "properties" in here:
            yield from each_value(default, here, f"{path}{key}.")


VALUES = list(each_value(DEFAULTS, SCHEMA))


def test_a_value_that_has_a_default_is_never_missing() -> None:
    """Values of an older release (`--reuse-values`) lack what is newer, and null takes a default away."""
    wrong = [path for path, _, may, does in VALUES if may != does]
    assert not wrong, f"`required` of the schema is not what has a default in values.yaml: {wrong}"


def test_what_an_older_release_did_not_have_is_named(tmp_path: Path) -> None:
    # Where helm reuses values, the older chart's defaults stand in place of this chart's.
    chart = tmp_path / "fairlap"
    shutil.copytree(CHART, chart)
    values = copy.deepcopy(DEFAULTS)
    del values["pageCache"], values["canarySeconds"], values["rbac"]["machineCapacity"], values["raceImages"]
    (chart / "values.yaml").write_text(yaml.safe_dump(values))
    done = run("template", "fairlap", str(chart), "--kube-version", KUBERNETES)
    assert done.returncode != 0
    for name in ("pageCache", "canarySeconds", "machineCapacity", "raceImages"):
        assert name in done.stderr
    assert "missing propert" in done.stderr and "missing propert" in upgrade_section()


def upgrade_section() -> str:
    return (ROOT / "docs" / "install.md").read_text().partition("## Upgrade\n")[2].partition("\n## ")[0]


def test_the_documented_upgrade_takes_this_charts_defaults() -> None:
    (command,) = re.findall(r"^    helm upgrade .*", upgrade_section(), re.M)
    flags = re.findall(r"--[a-z-]+", command)
    assert "--reset-then-reuse-values" in flags and "--reuse-values" not in flags
    known = run("upgrade", "--help").stdout
    assert all(f"{flag} " in known for flag in flags)


ALL_ON: dict[str, Any] = {
    "pageCache": {"enabled": True},
    "grafana": {"dashboard": {"enabled": True}},
    "metrics": {"serviceMonitor": {"enabled": True}, "podMonitor": {"enabled": True}},
    "prometheus": {"url": "http://p", "credentialsSecret": {"name": "a"}, "caSecret": {"name": "b"}},
    "networkPolicies": {"enabled": True, "apiServer": [{"cidr": "10.96.0.1/32"}]},
}


def nulls(paths: list[str], beside: dict[str, Any] | None = None) -> dict[str, Any]:
    """Values with null at these paths, but where `beside` has a value."""
    found = copy.deepcopy(beside or {})
    for path in paths:
        *above, last = path.split(".")
        functools.reduce(lambda place, key: place.setdefault(key, {}), above, found).setdefault(last, None)
    return found


def rendered(tmp_path: Path, values: dict[str, Any], *more: str) -> list[Manifest]:
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    done = run(
        "template", "fairlap", str(CHART), "--kube-version", KUBERNETES, "-f", str(tmp_path / "values.yaml"), *more
    )
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def test_what_may_be_left_out_leaves_no_null_behind(tmp_path: Path) -> None:
    """A key of the user's file with nothing behind it is null, which takes the default away."""
    manifests = rendered(tmp_path, nulls([path for path, _, may, _ in VALUES if may], ALL_ON))
    assert None not in list(leaves(manifests))
    assert "null" not in environment(manifests).values()
    before = rendered(tmp_path, ALL_ON)
    assert [each["metadata"]["name"] for each in manifests] == [each["metadata"]["name"] for each in before]
    assert environment(manifests) == environment(before)


@pytest.mark.parametrize("depth", [1, 2])
def test_what_can_be_turned_on_is_off_where_its_map_is_missing(tmp_path: Path, depth: int) -> None:
    """The schema says so first; helm can be told not to ask it."""
    paths = [path for path, default, _, _ in VALUES if path.split(".")[0] in ALL_ON and isinstance(default, dict)]
    missing = [path for path in paths if path.count(".") == depth - 1 and path != "metrics"]
    manifests = rendered(tmp_path, nulls(missing), "--skip-schema-validation")
    assert [each["metadata"]["name"] for each in manifests] == [
        each["metadata"]["name"] for each in rendered(tmp_path, {})
    ]


def test_the_dashboard_is_for_who_asks_and_shows_what_the_operator_tells() -> None:
    assert not [each for each in render() if "dashboard" in each["metadata"]["name"]]
    (found,) = (
        each for each in render("grafana.dashboard.enabled=true") if each["metadata"]["name"] == "fairlap-dashboard"
    )
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    dashboard = json.loads(found["data"]["fairlap.json"])
    text = (ROOT / "docs" / "install.md").read_text()
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    for name in re.findall(r"fairlap_\w+", " ".join(expressions)):
        assert f"`{name}" in text, f"{name} is in the dashboard, and docs/install.md does not know it"
    assert {"fairlap_comparisons", "fairlap_comparison_verdicts_total"} <= set(
        re.findall(r"fairlap_\w+", " ".join(expressions))
    )
    assert not any("alert" in panel for panel in dashboard["panels"])
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_notes_render(tmp_path: Path) -> None:
    # helm prints NOTES.txt only on an installation; shown as a template it needs no cluster.
    chart = tmp_path / "fairlap"
    shutil.copytree(CHART, chart)
    notes = (chart / "templates" / "NOTES.txt").read_text()
    (chart / "templates" / "NOTES.txt").unlink()
    shown = '{{ define "notes" }}' + notes + '{{ end }}kind: Notes\ntext: {{ include "notes" . | quote }}\n'
    (chart / "templates" / "notes.yaml").write_text(shown)
    done = run(
        "template", "fairlap", str(chart), "-n", "perf", "--kube-version", KUBERNETES, "-s", "templates/notes.yaml"
    )
    assert done.returncode == 0, done.stderr
    text = yaml.safe_load(done.stdout)["text"]
    assert "kubectl -n perf rollout status deployment/fairlap" in text
    assert "runs Benchmarks and Comparisons in perf, 1 at a time" in text
    assert "kubectl -n perf get cmp -w" in text
    assert "delete Comparisons, then Benchmarks, before it" in text
    page = (ROOT / "docs" / "install.md").read_text().partition("## Uninstall\n")[2]
    assert page.index("delete cmp ") < page.index("delete bm ") < page.index("helm uninstall"), "the same order"
