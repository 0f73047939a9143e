"""The node's first process, run as process 1 of its own PID, mount and network namespaces.

When it ends, however that happens, the kernel ends every process of the node (its containers too) and with the last one
go the mounts, the links and the iptables rules: nothing can be left behind.
"""

import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from localkube import components
from localkube.components import Component, Layout, go_environment, system_processors

RESTART_PAUSE_SECONDS = 1.0


def mount(kind: str, target: Path, *options: str) -> None:
    """Mount a fresh file system of a kind."""
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", kind, *options, kind, str(target)], check=True)


def prepare_mounts(layout: Layout) -> None:
    """Folders that only the node sees: its own /proc, and a /run and CNI cache that vanish with it."""
    mount("proc", Path("/proc"))
    for target in ("/run", "/var/log", "/var/lib/cni"):
        mount("tmpfs", Path(target), "-o", "mode=755")
    # Some volume types need mounts to reach containers that already run.
    subprocess.run(["mount", "--make-rshared", "/"], check=True)
    for folder in layout.volumes.values():
        folder.mkdir(parents=True, exist_ok=True)
    mount("tmpfs", layout.volumes["local-tmpfs"], "-o", "mode=755")


class Supervisor:
    """Starts programs, writes their logs, starts them again when they end, and reaps orphans (as process 1 must)."""

    def __init__(self, layout: Layout):
        self._layout = layout
        self._running: dict[int, Component] = {}
        self._again: list[tuple[float, Component]] = []
        (layout.state / "log").mkdir(parents=True, exist_ok=True)

    def start(self, component: Component) -> subprocess.Popen[bytes]:
        """Start a program and watch it from now on."""
        with (self._layout.state / "log" / f"{component.name}.log").open("ab") as log:
            path = f"{self._layout.programs}:{os.environ['PATH']}"
            usable = os.sched_getaffinity(0)
            # A child inherits them; the processors that Elasticsearch is given are left alone.
            os.sched_setaffinity(0, usable if component.starts_pods else system_processors(usable))
            try:
                process = subprocess.Popen(
                    component.argv,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, **go_environment(component), "PATH": path},
                    cwd="/",
                )
            finally:
                os.sched_setaffinity(0, usable)
        self._running[process.pid] = component
        return process

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """End a program for good."""
        self._running.pop(process.pid, None)
        process.terminate()
        process.wait()

    def tend(self) -> None:
        """Reap what has ended; start again what should run."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            if ended := self._running.pop(pid, None):
                print(f"{ended.name} ended with status {status}, starting it again", flush=True)
                self._again.append((time.monotonic() + RESTART_PAUSE_SECONDS, ended))
        due = [component for moment, component in self._again if moment <= time.monotonic()]
        self._again = [entry for entry in self._again if entry[1] not in due]
        for component in due:
            self.start(component)

    def tend_until(self, ready: Callable[[], bool], what: str, seconds: float) -> None:
        """Tend until `ready()`; raises TimeoutError."""
        end = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > end:
                raise TimeoutError(what)
            self.tend()
            time.sleep(0.1)


def api_answers(layout: Layout) -> bool:
    """Whether the API server says it is ready."""
    context = ssl.create_default_context(cafile=str(layout.pki / "ca.crt"))
    try:
        with urllib.request.urlopen("https://127.0.0.1:6443/readyz", context=context, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def containerd_answers(layout: Layout) -> bool:
    """Whether containerd answers on its socket."""
    return ctr(layout, "version").returncode == 0


def ctr(layout: Layout, *words: str) -> subprocess.CompletedProcess[str]:
    """Run containerd's own client in Kubernetes' namespace."""
    argv = [str(layout.programs / "ctr"), "--address", str(layout.socket), "-n", "k8s.io", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def forget_containers(supervisor: Supervisor, layout: Layout) -> None:
    """Remove what an earlier node's containers left in containerd's store; its images stay.

    Done by a containerd without its Kubernetes part, which would otherwise load those containers as its own.
    """
    process = supervisor.start(components.containerd(layout, cri=False))
    supervisor.tend_until(lambda: containerd_answers(layout), "containerd does not answer", 30)
    for container in ctr(layout, "containers", "list", "-q").stdout.split():
        ctr(layout, "containers", "delete", container)
    supervisor.stop(process)


def main(config: Path) -> None:
    """Run the node described by a JSON file until told to end."""
    layout = Layout(**{name: Path(value) for name, value in json.loads(config.read_text()).items()})
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The number of this process as the machine sees it, before /proc becomes the node's own.
    outer = Path("/proc/self").readlink().name
    start = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19]
    pid_file = layout.state / "process.json"
    pid_file.with_suffix(".new").write_text(json.dumps({"pid": int(outer), "start": int(start)}))
    pid_file.with_suffix(".new").rename(pid_file)
    if sys.stdin.readline().strip() != "linked":
        return
    prepare_mounts(layout)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    supervisor = Supervisor(layout)
    supervisor.start(components.etcd(layout))
    supervisor.start(components.apiserver(layout))
    forget_containers(supervisor, layout)
    supervisor.start(components.containerd(layout))
    supervisor.tend_until(lambda: api_answers(layout), "the API server does not answer", 120)
    for component in components.followers(layout):
        supervisor.start(component)
    print("started", flush=True)
    while True:
        supervisor.tend()
        time.sleep(0.2)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
