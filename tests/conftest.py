"""Settings for every test: the machines are shared, so nothing may fail because it took long."""

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.reruns_plugin"]
settings.register_profile("shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A pipeline's run tells of its change; a new counterexample to old code is for the next run of anybody's.
settings.register_profile("pipeline", settings.get_profile("shared-machine"), derandomize=True)
settings.load_profile("pipeline" if os.environ.get("CI") == "true" else "shared-machine")

INDEPENDENT = "pytest.mark.independent"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that are marked as longest first; the order within a file stays."""

    def rank(item: pytest.Item) -> float:
        mark = item.get_closest_marker("longest")
        return mark.args[0] if mark else float("inf")

    for item in items:
        if item.get_closest_marker("independent") is None and is_independent(item.path):
            raise pytest.UsageError(f"{item.path}: {INDEPENDENT} is for a whole file, as its pytestmark")
    items.sort(key=rank)


@cache
def is_independent(file: Path) -> bool:
    """Return whether a test file says of itself that its tests share nothing."""
    return INDEPENDENT in file.read_text(encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker a file at a time, or a test at a time where a file's tests are independent."""
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - not in each environment that tests run in

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            # Marks are known to the workers only; here are but the names of the tests.
            return nodeid if is_independent(config.rootpath / file) else file

    config.option.loadscopereorder = False  # by the number of tests, which tells nothing of their length
    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None
