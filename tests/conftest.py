"""Settings for every test: the machines are shared, so nothing may fail because it took long."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared-machine")

EACH_FOR_ITSELF = (
    "tests/api/test_crd.py",
    "tests/api/test_disturbances.py",
    "tests/api/test_keep_and_rerun.py",
    "tests/api/test_machines.py",
    "tests/api/test_operator.py",
    "tests/e2e/test_examples.py",
    "tests/e2e/test_failures.py",
)
"""Files whose tests share nothing; in the others a test may go on with what one before it left."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker a file at a time, or a test at a time where a file's tests are independent."""
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - not in each environment that tests run in

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return nodeid if file in EACH_FOR_ITSELF else file

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None
