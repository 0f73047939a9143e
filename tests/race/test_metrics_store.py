"""Rally's documents in an Elasticsearch of the user's: as many as Rally measured, and no trouble there voids a race."""

import base64
import json
import ssl
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from fairlap.plan.verdict.checks import first_violation
from fairlap_docs.message_form import looks_like
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.record import Record

from .runner import Race, Runner, asked
from .server import Elasticsearch
from .tracks import BULK, CREATE, search, write

Json = dict[str, Any]
PASSWORD = "of-the-keeper"  # noqa: S105
ENOUGH = {"cluster": ["manage_index_templates"],
          "indices": [{"names": ["rally-*"], "privileges": ["create_index", "index"]}]}  # fmt: skip


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


def keeper(server: Elasticsearch, folder: Path, rights: Json, password: str = PASSWORD) -> Json:
    """Make a user with these rights, and return what a race is told of the store that he writes to."""
    ask(server, "PUT", "/_security/role/keeper", rights)
    ask(server, "PUT", "/_security/user/keeper", {"password": PASSWORD, "roles": ["keeper"]})
    (folder / "password").write_text(password)
    return {
        "hosts": [f"localhost:{server.port}"], "user": "keeper", "passwordFile": str(folder / "password"),
        "caFile": str(server.ca), "credentialsSecret": "keeper",
    }  # fmt: skip


def track(folder: Path, seconds: int = 2) -> Path:
    return write(folder / "t", CREATE, BULK, {"operation": "refresh"}, search(seconds=seconds))


def test_a_race_leaves_what_rally_would(runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    store = keeper(elasticsearch, tmp_path, ENOUGH)
    ran = runner.run(track(tmp_path), metricsStore=store, userTags={"team": "search"})
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
    store = keeper(elasticsearch, tmp_path, ENOUGH, password="wrong")  # noqa: S106
    ran = runner.run(track(tmp_path), metricsStore=store, mode=mode)
    outcome = ran.record.outcome
    assert outcome.reason is Reason.METRICS_STORE_UNUSABLE and not ran.record.tasks
    assert looks_like(Reason.METRICS_STORE_UNUSABLE.example, outcome.message), outcome.message


def test_a_user_who_may_not_write_is_refused(runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path) -> None:
    rights = {"cluster": [], "indices": [{"names": ["rally-*"], "privileges": ["read"]}]}
    ran = runner.run(track(tmp_path), metricsStore=keeper(elasticsearch, tmp_path, rights))
    assert ran.record.outcome.reason is Reason.METRICS_STORE_UNUSABLE
    assert ran.record.outcome.message == (
        "race.metricsStore: who asks with the Secret keeper may not write there; missing: cluster privilege "
        "manage_index_templates, create_index on rally-*, index on rally-*"
    )


@pytest.mark.long
@pytest.mark.produces(Reason.METRICS_NOT_STORED)
def test_documents_that_cannot_be_stored_are_a_remark(
    runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path
) -> None:
    store = keeper(elasticsearch, tmp_path, ENOUGH)

    def lose(_: Race) -> None:
        ask(elasticsearch, "DELETE", "/_security/user/keeper")

    ran = runner.run(track(tmp_path, seconds=5), lose, metricsStore=store)
    assert first_violation(ran.record, asked()) is None
    (said,) = (it.text for it in ran.remarks() if it.reason is Reason.METRICS_NOT_STORED)
    assert looks_like(Reason.METRICS_NOT_STORED.example, said), said
    assert Record.from_json(ran.record.to_json()).stored_metrics == ran.record.stored_metrics
