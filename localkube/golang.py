"""The Go toolchain, and what is built with it."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from localkube import packages
from localkube.cache import Artifact, digest_of, folder_of, obtain
from localkube.commands import environment, output, run, succeeds
from localkube.settings import (
    ECK_VERSION,
    HERE,
    K6_VERSION,
    KUBERNETES_VERSION,
    PROMETHEUS_OPERATOR_VERSION,
    PROMETHEUS_VERSION,
    Paths,
)
from localkube.step_reports import StepFailedError, step

NEEDED = (1, 26, 0)  # what the go.mod files of ECK and helm ask for
# A Go release as an ordinary Go module: even an old go client can download it.
TOOLCHAIN = "golang.org/toolchain@v0.0.1-go1.26.5.linux-amd64"
HINT = "see that Go modules can be downloaded (`go env GOPROXY`) and that the disk has 12 GB free, then start again"


def version_of(text: str) -> tuple[int, ...]:
    """(1, 26, 8) from what `go version` prints; (0,) when that says no version."""
    found = re.search(r"\bgo(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in found.group(1).split(".")) if found else (0,)


def _local() -> tuple[str, tuple[int, ...]] | None:
    for candidate in (packages.find("go"), "/usr/local/go/bin/go"):
        if candidate and succeeds([candidate, "version"]):
            return candidate, version_of(output([candidate, "version"], env={"GOTOOLCHAIN": "local"}))
    return None


def _download_toolchain(go: str, folder: Path, log: Path) -> None:
    run([go, "version"], log=log)
    said = output([go, "mod", "download", "-json", TOOLCHAIN], cwd=folder, env={"GO111MODULE": "on"}, hint=HINT)
    shutil.copytree(json.loads(said)["Dir"], folder / "go", symlinks=True)
    for sub in ("bin", "pkg/tool"):  # modules carry no permission to execute
        for file in (folder / "go" / sub).rglob("*"):
            file.chmod(0o755)


def toolchain(paths: Paths) -> str:
    """The path of a go command that is new enough; brings one when the machine has none."""
    local = _local()
    if local and local[1] >= NEEDED:
        return local[0]
    if not local:
        packages.install(["golang-go"], paths)
        local = _local()
    if not local:
        raise StepFailedError("no go command", hint="install Debian's golang-go or a Go release, then start again")
    client = local[0]
    artifact = Artifact(
        "go",
        {"module": TOOLCHAIN},
        f"Go: the one here is {'.'.join(map(str, local[1]))}, downloading {TOOLCHAIN.split('-', 1)[1]}",
        lambda folder, log: _download_toolchain(client, folder, log),
        30,
    )
    return str(obtain(artifact, paths) / "go/bin/go")


@dataclass(frozen=True)
class Program:
    """A Go program: which package, in which of our pinned modules (folders beside this file)."""

    name: str
    module: str
    package: str
    ldflags: str
    title: str
    estimate: float
    links: tuple[str, ...] = ()  # other names of the same binary
    tags: str = ""


def _kubernetes_flags() -> str:
    # Without a version helm refuses every chart.
    major, minor, _ = KUBERNETES_VERSION.split(".")
    values = {"gitVersion": f"v{KUBERNETES_VERSION}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    modules = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(f"-X {module}.{key}={value}" for module in modules for key, value in values.items())


ABOUT_ECK = "github.com/elastic/cloud-on-k8s/v3/pkg/about"
KUBERNETES = Program(
    "kubernetes",
    "kube",
    ".",
    _kubernetes_flags(),
    f"Kubernetes {KUBERNETES_VERSION}: compiling control plane, node and kubectl as one binary",
    380,
    ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "kubectl"),
)
ECK = Program(
    "elastic-operator",
    "eck",
    "github.com/elastic/cloud-on-k8s/v3/cmd",
    f"-X {ABOUT_ECK}.version={ECK_VERSION} -X {ABOUT_ECK}.buildSnapshot=false",
    f"ECK {ECK_VERSION}: compiling the operator",
    150,
)
# One module for four: with the same libraries of Kubernetes, each after the first compiles little but its own.
HELM = Program("helm", "clients", "helm.sh/helm/v3/cmd/helm", "", "helm: compiling", 25)
COREDNS = Program("coredns", "clients", "./coredns", "", "CoreDNS: compiling", 10)
PROVISIONER = Program(
    "local-path-provisioner",
    "clients",
    "github.com/rancher/local-path-provisioner",
    "",
    "local-path-provisioner: compiling",
    30,
)
OPERATOR_MODULE = "github.com/prometheus-operator/prometheus-operator"
ABOUT_PROMETHEUS = "github.com/prometheus/common/version"
PROMETHEUS_OPERATOR = Program(
    "prometheus-operator",
    "prometheus-operator",
    f"{OPERATOR_MODULE}/cmd/operator",
    f"-X {ABOUT_PROMETHEUS}.Version={PROMETHEUS_OPERATOR_VERSION}",
    f"prometheus-operator {PROMETHEUS_OPERATOR_VERSION}: compiling",
    100,
)
CONFIG_RELOADER = Program(
    "prometheus-config-reloader",
    "prometheus-operator",
    f"{OPERATOR_MODULE}/cmd/prometheus-config-reloader",
    f"-X {ABOUT_PROMETHEUS}.Version={PROMETHEUS_OPERATOR_VERSION}",
    "prometheus-config-reloader: compiling",
    15,
)
PROMETHEUS = Program(
    "prometheus",
    "clients",
    "github.com/prometheus/prometheus/cmd/prometheus",
    f"-X {ABOUT_PROMETHEUS}.Version={PROMETHEUS_VERSION}",
    f"Prometheus {PROMETHEUS_VERSION}: compiling the server with Kubernetes discovery",
    155,
    tags="remove_all_sd,enable_kubernetes_sd",
)
# Not a program of the node: what needs it, as a test of HTTP targets, has it built.
K6 = Program("k6", "k6", "go.k6.io/k6", "", f"k6 {K6_VERSION}: compiling the load generator of HTTP targets", 90)
PAUSE = Program("pause", "pause", ".", "", "pause: compiling the process that holds a pod together", 5)
PROGRAMS = (
    *(KUBERNETES, ECK, PROMETHEUS, HELM, COREDNS, PROVISIONER, PAUSE),
    *(PROMETHEUS_OPERATOR, CONFIG_RELOADER),
)


def build_environment(go: str) -> dict[str, str]:
    """Settings under which every program is built; `go` is the command that builds."""
    return {
        "CGO_ENABLED": "0",  # static binaries: no C compiler needed, and images need nothing else
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GO111MODULE": "on",
        "PATH": f"{Path(go).parent}:{environment()['PATH']}",
    }


def _build(program: Program, paths: Paths, folder: Path, log: Path) -> None:
    go = toolchain(paths)
    source, env = HERE / program.module, build_environment(go)
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    target = bin_folder / program.name
    tags = ["-tags", program.tags] if program.tags else []
    run(
        [go, "build", *tags, "-ldflags", f"-s -w {program.ldflags}".strip(), "-o", target, program.package],
        cwd=source,
        env=env,
        log=log,
        hint=HINT,
    )
    for name in program.links:
        (bin_folder / name).symlink_to(program.name)
    if program is ECK:
        _copy_eck_chart(go, env, source, folder)
    if program is PROMETHEUS_OPERATOR:
        _copy_monitoring_crds(go, env, source, folder)


# What a Prometheus and its monitors need; Alertmanager and Thanos are not run here.
MONITORING_KINDS = ("prometheuses", "servicemonitors", "podmonitors", "probes", "scrapeconfigs", "prometheusrules")


def _copy_monitoring_crds(go: str, env: dict[str, str], source: Path, folder: Path) -> None:
    module = output([go, "list", "-m", "-f", "{{.Dir}}", OPERATOR_MODULE], cwd=source, env=env)
    crds = Path(module.strip()) / "example/prometheus-operator-crd"
    texts = [(crds / f"monitoring.coreos.com_{kind}.yaml").read_text() for kind in MONITORING_KINDS]
    (folder / "crds.yaml").write_text("\n---\n".join(texts))


def _copy_eck_chart(go: str, env: dict[str, str], source: Path, folder: Path) -> None:
    module = output([go, "list", "-m", "-f", "{{.Dir}}", "github.com/elastic/cloud-on-k8s/v3"], cwd=source, env=env)
    root = Path(module.strip())
    shutil.copytree(root / "deploy/eck-operator", folder / "chart")
    shutil.copy(root / "config/crds/v1/all-crds.yaml", folder / "all-crds.yaml")
    for path in [folder / "chart", *(folder / "chart").rglob("*")]:  # the module cache is read-only
        path.chmod(0o755 if path.is_dir() else 0o644)


def artifact(program: Program, paths: Paths) -> Artifact:
    """A built program, as an artifact with a bin/ folder (and ECK's chart and CRDs beside it)."""
    source = HERE / program.module
    return Artifact(
        program.name,
        {"source": digest_of([source], source), "package": program.package, "flags": program.ldflags, "recipe": "1"}
        | ({"tags": program.tags} if program.tags else {}),
        program.title,
        lambda folder, log: _build(program, paths, folder, log),
        program.estimate,
    )


def obtain_all(paths: Paths) -> None:
    """Build every Go program that is missing."""
    wanted = [artifact(program, paths) for program in PROGRAMS]
    if any(not (paths.built / f"{each.name}-{each.key}").is_dir() for each in wanted):
        with step("Go toolchain"):
            toolchain(paths)
    for each in wanted:
        obtain(each, paths)


def program_path(program: Program, name: str, paths: Paths) -> Path:
    """The path of one program (or other name of it), built when missing."""
    return obtain(artifact(program, paths), paths) / "bin" / name


def built_program(program: Program, name: str, paths: Paths) -> Path | None:
    """The path of one program, or None while it is not built."""
    path = folder_of(artifact(program, paths), paths) / "bin" / name
    return path if path.exists() else None
