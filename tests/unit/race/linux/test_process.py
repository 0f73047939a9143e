"""Ending processes for good, with small programs that behave as badly as Rally's can. Each runs in a process of its
own, because being a subreaper concerns the whole process."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

SOURCE = Path(__file__).parents[4] / "operator"

OBEDIENT = """
import signal, sys, time
signal.signal(signal.SIGINT, lambda *a: sys.exit(130))
print("ready", flush=True); time.sleep(60)
"""
DEAF = """
import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("ready", flush=True); time.sleep(60)
time.sleep(60)
"""
ORPHANS = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
print("ready", flush=True); sys.exit(3)
"""


def run(program, body, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(program)
    out = tmp_path / "out"
    frame = f"""
    import json, sys, time
    from pathlib import Path
    from fairlap_race.linux import process
    process.become_subreaper()
    out = Path({str(out)!r})
    started = process.start([sys.executable, {str(script)!r}], {{}}, Path("/"), out)
    while "ready" not in out.read_text(): time.sleep(0.01)
    time.sleep(0.05)
    before = time.monotonic()
    """
    code = textwrap.dedent(frame) + textwrap.dedent(body)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return json.loads(done.stdout)


REPORT = """
print(json.dumps({"code": code, "left": process.descendants(), "seconds": time.monotonic() - before}))
"""


def test_rally_ends_by_itself_on_sigint(tmp_path):
    found = run(OBEDIENT, "code = process.end(started, 20)" + REPORT, tmp_path)
    assert found["code"] == 130 and found["left"] == [] and found["seconds"] < 5


def test_what_does_not_listen_is_killed_with_all_its_children(tmp_path):
    found = run(DEAF, "assert len(process.descendants()) == 3\ncode = process.end(started, 0.3)" + REPORT, tmp_path)
    assert found["code"] is None and found["left"] == [] and found["seconds"] < 5


def test_orphans_do_not_outlive_their_parent(tmp_path):
    body = "started.wait()\nassert len(process.descendants()) == 1\ncode = process.end(started, 1)" + REPORT
    found = run(ORPHANS, body, tmp_path)
    assert found["code"] == 3 and found["left"] == []


def test_looking_at_processes(tmp_path):
    body = """
    seen = [process.alive(started.pid), process.cpu_seconds(started.pid) >= 0, process.alive(2**22 + 1)]
    process.kill_all(started.pid)
    code = [*seen, process.alive(started.pid), process.cpu_seconds(2**22 + 1)]
    """
    assert run(OBEDIENT, textwrap.dedent(body) + REPORT, tmp_path)["code"] == [True, True, False, False, None]
