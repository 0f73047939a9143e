"""The operator's environment: what each variable means, and one sentence about one that cannot be used."""

import dataclasses
import re
import socket
from pathlib import Path

import pytest

from fairlap.__main__ import main
from fairlap.environ import Variables, settings_from_environment
from fairlap.settings import JdkImage, PrometheusSettings, Settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("FAIRLAP_RACE_IMAGE", "race:1")
    return monkeypatch


def test_one_variable_is_enough(environ: pytest.MonkeyPatch) -> None:
    assert settings_from_environment() == Settings("race:1", lease_holder=socket.gethostname())


def test_an_empty_variable_is_not_set(environ: pytest.MonkeyPatch) -> None:
    for name in Variables.model_fields:
        if name != "race_image":
            environ.setenv(f"FAIRLAP_{name.upper()}", "")
    assert settings_from_environment() == Settings("race:1", lease_holder=socket.gethostname())


def test_every_variable_is_set_by_the_chart_or_stands_on_the_page_with_its_default() -> None:
    chart = (ROOT / "charts/fairlap/templates/deployment.yaml").read_text(encoding="utf-8")
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    unsaid = {
        name: field.default
        for name, field in Variables.model_fields.items()
        if f"name: FAIRLAP_{name.upper()}\n" not in chart
        and f"| `FAIRLAP_{name.upper()}` | `{field.default}` |" not in page
    }
    assert unsaid == {}


def test_every_variable_arrives(environ: pytest.MonkeyPatch) -> None:
    for name, value in {
        "RACE_IMAGE_PULL_POLICY": "Always", "RACE_IMAGE_PULL_SECRETS": "registry, mirror",
        "RACE_IMAGES": '{"2.3": "race6:1"}',
        "JDK_IMAGES": '{"21": {"image": "jdk:21", "path": "/jdk"}}', "NAMESPACES": " a, b ,,", "MAX_ACTIVE": "2",
        "MAX_ACTIVE_PER_NAMESPACE": "1", "MAX_CHECKS": "3", "CANARY_SECONDS": "1", "AVOID_KEPT_CLUSTERS": "false",
        "UNSCHEDULABLE_SECONDS": "8",
        "TRACKS_REPOSITORY": "https://mirror", "TRACKS_REVISION": "abc", "METRICS_PORT": "9000", "LEASE": "ns/fairlap",
        "LEASE_HOLDER": "pod-1", "LEASE_SECONDS": "15", "RESYNC_SECONDS": "5", "SWEEP_SECONDS": "6",
        "UNREACHABLE_SECONDS": "8", "CLEANUP_SECONDS": "7",
        "PROMETHEUS_URL": "https://prometheus:9090", "PROMETHEUS_CREDENTIALS": "/run/secret",
        "PROMETHEUS_CA": "/run/ca.crt", "PROMETHEUS_LABELS": '{"cluster": "one", "number": 2}',
    }.items():  # fmt: skip
        environ.setenv(f"FAIRLAP_{name}", value)
    assert settings_from_environment() == Settings(
        race_image="race:1",
        race_image_pull_policy="Always",
        race_image_pull_secrets=("registry", "mirror"),
        race_images={"2.3": "race6:1"},
        jdk_images={21: JdkImage("jdk:21", "/jdk")},
        namespaces=("a", "b"),
        max_active=2,
        max_active_per_namespace=1,
        max_checks=3,
        canary_seconds=1,
        avoid_kept_clusters=False,
        unschedulable_seconds=8,
        metrics_port=9000,
        prometheus=PrometheusSettings(
            "https://prometheus:9090", "/run/secret", "/run/ca.crt", {"cluster": "one", "number": "2"}
        ),
        lease="ns/fairlap",
        lease_holder="pod-1",
        lease_seconds=15,
        resync_seconds=5,
        sweep_seconds=6,
        unreachable_seconds=8,
        cleanup_seconds=7,
        tracks_repository="https://mirror",
        tracks_revision="abc",
    )
    only_in_tests = {"builtin_tracks", "prometheus"}
    flat = {field.name for field in dataclasses.fields(Settings)} - only_in_tests
    assert flat == {name for name in Variables.model_fields if not name.startswith("prometheus_")}


@pytest.mark.parametrize("url", ["ssh://git@mirror:22/x.git", "https://mirror:8443/a@b", "git://mirror/x"])
def test_a_mirror_of_the_tracks_may_name_a_user_of_ssh(environ: pytest.MonkeyPatch, url: str) -> None:
    environ.setenv("FAIRLAP_TRACKS_REPOSITORY", url)
    assert settings_from_environment().tracks_repository == url


