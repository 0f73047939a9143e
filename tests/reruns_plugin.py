"""A pytest plugin: tests against real servers that fail are run once more, under new names, printed, counted and noted.

A machine that stalls must not cost a whole run, and no defect may hide behind that: what passed only the second time is
noted in tests/RERUNS.md, and a test that is noted twice fails `make check` until it is mended.
"""

import os
import warnings
from datetime import UTC, datetime

import pytest

RERUN = ("tests/race/", "tests/api/", "tests/e2e/", "tests/report/")
NOTES = "tests/RERUNS.md"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of a real Elasticsearch, API server, cluster or browser a second try; no other test has one."""
    for item in items:
        if item.nodeid.startswith(RERUN):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """End all fixtures before a second try, so that it has new namespaces, and nothing of the first is left in them."""
    if getattr(item, "execution_count", 1) < 2:
        return
    # pytest-rerunfailures keeps what has a wider scope than a test aside, for the second try to go on with.
    from pytest_rerunfailures import suspended_finalizers  # noqa: PLC0415 - not in each environment that tests run in

    state = item.session._setupstate
    state.stack.update(suspended_finalizers)
    suspended_finalizers.clear()
    try:
        state.teardown_exact(None)
    except Exception as error:
        # They belong to the try that failed; to be read all the same.
        warnings.warn(f"{item.nodeid}: the first try's fixtures did not end well: {error!r}", stacklevel=1)


def pytest_configure(config: pytest.Config) -> None:
    """Count where all reports arrive: not in a worker of xdist."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Reruns(config))


class Reruns:
    """What was run once more in this run, and how it ended."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._words: dict[str, str] = {}
        """by test: the last line of what went wrong first"""
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember each test that is run once more, and each that fails for good."""
        if report.outcome == "rerun":  # type: ignore[comparison-overlap]
            crash = getattr(report.longrepr, "reprcrash", None)
            words = str(crash.message if crash else report.longrepr or "no words")
            self._words.setdefault(report.nodeid, " ".join(words.split())[:160])
        elif report.failed:
            self._failed.add(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print which tests were run once more, and note those that passed then."""
        if not self._words:
            return
        terminalreporter.section(f"{len(self._words)} run once more")
        for test, words in self._words.items():
            ended = "failed again" if test in self._failed else "passed then"
            terminalreporter.line(f"{ended}: {test}: {words}")
        today = datetime.now(UTC).date().isoformat()
        # What failed twice has failed: it is in no need of a note.
        rows = [row(today, test, words) for test, words in self._words.items() if test not in self._failed]
        notes = self._config.rootpath / NOTES
        if not rows:
            return
        if os.environ.get("CI") == "true" or not notes.exists():
            terminalreporter.line(f"To be added to {NOTES}:")
        else:
            with notes.open("a", encoding="utf-8") as out:
                out.writelines(f"{each}\n" for each in rows)
            terminalreporter.line(f"Added to {NOTES}, to be committed:")
        for each in rows:
            terminalreporter.line(each)


def row(date: str, test: str, words: str) -> str:
    """Return a row of the table of tests/RERUNS.md."""
    cells = (date, f"`{test}`", words.replace("|", "\\|"))
    return f"| {' | '.join(cells)} |"


def noted(text: str) -> list[str]:
    """Return the tests that a table like that of tests/RERUNS.md notes, in order, one for each row."""
    return [line.split("`")[1] for line in text.splitlines() if line.startswith("| 2") and line.count("`") >= 2]
