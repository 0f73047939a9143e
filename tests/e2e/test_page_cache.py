"""The helper that empties the page cache before each race, on a real kernel."""

import os

import pytest

from conftest import fresh, installed
from kube import benchmark

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,  # what runs beside it would read from the disk again
    pytest.mark.skipif(os.environ.get("CLUSTER") == "current", reason="a privileged pod on somebody's machines"),
]


def test_each_race_begins_with_an_empty_page_cache() -> None:
    with installed(fresh("fairlap-e2e-page-cache"), "--set", "pageCache.enabled=true") as there:
        there.apply(benchmark("cold", repetitions=2))
        status = there.until_over("cold")
        assert status["phase"] == "Succeeded", status
        machine = status["races"][0]["elasticsearchOn"][0]
        assert [race["pageCache"] for race in status["races"]] == [f"the page cache was dropped on {machine}"] * 2
        log = there.kubectl("logs", "daemonset/fairlap-page-cache")
        assert log.count(": dropped") == 2
