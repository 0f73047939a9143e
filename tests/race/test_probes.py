"""Conditions on the system under test, read from a real Elasticsearch: its request cache, and what cannot be read."""

from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.message_form import looks_like

from fairlap.plan.verdict.checks import first_violation
from fairlap_race.contract.reasons import Reason

from .probes import CACHE, HEALTH, HIT_RATE, with_probes
from .runner import Runner
from .server import Elasticsearch
from .test_replay import DOCUMENTS, SEARCH, counted, replay


@pytest.mark.long
@pytest.mark.produces(Reason.CONDITION_NOT_MET)
def test_too_few_unique_requests_hit_more_often_than_was_asked_for(
    runner: Runner, elasticsearch: Elasticsearch, tmp_path: Path
) -> None:
    searches = ({"path": "/replay/_search", "body": {**SEARCH, "min_score": number / 1e6}} for number in range(20))
    params: dict[str, Any] = {"documents": DOCUMENTS, "order": "random", "requests": 600, "request_cache": True}
    before = counted(elasticsearch)
    ran = runner.run(replay(tmp_path, *searches), params=params, probes=[HIT_RATE, HEALTH])
    hits, misses = (after - earlier for after, earlier in zip(counted(elasticsearch), before, strict=True))

    assert ran.record.outcome.reason is None, f"{ran.record.outcome}\n{ran.output[-3000:]}"
    share, nodes = ran.record.probes
    # The runner counts the documents after that, by a search of its own.
    assert share.own == pytest.approx(100 * hits / (hits + misses), abs=0.5), ran.output[-3000:]
    assert share.own is not None and share.own > 95 and share.hosts[0].weight in (hits + misses, hits + misses - 1)
    assert (nodes.own, nodes.hosts[0].before) == (1, 1)
    assert first_violation(ran.record, with_probes(hit_rate=[95, 100], nodes=[1, 1])) is None
    violation = first_violation(ran.record, with_probes(hit_rate=[45, 55], nodes=[1, 1]))
    assert violation and violation.reason is Reason.CONDITION_NOT_MET
    assert looks_like(Reason.CONDITION_NOT_MET.example, violation.message), violation.message
    other = first_violation(ran.record, with_probes(nodes=[2, 2]))
    assert other and "race.probes nodes must be between 2 and 2 after the race" in other.message


@pytest.mark.produces(Reason.PROBE_UNREADABLE)
def test_what_cannot_be_read_is_refused_before_anything_is_measured(runner: Runner, tmp_path: Path) -> None:
    wrong = {**HIT_RATE, "part": f"{CACHE}/hits"}
    ran = runner.run(replay(tmp_path, "/_cat/indices"), probes=[HEALTH, wrong])
    violation = first_violation(ran.record, with_probes(nodes=[1, 1]))
    assert violation and violation.reason is Reason.PROBE_UNREADABLE
    assert looks_like(Reason.PROBE_UNREADABLE.example, violation.message), violation.message
    assert ran.record.first_request_at is None and ran.record.rally.exit_code is None and not ran.record.tasks

    for path, words in (
        ("/_nodes/nobody/stats/nothing", "HTTP 400 illegal_argument_exception"),
        ("/_cat/health?format=text", "the answer is not JSON"),
    ):
        again = runner.run(tmp_path / "replay", probes=[{**HEALTH, "path": path}], mode="probe")
        assert again.record.outcome.reason is Reason.PROBE_UNREADABLE
        assert again.record.outcome.message.endswith(f": {words}"), again.record.outcome