def test_the_chart_sets_no_variable_that_nobody_reads() -> None:
    chart = (ROOT / "charts" / "fairlap" / "templates" / "deployment.yaml").read_text()
    named = {name.removeprefix("FAIRLAP_").lower() for name in re.findall(r"name: (FAIRLAP_\w+)", chart)}
    assert named and named <= set(Variables.model_fields)


WRONG = [
    ("RACE_IMAGE", "", "FAIRLAP_RACE_IMAGE is not set: it names the image that Rally runs in"),
    ("MAX_ACTIVE", "0", "FAIRLAP_MAX_ACTIVE is '0': it must be a whole number from 1 up"),
    ("MAX_ACTIVE_PER_NAMESPACE", "-1", "FAIRLAP_MAX_ACTIVE_PER_NAMESPACE is '-1': it must be a whole number from 0 up"),
    ("AVOID_KEPT_CLUSTERS", "perhaps", "FAIRLAP_AVOID_KEPT_CLUSTERS must be true or false"),
    ("CANARY_SECONDS", "61", "FAIRLAP_CANARY_SECONDS is '61': it must be a whole number from 0 to 60"),
    ("METRICS_PORT", "tcp://10.0.0.1:80", "FAIRLAP_METRICS_PORT is 'tcp://10.0.0.1:80': it must be a whole number"),
    ("LEASE_SECONDS", "1.5", "FAIRLAP_LEASE_SECONDS is '1.5': it must be a whole number from 1 up"),
    ("JDK_IMAGES", "jdk:21", 'FAIRLAP_JDK_IMAGES must be {"21": {"image": ..., "path": ...}}: '),
    (
        "JDK_IMAGES",
        '{"21": {"image": "jdk"}}',
        'FAIRLAP_JDK_IMAGES must be {"21": {"image": ..., "path": ...}}: 21.path',
    ),
    ("JDK_IMAGES", '{"new": {"image": "jdk", "path": "/jdk"}}', "FAIRLAP_JDK_IMAGES must be "),
    ("RACE_IMAGES", '["race6:1"]', 'FAIRLAP_RACE_IMAGES must be {"2.3": "IMAGE"}: '),
    ("RACE_IMAGES", '{"2.3": ""}', 'FAIRLAP_RACE_IMAGES must be {"2.3": "IMAGE"}: 2.3 '),
    ("RACE_IMAGES", '{"2.3": 1}', 'FAIRLAP_RACE_IMAGES must be {"2.3": "IMAGE"}: 2.3 '),
    ("PROMETHEUS_URL", "prometheus:9090", "FAIRLAP_PROMETHEUS_URL must look like http://"),
    ("PROMETHEUS_URL", "http://me:secret@prometheus", "FAIRLAP_PROMETHEUS_URL must hold no credentials: use "),
    ("PROMETHEUS_URL", "http://me:sec/secret@prometheus", "FAIRLAP_PROMETHEUS_URL must hold no credentials: use "),
    ("PROMETHEUS_URL", "http://secret@\u2100:80", "FAIRLAP_PROMETHEUS_URL must hold no credentials: use "),
    ("TRACKS_REPOSITORY", "https://me:sec/secret@mirror/x", "FAIRLAP_TRACKS_REPOSITORY must hold no credentials: "),
    ("TRACKS_REPOSITORY", "ssh://git:sec/secret@mirror/x", "FAIRLAP_TRACKS_REPOSITORY must hold no credentials: "),
    ("TRACKS_REPOSITORY", "https://me:secret@mirror/x", "FAIRLAP_TRACKS_REPOSITORY must hold no credentials: "),
    ("TRACKS_REPOSITORY", "https://secret@mirror/x", "FAIRLAP_TRACKS_REPOSITORY must hold no credentials: "),
    ("TRACKS_REPOSITORY", "ssh://git:secret@mirror/x", "FAIRLAP_TRACKS_REPOSITORY must hold no credentials: "),
    ("PROMETHEUS_LABELS", "[]", 'FAIRLAP_PROMETHEUS_LABELS must be {"name": "value"}: '),
]


@pytest.mark.parametrize(("name", "value", "sentence"), WRONG)
def test_a_wrong_value_ends_the_operator_with_one_sentence(
    environ: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, sentence: str
) -> None:
    environ.setenv(f"FAIRLAP_{name}", value)
    assert main() == 2
    said = capsys.readouterr().err
    assert said.startswith(f"fairlap: {sentence}") and said.count("\n") == 1
    assert "secret@" not in said
