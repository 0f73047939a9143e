"""Settings for every test: the machines are shared, so nothing may fail because it took long."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.reruns_plugin"]
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

LONGEST = (
    "tests/api/test_failures.py",
    "tests/api/test_chaos.py",
    "tests/api/test_disturbances.py",
    "tests/e2e/test_machines.py",
    "tests/e2e/test_races.py",
    "tests/e2e/test_track_sources.py",
    "tests/e2e/test_overdue.py",
    "tests/e2e/test_operator_restarts.py",
    "tests/e2e/test_examples.py",
)
"""Files that are begun first, so that no worker is left alone with one of them in the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; the order within a file stays."""
    items.sort(
        key=lambda item: LONGEST.index(file) if (file := item.nodeid.split("::")[0]) in LONGEST else len(LONGEST)
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker a file at a time, or a test at a time where a file's tests are independent."""
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - not in each environment that tests run in

    for file in {*EACH_FOR_ITSELF, *LONGEST}:
        if not (config.rootpath / file).exists():
            raise pytest.UsageError(f"tests/conftest.py lists {file}, which does not exist")

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return nodeid if file in EACH_FOR_ITSELF else file

    config.option.loadscopereorder = False  # by the number of tests, which tells nothing of their length
    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None
