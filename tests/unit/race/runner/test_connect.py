"""What answers is Elasticsearch, or it is said that it is not, without a word of its answer."""

import base64
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import EnvironmentRecord, Fresh, Node
from fairlap_race.contract.specification.http_spec import HttpSpec
from fairlap_race.contract.specification.race_spec import IndexSpec, Mode, RaceSpec, TargetSpec
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.elasticsearch.evidence import Before
from fairlap_race.runner.connect import connect, look_before, refuse_impossible
from fairlap_race.runner.parts import FailedError

SPEC = RaceSpec(Mode.PROBE, "ns", "r", "id", Path("/t"), timeout_seconds=0.0)
NODES = {"nodes": {"a": {"name": "es-0", "version": "9.0.0"}}}


class Cluster:
    """Answers alike to everything but to what tells the version and the nodes; an exception is raised."""

    def __init__(self, root: Any, nodes: Any = NODES, others: Any = None) -> None:
        self.root, self.nodes, self.others = root, nodes, {} if others is None else others

    def get(self, path: str, timeout: float = 0) -> Any:
        found = self.root if path == "/" else self.nodes if path.startswith("/_nodes/jvm") else self.others
        if isinstance(found, Exception):
            raise found
        return found


def look(cluster: Cluster) -> Any:
    return look_before(cast(ElasticsearchClient, cluster), SPEC, threading.Event())


def version(number: Any, **more: Any) -> dict[str, Any]:
    return {"version": {"number": number, **more}}


@pytest.mark.parametrize(
    "root",
    [
        version("9.0.0", build_flavor="default"),
        version("6.8.23", build_flavor="oss"),
        version("6.0.0"),
        version("9.2.0-SNAPSHOT"),
        version("8.0.0-alpha1", build_flavor="serverless"),
    ],
)
def test_elasticsearch_of_any_version_and_build_is_taken(root: Any) -> None:
    assert look(Cluster(root)).environment.version == root["version"]["number"]


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (Cluster({}, {}), "has no version.number"),
        (Cluster([], [], []), "has no version.number"),
        (Cluster({"version": "9.0.0"}), "has no version.number"),
        (Cluster(version(9)), "has no version.number"),
        (Cluster(version("SECRET")), "has no version.number"),
        (Cluster(version("2.11.0", distribution="SECRET")), "has a version.distribution, as OpenSearch's"),
        (Cluster(version("7.10.2", distribution="")), "has a version.distribution, as OpenSearch's"),
        (Cluster(version("9.0.0"), {}), "to GET /_nodes has no node"),
    ],
)
def test_anything_else_is_refused(cluster: Cluster, words: str) -> None:
    with pytest.raises(FailedError) as caught:
        look(cluster)
    outcome = caught.value.outcome
    assert outcome.reason is Reason.UNSUPPORTED_PRODUCT and outcome.message.endswith(words)
    assert "SECRET" not in outcome.message


@pytest.mark.parametrize(
    "cluster",
    [
        Cluster(ElasticsearchError("GET /: HTTP 403", 403)),
        Cluster(version("9.0.0"), ElasticsearchError("GET /_nodes: HTTP 403", 403)),
    ],
)
def test_who_may_not_ask_is_told_so(cluster: Cluster) -> None:
    with pytest.raises(FailedError) as caught:
        look(cluster)
    assert caught.value.outcome.reason is Reason.AUTHENTICATION_FAILED


