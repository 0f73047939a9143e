"""Debian packages: those installed on the machine, and those only unpacked into the cache."""

import importlib.util
import shutil
from collections.abc import Sequence
from pathlib import Path

from localkube.cache import Artifact
from localkube.commands import SYSTEM_PATH, environment, run, succeeds
from localkube.settings import Paths
from localkube.step_reports import StepFailedError, step

# program -> package that brings it
PROGRAMS = {
    "buildah": "buildah",
    "debootstrap": "debootstrap",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "openssl": "openssl",
}
# Only needed while something is still to be built.
BUILD_PROGRAMS = {"javac": "openjdk-17-jdk-headless", "mvn": "maven", "pip3": "python3-pip"}

# These bring services that would start on the machine itself, so they are unpacked and never installed.
NODE_PACKAGES = ("etcd-server", "containerd", "runc", "containernetworking-plugins")


def find(program: str) -> str | None:
    """The path of a program, the system's sbin folders included."""
    return shutil.which(program, path=f"{environment()['PATH']}:{SYSTEM_PATH}")


def has_pip() -> bool:
    """Whether the Python that runs this has pip."""
    return importlib.util.find_spec("pip") is not None


def missing(programs: dict[str, str]) -> list[str]:
    """The packages of those programs that are not there."""
    return sorted({package for program, package in programs.items() if not find(program)})


def install(packages: list[str], paths: Paths) -> None:
    """Install Debian packages, with a refreshed package list; raises StepFailedError."""
    if not packages:
        return
    log = paths.logs / "packages.log"
    log.unlink(missing_ok=True)
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    with step(f"Debian packages {' '.join(packages)}", 20 + 8 * len(packages)):
        if not find("apt-get"):
            raise StepFailedError(
                "this machine has no apt-get", hint=f"install the programs of {packages} by hand, then start again"
            )
        hint = "see that apt works (`apt-get update`) and that no other apt is running, then start again"
        run(["apt-get", "update"], log=log, env=env, hint=hint)
        run(["apt-get", "install", "-y", "--no-install-recommends", *packages], log=log, env=env, hint=hint)


def ensure(programs: dict[str, str], paths: Paths) -> None:
    """See that programs are there, installing packages for those that are not."""
    install(missing(programs), paths)


def unpack(names: Sequence[str], root: Path, log: Path) -> None:
    """Download Debian packages and unpack their files below `root`, without installing them."""
    hint = "see that `apt-get update` works, then start again"
    # Without a list, or with one so old that the mirror no longer has those versions, it takes a new one.
    download = root.with_name("packages")
    download.mkdir()
    argv = ["apt-get", "download", "-o", "APT::Sandbox::User=root", *names]
    if not succeeds(argv, cwd=download):
        run(["apt-get", "update"], log=log, hint=hint)
        run(argv, cwd=download, log=log, hint=hint)
    for package in sorted(download.glob("*.deb")):
        run(["dpkg-deb", "-x", package, root], log=log)
    shutil.rmtree(download)


def _unpack_node_programs(folder: Path, log: Path) -> None:
    unpack(NODE_PACKAGES, folder / "root", log)
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    for program in sorted((folder / "root/usr").glob("*bin/*")):
        if not program.is_symlink():
            (bin_folder / program.name).symlink_to(Path("..") / program.relative_to(folder))


def release() -> str:
    """The machine's distribution and its version, such as `debian 12`."""
    values = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return f"{values.get('ID', '?')} {values.get('VERSION_ID', '?')}".replace('"', "")


def node_programs() -> Artifact:
    """etcd, containerd, ctr, runc (in bin/) and the CNI plugins (in root/usr/lib/cni)."""
    return Artifact(
        "node-programs",
        {"packages": " ".join(NODE_PACKAGES), "release": release(), "recipe": "1"},
        "etcd, containerd, runc and the CNI plugins: unpacking Debian's packages",
        _unpack_node_programs,
        10,
    )
