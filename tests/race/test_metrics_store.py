"""Rally's documents in an Elasticsearch of the user's: as many as Rally measured, and no trouble there voids a race."""

import base64
import json
import ssl
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.message_form import looks_like

from fairlap.plan.verdict.checks import first_violation
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record

from .proxy import Proxy
from .runner import PYTHON, Runner, asked
from .server import Elasticsearch
from .tracks import BULK, CREATE, search, write

Json = dict[str, Any]
RALLY = PYTHON.parents[1]
REFUSED = b'{"error": {"type": "security_exception"}, "status": 401}'


def ask(server: Elasticsearch, method: str, path: str, body: Json | None = None) -> Any:
    """Ask the server as its superuser."""
    pair = base64.b64encode(f"elastic:{server.password}".encode()).decode()
    request = urllib.request.Request(
        f"https://localhost:{server.port}{path}", json.dumps(body).encode() if body else None, method=method,
        headers={"Authorization": f"Basic {pair}", "Content-Type": "application/json"},
    )  # fmt: skip
    context = ssl.create_default_context(cafile=str(server.ca))
    with urllib.request.urlopen(request, context=context, timeout=60) as answer:  # noqa: S310
        return json.loads(answer.read() or b"null")


def kept_at(server: Elasticsearch, host: str = "", password: Path | None = None) -> Json:
    """Return what a race is told of a store: the server itself, or `host`, which needs no TLS."""
    tls = {} if host else {"caFile": str(server.ca)}
    return {
        "hosts": [host or f"localhost:{server.port}"], "user": "elastic", **tls,
        "passwordFile": str(password or server.password_file), "credentialsSecret": "keeper",
    }  # fmt: skip


def track(folder: Path) -> Path:
    return write(folder / "t", CREATE, BULK, {"operation": "refresh"}, search())


def test_a_race_leaves_what_rally_would(runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    """Without the field type `wildcard`, which the stand-in lacks: a template that is there stays as it is."""
    template = next(RALLY.glob("lib/python3*/site-packages/esrally/resources/metrics-template.json")).read_text()
    ask(elasticsearch, "PUT", "/_index_template/rally-metrics", json.loads(template.replace("wildcard", "keyword")))
    ran = runner.run(track(tmp_path), metricsStore=kept_at(elasticsearch), userTags={"team": "search"})
    assert first_violation(ran.record, asked()) is None
    kept, month = ran.record.stored_metrics, time.strftime("%Y-%m", time.gmtime())
    assert kept is not None and not kept.problem, kept
    names = [f"rally-{kind}-{month}" for kind in ("metrics", "results", "races")]
    assert sorted(kept.documents) == sorted(names) and kept.documents[names[2]] == 1
    ask(elasticsearch, "POST", "/rally-*/_refresh")
    for name in names:
        assert ask(elasticsearch, "GET", f"/{name}/_count")["count"] == kept.documents[name]
    mine = {"query": {"bool": {"filter": [{"term": {"task": "search"}}, {"term": {"name": "latency"}}]}}}
    (measured,) = (task for task in ran.record.tasks if task.task == "search")
    samples = measured.samples.normal + measured.samples.warmup
    assert ask(elasticsearch, "POST", f"/{names[0]}/_count", mine)["count"] == samples
    race = ask(elasticsearch, "GET", f"/{names[2]}/_doc/{ran.record.race_id}")["_source"]
    assert race["user-tags"]["team"] == "search" and race["results"]
    assert {it["name"] for it in ask(elasticsearch, "GET", "/_index_template/rally-*")["index_templates"]} == {
        "rally-metrics", "rally-results", "rally-races"
    }  # fmt: skip


@pytest.mark.produces(Reason.METRICS_STORE_UNUSABLE)
@pytest.mark.parametrize("mode", ["check", "race"])
def test_a_wrong_password_is_refused_before_anything_is_measured(
    runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path, mode: str
) -> None:
    (tmp_path / "password").write_text("wrong")
    store = kept_at(elasticsearch, password=tmp_path / "password")
    ran = runner.run(track(tmp_path), metricsStore=store, mode=mode)
    outcome = ran.record.outcome
    assert outcome.reason is Reason.METRICS_STORE_UNUSABLE and not ran.record.tasks
    assert looks_like(Reason.METRICS_STORE_UNUSABLE.example, outcome.message), outcome.message


@pytest.mark.long
def test_a_user_who_may_not_write_is_refused(runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    """The stand-in for Elasticsearch's security knows no rights: their answer is one that Elasticsearch would give."""
    rights = {
        "cluster": {"manage_index_templates": False},
        "index": {"rally-*": {"create_index": True, "index": False}},
    }

    def alter(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        return (200, json.dumps(rights).encode()) if "_has_privileges" in path else (status, body)

    store = kept_at(elasticsearch, Proxy(elasticsearch, alter=alter).host)
    ran = runner.run(track(tmp_path), metricsStore=store)
    assert ran.record.outcome.reason is Reason.METRICS_STORE_UNUSABLE
    assert ran.record.outcome.message == (
        "race.metricsStore: who asks with the Secret keeper may not write there; missing: cluster privilege "
        "manage_index_templates, index on rally-*"
    )


@pytest.mark.long
@pytest.mark.produces(Reason.METRICS_NOT_STORED)
def test_documents_that_cannot_be_stored_are_a_remark(
    runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path
) -> None:
    def alter(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        return (401, REFUSED) if path.startswith("/_index_template") else (status, body)

    store = kept_at(elasticsearch, Proxy(elasticsearch, alter=alter).host)
    ran = runner.run(track(tmp_path), metricsStore=store)
    assert first_violation(ran.record, asked()) is None
    (said,) = (it.text for it in ran.remarks() if it.reason is Reason.METRICS_NOT_STORED)
    assert looks_like(Reason.METRICS_NOT_STORED.example, said), said
    assert Record.from_json(ran.record.to_json()).stored_metrics == ran.record.stored_metrics
