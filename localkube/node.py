"""Starts and ends the node: its namespaces, its link to the machine, its images."""

import json
import subprocess
import sys
import time
from pathlib import Path

from localkube import cgroups, components, golang, packages, pki, processes
from localkube.cache import obtain, remove_tree
from localkube.commands import environment, output, run, succeeds
from localkube.components import Layout
from localkube.images import Image
from localkube.processes import Process
from localkube.settings import CHECKOUT, HOST_ADDRESS, HOST_LINK, NODE_ADDRESS, Paths
from localkube.step_reports import StepFailedError, print_line

MAP_COUNT = Path("/proc/sys/vm/max_map_count")
WANTED_MAP_COUNT = 262144  # Elasticsearch's bootstrap check
KEPT = ("containerd", "pki", "images.json", "machine.json", "kubeconfig")  # between starts


def layout(paths: Paths) -> Layout:
    """Where the node's things are; unpacks and builds programs that are missing."""
    programs = obtain(packages.node_programs(), paths)
    kubernetes = obtain(golang.artifact(golang.KUBERNETES, paths), paths)
    return Layout(paths.node, programs / "bin", programs / "root/usr/lib/cni", kubernetes / "bin")


def process(paths: Paths) -> Process | None:
    """The node's first process, when it runs."""
    try:
        recorded = Process(**json.loads((paths.node / "process.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return recorded if recorded.alive() else None


def stop(paths: Paths) -> None:
    """End the node, if there is one, and remove what it had. Raises StepFailedError if something stays."""
    running = process(paths)
    if running:
        with processes.held_pid_namespace(running.pid) as namespace:
            running.kill()
            ended = namespace is None or processes.wait_until(lambda: not processes.members(namespace), 30)
            if not ended:
                raise StepFailedError(
                    f"processes of the node do not end: {processes.members(namespace or '')}",
                    hint="they hang in the kernel (disk or mount); look with `ps -o stat,wchan,args`",
                )
    # First the cgroup: when it is in use, the link belongs to a node that runs, and stays.
    if not cgroups.remove():
        raise StepFailedError(
            f"there are processes in the cgroup {components.CGROUP} that are not of the node in {paths.node}",
            hint="another localkube runs: FAIRLAP_CACHE=<its folder> python3 -m localkube down; "
            "if that folder is gone, end the process that `pgrep -af localkube.inside` shows",
        )
    if succeeds(["ip", "link", "show", HOST_LINK]):
        _remove_link()
    _restore_machine(paths)
    _remove_state(paths)


def _remove_link() -> None:
    # It goes by itself when the kernel has taken down the node's network namespace, a moment later.
    if not processes.wait_until(lambda: not succeeds(["ip", "link", "show", HOST_LINK]), 3):
        succeeds(["ip", "link", "delete", HOST_LINK])


def _remove_state(paths: Paths) -> None:
    if not paths.node.is_dir():
        return
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    if inside := [place for place in mounted if Path(place).is_relative_to(paths.node)]:
        raise StepFailedError(
            f"something is mounted in the node's folder: {inside}", hint=f"unmount it: umount {' '.join(inside)}"
        )
    for entry in paths.node.iterdir():
        if entry.name in KEPT or entry.name == "log":
            continue
        remove_tree(entry) if entry.is_dir() else entry.unlink()


def _set_machine(paths: Paths) -> None:
    """The one setting of the machine that Elasticsearch needs and that no namespace has: restored by `down`."""
    before = int(MAP_COUNT.read_text())
    record = paths.node / "machine.json"
    if before < WANTED_MAP_COUNT:
        record.write_text(json.dumps({"max_map_count": before}))
        MAP_COUNT.write_text(str(WANTED_MAP_COUNT))
    # The mount point of a private file system; removed again when nothing else uses it.
    Path("/var/lib/cni").mkdir(parents=True, exist_ok=True)


def _restore_machine(paths: Paths) -> None:
    record = paths.node / "machine.json"
    if record.exists():
        MAP_COUNT.write_text(str(json.loads(record.read_text())["max_map_count"]))
        record.unlink()
    cni = Path("/var/lib/cni")
    alone = not [link for link in Path("/sys/class/net").iterdir() if link.name.startswith("localkube")]
    if alone and cni.is_dir() and not any(cni.iterdir()):
        cni.rmdir()


def start(paths: Paths) -> None:
    """Start the node with an empty etcd; returns when its API server answers. Raises StepFailedError."""
    where = layout(paths)
    log = paths.node / "log" / "start.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    for old in log.parent.iterdir():
        old.unlink()
    pki.ensure(where.pki, log)
    if not paths.kubeconfig.exists() or paths.kubeconfig.read_text() != pki.kubeconfig(where.pki, "admin"):
        pki.write_private(paths.kubeconfig, pki.kubeconfig(where.pki, "admin"))
    for file, text in components.files(where).items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (paths.node / "run").mkdir(exist_ok=True)
    _set_machine(paths)
    cgroups.create()
    child = _spawn(where, log)
    _link(paths, child, log)
    ready = processes.wait_until(lambda: "started" in log.read_text() or process(paths) is None, 150)
    if not ready or process(paths) is None:
        raise StepFailedError(
            "the node does not start", hint=f"see the programs' logs in {log.parent}, then try again", log=log
        )


def _spawn(where: Layout, log: Path) -> subprocess.Popen[str]:
    """The node's first process, waiting for its link."""
    config = where.state / "layout.json"
    names = ("state", "programs", "plugins", "kubernetes")
    config.write_text(json.dumps({name: str(getattr(where, name)) for name in names}))
    namespaces = ["unshare", "--mount", "--propagation", "private", "--net", "--pid", "--fork"]
    with log.open("a") as out:
        return subprocess.Popen(
            [*namespaces, sys.executable, "-m", "localkube.inside", str(config)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=out,
            text=True,
            cwd=CHECKOUT,
            env={**environment(), "PYTHONDONTWRITEBYTECODE": "1"},
            start_new_session=True,
        )


def _link(paths: Paths, child: subprocess.Popen[str], log: Path) -> None:
    """Join the node's network namespace to the machine, then let the node go on."""
    processes.wait_until(lambda: process(paths) is not None or child.poll() is not None, 15)
    first = process(paths)
    if not first:
        raise StepFailedError("the node's first process did not start", hint="is this run as root?", log=log)
    peer = "eth0"
    hint = f"is {HOST_ADDRESS}/30 or the link {HOST_LINK} in use by something else? (ip addr)"
    try:
        pair = ["type", "veth", "peer", "name", peer, "netns", str(first.pid)]
        run(["ip", "link", "add", HOST_LINK, *pair], log=log, hint=hint)
        run(["ip", "address", "add", f"{HOST_ADDRESS}/30", "dev", HOST_LINK], log=log, hint=hint)
        run(["ip", "link", "set", HOST_LINK, "up"], log=log, hint=hint)
        inside = ["nsenter", "-t", str(first.pid), "-n"]
        run([*inside, "ip", "link", "set", "lo", "up"], log=log)
        run([*inside, "ip", "address", "add", f"{NODE_ADDRESS}/30", "dev", peer], log=log)
        run([*inside, "ip", "link", "set", peer, "up"], log=log)
        run([*inside, "ip", "route", "add", "default", "via", HOST_ADDRESS], log=log)
    except StepFailedError:
        first.kill()
        raise
    assert child.stdin is not None  # noqa: S101 - it was opened as a pipe
    child.stdin.write("linked\n")
    child.stdin.close()


def _ctr(where: Layout, *words: str | Path) -> list[str | Path]:
    return [where.programs / "ctr", "--address", where.socket, "-n", "k8s.io", *words]


def import_images(images: list[Image], paths: Paths) -> list[str]:
    """Bring images that are new or changed into the node; returns their names."""
    where = layout(paths)
    record = paths.node / "images.json"
    known: dict[str, str] = json.loads(record.read_text()) if record.exists() else {}
    there = set(output(_ctr(where, "images", "list", "-q")).split())
    hint = f"python3 -m localkube down; remove {paths.node / 'containerd'}; then up again"
    new = [image for image in images if image.name not in there or known.get(image.name) != image.artifact.key]
    for image in new:
        began = time.monotonic()
        file = image.file(paths)
        log = paths.logs / "import.log"
        run(_ctr(where, "images", "import", file), log=log, hint=hint)
        known[image.name] = image.artifact.key
        record.write_text(json.dumps(known, indent=2))
        print_line(f"    {image.name} ({time.monotonic() - began:.1f} s)")
    return [image.name for image in new]


def forget_images(names: list[str], paths: Paths) -> None:
    """Remove images from the node; those that a container still uses stay."""
    where = layout(paths)
    used = output(_ctr(where, "containers", "list"))
    there = set(output(_ctr(where, "images", "list", "-q")).split())
    gone = [name for name in names if name in there and name not in used]
    if gone:
        run(_ctr(where, "images", "remove", *gone), log=paths.logs / "import.log")