def test_a_missing_secret_or_key_is_named(tmp_path: Path) -> None:
    about = TargetSpec(credentials_secret="shop-user", ca_secret="shop-ca", certificate_secret="shop-client")  # noqa: S106
    base = replace(SPEC, target=about)

    def missing(**files: Path) -> str:
        with pytest.raises(FailedError) as caught:
            connect(replace(base, **files))
        assert caught.value.outcome.reason is Reason.SECRET_MISSING
        return caught.value.outcome.message

    (tmp_path / "username").write_text("u")
    assert connect(base).secrets == () and connect(replace(base, user_file=tmp_path / "username")).secrets == ()
    sentence = missing(user_file=tmp_path / "username", password_file=tmp_path / "password")
    assert "shop-user" in sentence
    assert "password" in sentence
    key = missing(api_key_file=tmp_path / "api-key")
    assert key == "there is no Secret shop-user with the key api-key in the namespace ns"
    (tmp_path / "tls.crt").write_text("c")
    pair = {"certificate_file": tmp_path / "tls.crt", "certificate_key_file": tmp_path / "tls.key"}
    assert "Secret shop-client with the key tls.key" in missing(**pair)
    assert "shop-ca" in missing(ca_file=tmp_path / "ca.crt")


@pytest.mark.parametrize(
    ("field", "content", "reason", "words"),
    [
        ("password_file", b"caf\xe9", Reason.AUTHENTICATION_FAILED,
         "the credentials cannot be read: the key content of Secret shop-user is no text in UTF-8"),
        ("api_key_file", b"two words", Reason.AUTHENTICATION_FAILED,
         "the credentials cannot be read: the key content of Secret shop-user is no API key: "),
        ("ca_file", b"", Reason.TLS_UNTRUSTED, "the key content of Secret shop-ca cannot be used for TLS: "),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_secret_is_told_with_its_name(
    tmp_path: Path, field: str, content: bytes, reason: Reason, words: str
) -> None:
    (tmp_path / "content").write_bytes(content)
    about = TargetSpec(credentials_secret="shop-user", ca_secret="shop-ca")  # noqa: S106
    asked: Any = {"target": about, "hosts": ("h:9200",), field: tmp_path / "content"}
    with pytest.raises(FailedError) as caught:
        connect(replace(SPEC, **asked))
    assert caught.value.outcome.reason is reason and caught.value.outcome.message.startswith(words)
    assert str(tmp_path) not in caught.value.outcome.message


@pytest.mark.parametrize("key", ["username", "password"])
def test_an_empty_credential_is_refused_where_rally_would_send_none(tmp_path: Path, key: str) -> None:
    files = {name: tmp_path / name for name in ("username", "password")}
    for name, file in files.items():
        file.write_text("" if name == key else "x\n")
    asked = replace(SPEC, user_file=files["username"], password_file=files["password"])
    asked = replace(asked, target=TargetSpec(credentials_secret="shop-user"))  # noqa: S106
    with pytest.raises(FailedError, match=f"the key {key} of Secret shop-user is empty, and without") as caught:
        connect(asked)
    assert caught.value.outcome.reason is Reason.AUTHENTICATION_FAILED
    assert connect(replace(asked, http=cast(HttpSpec, object()))).client, "any server over HTTP may want it so"


def test_each_way_in_which_a_credential_can_be_written_stands_nowhere(tmp_path: Path) -> None:
    """A race over HTTP has them from here, too: what k6 prints can quote a header."""
    (tmp_path / "password").write_text('pa"ss\n')
    password = connect(replace(SPEC, user="me", password_file=tmp_path / "password")).secrets
    assert password == ('pa"ss', 'pa\\"ss', base64.b64encode(b'me:pa"ss').decode())
    (tmp_path / "key").write_text("id:secret-part\n")
    assert connect(replace(SPEC, api_key_file=tmp_path / "key")).secrets == (
        base64.b64encode(b"id:secret-part").decode(),
        "secret-part",
    )


def test_a_replica_needs_a_node_with_data_and_an_address_any_node() -> None:
    nodes = (Node("es-0"), Node("master-0", holds_data=False))
    before = Before(EnvironmentRecord(nodes=nodes), Fresh(), {}, {})
    asked = replace(SPEC, target=TargetSpec(), hosts=("h:1", "h:2"))
    refuse_impossible(asked, before)
    with pytest.raises(FailedError, match=r"replicas 1 cannot be placed on 1 node\(s\) with data"):
        refuse_impossible(replace(asked, index=IndexSpec(replicas=1)), before)
