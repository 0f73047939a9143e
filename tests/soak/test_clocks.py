"""The operator's machine has another time than the API server and the race's pod: races end as they would."""

import pytest
from tests.api.controlplane import ControlPlane
from tests.api.every_spec import loud
from tests.api.manifests import benchmark
from tests.api.operator_process import Operator
from tests.api.stage import Stage

# Every clock that the operator's own modules read; the event loop's, which only measures, stays.
SKEWED = """
import datetime, importlib, pkgutil, sys, time
import fairlap
from fairlap.__main__ import main

AHEAD = float(sys.argv[1])
for found in pkgutil.walk_packages(fairlap.__path__, "fairlap."):
    if not found.name.startswith("fairlap.cli") and not found.name.endswith("__main__"):
        importlib.import_module(found.name)

class Skewed(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.now(tz) + datetime.timedelta(seconds=AHEAD)

changed = 0
for name, module in list(sys.modules.items()):
    if name.startswith("fairlap.") and getattr(module, "datetime", None) is datetime.datetime:
        module.datetime = Skewed
        changed += 1
assert changed > 2, "no module reads a clock any more"
true_time = time.time
time.time = lambda: true_time() + AHEAD
sys.exit(main())
"""


@pytest.mark.parametrize("ahead", [15, 90, -15, -90])
def test_races_end_in_spite_of_another_time(stage: Stage, plane: ControlPlane, namespace: str, ahead: int) -> None:
    operator = Operator(plane, namespace, maxActive=3)
    operator.command[1:] = ["-c", SKEWED, str(ahead)]
    operator.start()
    try:
        operator.wait_ready()
        stage.behave(namespace, eck=(0.5, 1.0), run=(2.0, 4.0))
        stage.behave(namespace, "bad", race="documents")
        names = ("good", "again", "bad")
        stage.apply(*(benchmark(namespace, name, repetitions=2 if name == "again" else 1) for name in names))
        ends = {name: stage.ends(namespace, name, seconds=120) for name in names}
        told = {name: (status["phase"], status.get("reason"), status.get("message")) for name, status in ends.items()}
        assert [told[name][0] for name in ("good", "again")] == ["Succeeded"] * 2, told
        assert told["bad"][1] == "DocumentCountMismatch", told
        stage.is_clean(namespace)
        assert not loud(operator.log)
    finally:
        operator.lives()
        operator.stop()
