"""How much memory Rally's metrics take for each request, by how many of them it keeps the times (race.downSampling).

    .venv-rally/bin/python bench/samples_memory.py [--requests 200000] [--factors 1 10 100] [--smallest]

Each factor has a process of its own, with Rally's metrics store in memory and what Rally does with its samples; a
tenth of the samples comes at a time, as in a race. Each is measured with the store as races have it and with Rally's
own. Told is how much the resident memory (VmRSS) has grown.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
sys.path.insert(0, str(Path(__file__).parent.parent / "operator"))


def resident() -> int:
    """Return this process' resident memory in KiB."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1])


def measure(requests: int, factor: int, stock: bool) -> int:
    """Return by how many KiB this process grows with so many requests, in Rally's own store or in that of races."""
    from esrally import config, metrics  # noqa: PLC0415
    from esrally.driver import driver  # noqa: PLC0415
    from esrally.track import track  # noqa: PLC0415

    from fairlap_race.rally.inside import lean_documents  # noqa: PLC0415

    if not stock:
        lean_documents.install(metrics.InMemoryMetricsStore)
    settings = config.Config()
    settings.add(config.Scope.application, "system", "env.name", "bench")
    store = metrics.InMemoryMetricsStore(settings)
    store.open("race", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), "track", "challenge", "car", create=True)
    post = driver.SamplePostprocessor(store, factor, {}, {})
    task = track.Task("search", track.Operation("search", "search", param_source="search"))
    kind, meta = metrics.SampleType.Normal, {"success": True, "hits": 5, "took": 3}
    before = resident()
    batch = requests // 10
    for start in range(0, batch * 10, batch):
        numbers = range(start, start + batch)
        post([_sample(driver, task, kind, meta, number) for number in numbers])
    return resident() - before


def _sample(driver, task, kind, meta, number):  # type: ignore[no-untyped-def]
    at = 1_700_000_000 + number / 100
    times = {"latency": 0.01, "service_time": 0.009, "processing_time": 0.0095}
    return driver.Sample(
        client_id=number % 8, absolute_time=at, request_start=number / 100, task_start=0.0, task=task, sample_type=kind,
        request_meta_data=dict(meta), throughput=None, total_ops=1, total_ops_unit="ops", time_period=number / 100,
        percent_completed=None, **times,
    )  # fmt: skip


def main() -> None:
    """Print a row for each factor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--factors", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--stock", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--smallest", action="store_true", help="2,000 requests, which says nothing of a large race")
    asked = parser.parse_args()
    if asked.one:
        print(measure(asked.requests, asked.one, asked.stock))
        return
    requests = 2_000 if asked.smallest else asked.requests
    print("| times kept of | MiB | bytes a request | in Rally's own store | ratio |\n|---|---|---|---|---|")
    for factor in asked.factors:
        lean, stock = (_in_a_process(requests, factor, own) for own in (False, True))
        print(
            f"| 1 of {factor} | {lean / 1024:.0f} | {lean * 1024 / requests:.0f} | {stock * 1024 / requests:.0f} "
            f"| {lean / max(stock, 1):.2f} |"
        )


def _in_a_process(requests: int, factor: int, stock: bool) -> int:
    argv = [
        sys.executable,
        __file__,
        "--requests",
        str(requests),
        "--one",
        str(factor),
        *(["--stock"] if stock else []),
    ]
    return int(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    main()
