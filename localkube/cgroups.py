"""The cgroup that all pods of the node are in: made before the kubelet starts, removed after everything has ended."""

from pathlib import Path

from localkube.components import CGROUP
from localkube.processes import wait_until

ROOT = Path("/sys/fs/cgroup")
V2_CONTROLLERS = ("cpuset", "cpu", "io", "memory", "hugetlb", "pids")


def hierarchies(root: Path = ROOT) -> list[Path]:
    """The roots of the cgroup hierarchies: one for cgroup v2, one for each controller for v1."""
    if (root / "cgroup.controllers").exists():
        return [root]
    return [path for path in sorted(root.iterdir()) if (path / "cgroup.procs").exists() and not path.is_symlink()]


def create(root: Path = ROOT) -> None:
    """Make the cgroup in every hierarchy; on v2 with the controllers that the kubelet wants."""
    for hierarchy in hierarchies(root):
        if (hierarchy / "cgroup.controllers").exists():
            _enable(hierarchy)
        own = hierarchy / CGROUP
        own.mkdir(exist_ok=True)
        if (own / "cgroup.controllers").exists():
            _enable(own)
        for name in ("cpuset.cpus", "cpuset.mems"):  # empty in a new v1 cgroup, and then no process may enter
            if (own / name).exists() and not (own / name).read_text().strip() and hierarchy.name.startswith("cpuset"):
                (own / name).write_text((hierarchy / name).read_text())


def _enable(cgroup: Path) -> None:
    offered = (cgroup / "cgroup.controllers").read_text().split()
    for controller in V2_CONTROLLERS:
        if controller in offered:
            (cgroup / "cgroup.subtree_control").write_text(f"+{controller}")


def remove(root: Path = ROOT) -> bool:
    """Remove the cgroup and all below it; False when some process is still in it."""
    own = [hierarchy / CGROUP for hierarchy in hierarchies(root)]
    return wait_until(lambda: all(map(_gone, own)), 10)


def _gone(cgroup: Path) -> bool:
    if not cgroup.exists():
        return True
    folders = [path for path in cgroup.rglob("*") if path.is_dir()]
    for folder in sorted(folders, key=lambda path: -len(path.parts)):
        if not _rmdir(folder):
            return False
    return _rmdir(cgroup)


def _rmdir(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
