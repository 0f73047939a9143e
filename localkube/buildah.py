"""Builds images with buildah, with the machine's package settings lent to the build and never baked in."""

import ast
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from localkube import packages
from localkube.commands import environment, output, run, succeeds
from localkube.settings import Paths
from localkube.step_reports import StepFailedError

LENT = "/run/localkube"  # where builds see the machine's package settings
BUNDLES = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE")
DEFAULT_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
HINT = "see the log; when the disk is full, `python3 -m localkube prune` frees space; then start again"


def argv(paths: Paths, *words: str | Path) -> list[str | Path]:
    """A buildah command on our own storage, in a mount namespace of its own so that no mount can stay behind."""
    root = paths.buildah
    storage: list[str | Path] = ["--root", root / "root", "--runroot", root / "run", "--storage-driver", "overlay"]
    return ["unshare", "--mount", "--propagation", "private", "buildah", *storage, *words]


ENVIRONMENT = {"BUILDAH_ISOLATION": "chroot"}
# An archive is unpacked into the node once: gzip would take longer than building what is in it.
_QUICK = ("--compression-format", "zstd", "--compression-level", "1")


def pip_configuration(listed: str, bundle: str) -> tuple[str, list[str]]:
    """A pip.conf from what `pip config list` prints, with CAs from `bundle`; and the local folders it names."""
    sections: dict[str, dict[str, str]] = {}
    folders = []
    for line in listed.splitlines():
        name, _, quoted = line.partition("=")
        section, _, key = name.strip().rpartition(".")
        if not section or key in {"cert", "disable-pip-version-check", "cache-dir", "no-cache-dir"}:
            continue
        value = str(ast.literal_eval(quoted))
        if key == "find-links":
            folders += [word for word in value.split() if word.startswith("/")]
        sections.setdefault("global" if section.startswith(":env:") else section, {})[key] = value
    sections.setdefault("global", {})["cert"] = bundle
    text = ""
    for section, values in sections.items():
        text += f"[{section}]\n" + "".join(f"{key} = {' '.join(value.split())}\n" for key, value in values.items())
    return text, folders


def apt_sources(targets: str) -> list[str]:
    """sources.list lines for the Debian archives in `apt-get indextargets` (URI, release, component, origin)."""
    lines = set()
    for target in targets.splitlines():
        uri, release, component, origin = [*target.split("|"), "", "", ""][:4]
        if origin == "Debian":
            lines.add(f"deb {uri} {release} {component}")
    return sorted(lines)


def _indextargets() -> str:
    wanted = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)"
    return output(["apt-get", "indextargets", "--format", wanted, "Created-By: Packages"])


def debian_mirror(paths: Paths) -> str:
    """The address of the Debian archive that this machine uses."""
    sources = apt_sources(_indextargets())
    if not sources:
        run(["apt-get", "update"], log=paths.logs / "packages.log", hint="see that `apt-get update` works")
        sources = apt_sources(_indextargets())
    main = [line.split()[1] for line in sources if not line.split()[2].endswith(("-security", "-updates"))]
    if not main:
        raise StepFailedError(
            "apt on this machine knows no archive of Debian",
            hint="add one to /etc/apt/sources.list.d, then start again",
        )
    return main[0]


def lend_settings(paths: Paths) -> list[str | Path]:
    """Write the machine's apt, pip and CA settings for builds; returns the options that show them to a build."""
    mirror = debian_mirror(paths)
    folder = paths.cache / "lent"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    env = environment()
    bundle = next((Path(env[name]) for name in BUNDLES if Path(env.get(name, "")).is_file()), DEFAULT_BUNDLE)
    shutil.copy(bundle, folder / "ca.crt")
    sources = apt_sources(_indextargets()) or [f"deb {mirror} bookworm main"]
    (folder / "sources.list").write_text("\n".join(sources) + "\n")
    wanted = ("Acquire::http", "Acquire::https", "Acquire::Retries")
    acquire = [line for line in output(["apt-config", "dump"]).splitlines() if line.startswith(wanted)]
    own = [
        f'Dir::Etc::sourcelist "{LENT}/sources.list";',
        'Dir::Etc::sourceparts "-";',
        f'Acquire::https::CAInfo "{LENT}/ca.crt";',
    ]
    (folder / "apt.conf").write_text("\n".join([*acquire, *own]) + "\n")
    pip = [sys.executable, "-m", "pip"] if packages.has_pip() else ["pip3"]
    listed = output([*pip, "config", "list"]) if packages.has_pip() or packages.find("pip3") else ""
    text, folders = pip_configuration(listed, f"{LENT}/ca.crt")
    (folder / "pip.conf").write_text(text)
    options: list[str | Path] = ["-v", f"{folder}:{LENT}:ro"]
    for local in folders:
        if Path(local).is_dir():
            options += ["-v", f"{local}:{local}:ro"]
    options += ["--build-arg", f"APT_CONFIG={LENT}/apt.conf", "--build-arg", f"PIP_CONFIG_FILE={LENT}/pip.conf"]
    return options


def build(
    paths: Paths,
    context: Path,
    image: str,
    log: Path,
    *,
    arguments: Mapping[str, str] | None = None,
    target: str = "",
    packages_needed: bool = False,
) -> None:
    """Build `context`'s Dockerfile as `image` in our storage; `packages_needed` lends it the package settings."""
    words: list[str | Path] = ["build", "--network", "host", "--layers", "--format", "oci", "--timestamp", "0"]
    if packages_needed:
        words += lend_settings(paths)
    for name, value in (arguments or {}).items():
        words += ["--build-arg", f"{name}={value}"]
    if target:
        words += ["--target", target]
    run(argv(paths, *words, "-t", image, context), log=log, env=ENVIRONMENT, hint=HINT)


def export(paths: Paths, image: str, file: Path, log: Path) -> None:
    """Write an image as an OCI archive."""
    words = ["push", "--quiet", "--format", "oci", *_QUICK, image, f"oci-archive:{file}:{image}"]
    run(argv(paths, *words), log=log, env=ENVIRONMENT, hint=HINT)


def has(paths: Paths, image: str) -> bool:
    """Whether our storage has an image."""
    return succeeds(argv(paths, "inspect", "--type", "image", image), env=ENVIRONMENT)


def load(paths: Paths, image: str, file: Path, log: Path) -> None:
    """Bring an exported image back into our storage."""
    run(argv(paths, "pull", "--quiet", f"oci-archive:{file}"), log=log, env=ENVIRONMENT, hint=HINT)
    if not has(paths, image):
        listed = output(argv(paths, "images", "--quiet"), env=ENVIRONMENT).split()
        run(argv(paths, "tag", listed[0], image), log=log, env=ENVIRONMENT, hint=HINT)
