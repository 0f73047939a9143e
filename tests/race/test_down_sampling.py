"""Rally keeps the times of one request of many, for real: percentiles have the support that is left."""

from pathlib import Path

import pytest
from tests.fixtures.message_form import looks_like

from fairlap.plan.verdict.checks import first_violation
from fairlap_race.contract.reasons import Reason

from .runner import Runner, asked
from .tracks import BULK, CREATE, DOCUMENTS, search, write


@pytest.mark.long
@pytest.mark.produces(Reason.TIMES_DOWN_SAMPLED)
def test_times_of_one_request_of_ten(runner: Runner, tmp_path: Path) -> None:
    track = write(
        tmp_path / "t", CREATE, BULK, {"operation": "refresh"}, search(seconds=4, **{"target-throughput": 50})
    )
    ran = runner.run(track, downSampling=10)
    assert first_violation(ran.record, asked()) is None, ran.output[-3000:]
    tasks = {task.task: task for task in ran.record.tasks}
    found = tasks["search"]
    assert 150 <= found.samples.normal <= 210, "all requests are counted"
    assert found.times_kept is not None and abs(found.times_kept - found.samples.normal / 10) <= 3
    assert "p99" not in found.support and found.support["p90"] == found.times_kept // 10
    assert tasks["bulk"].units_done == DOCUMENTS and tasks["bulk"].times_kept == 1
    (remark,) = (it for it in ran.remarks() if it.reason is Reason.TIMES_DOWN_SAMPLED)
    assert looks_like(Reason.TIMES_DOWN_SAMPLED.example, remark.text), remark
