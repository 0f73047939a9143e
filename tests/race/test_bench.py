"""The comparison of Rally's waits, at its smallest size; what it measures then is of no meaning."""

import subprocess

from .runner import PYTHON, ROOT, rally_turn
from .server import Elasticsearch


def test_stock_and_shortened_waits_are_compared(elasticsearch: Elasticsearch) -> None:
    argv = [str(PYTHON), "bench/aa_intervals.py", "--smallest"]
    argv += ["--host", f"localhost:{elasticsearch.port}", "--server-pid", str(elasticsearch.pid)]
    argv += ["--password-file", str(elasticsearch.password_file), "--ca-file", str(elasticsearch.ca)]
    environment = {"PYTHONPATH": "operator", "PATH": "/usr/bin:/bin"}
    with rally_turn(alone=True):
        done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| search-throttled · service time p50 |" in done.stdout
    assert "whole race: stock " in done.stdout
