"""A second node beside the one of the other tests: started, killed as a crash would, started again, and ended."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from localkube import processes, settings

from kube import ROOT, tool

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.environ.get("CLUSTER") == "current", reason="that cluster is not for us to kill"),
]
SLOT = "9"
LINK = f"localkube{SLOT}"


def localkube(call: str) -> str:
    """What a call of the node's module prints, with the node of our number."""
    program = f"from localkube import node, settings; paths = settings.paths_from(); {call}"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "FAIRLAP_NODE": SLOT}, check=True,
        capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    return done.stdout.strip()


def inhabitants(first: int) -> list[processes.Process]:
    """Every process in the mount, network or PID namespace of one process; by its start, since numbers are reused."""
    own = {(Path(f"/proc/{first}/ns") / kind).readlink() for kind in ("mnt", "net", "pid")}
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended
            inside = own & {(entry / "ns" / kind).readlink() for kind in ("mnt", "net", "pid")}
            if inside and (start := processes.start_of(int(entry.name))):
                found.append(processes.Process(int(entry.name), start))
    return found


def traces(node: Path) -> list[str]:
    """What is left of the node on this machine, but for what is kept for its next start."""
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if f"{node}/" in line]
    links = [link.name for link in Path("/sys/class/net").iterdir() if link.name == LINK]
    groups = [str(group) for group in Path("/sys/fs/cgroup").rglob(f"{LINK}*")]
    return mounts + links + groups


def test_a_crash_is_no_hindrance_and_nothing_stays() -> None:
    node = settings.paths_from().cache / f"node{SLOT}"
    assert traces(node) == []
    try:
        first = start()
        with processes.held_pid_namespace(first) as inside:
            assert inside and len(processes.members(inside)) > 5
            lost = inhabitants(first)
            for process in processes.members(inside):
                with contextlib.suppress(ProcessLookupError):  # the end of the first one is the end of all
                    os.kill(process, signal.SIGKILL)
            assert processes.wait_until(lambda: not processes.members(inside), 240)
            assert processes.wait_until(lambda: not any(process.alive() for process in lost), 240)
        second = start()
        assert second != first
        with processes.held_pid_namespace(second) as inside:
            lost = inhabitants(second)
            localkube("node.stop(paths)")
            assert inside and not processes.members(inside)
            assert len(lost) > 5 and not any(process.alive() for process in lost)
    finally:
        localkube("node.stop(paths)")
    assert processes.wait_until(lambda: traces(node) == [], 240), traces(node)


def start() -> int:
    """Start the node as `make cluster` does, see that it answers, and return its first process."""
    pid = localkube("node.stop(paths); node.start(paths); print(node.process(paths).pid)").splitlines()[-1]
    kubeconfig = settings.paths_from().cache / f"node{SLOT}" / "kubeconfig"
    argv = [tool("kubectl"), f"--kubeconfig={kubeconfig}", "get", "namespace", "default", "-o", "name"]
    assert subprocess.run(argv, check=True, capture_output=True, text=True, timeout=240).stdout == "namespace/default\n"
    return int(pid)
