"""What every cluster has on top of Kubernetes: names, volumes, ECK, Prometheus; and the check that it is there."""

import string
import time
from pathlib import Path

from localkube import golang, images
from localkube.cache import obtain
from localkube.commands import output, run, succeeds
from localkube.components import Layout
from localkube.settings import DNS_ADDRESS, HERE, NODE_NAME, PROMETHEUS_VERSION, Paths
from localkube.step_reports import StepFailedError

ECK_NAMESPACE = "elastic-system"
ECK_GO = "env[0].name=GOGC,env[0].value=400,env[1].name=GOMEMLIMIT,env[1].value=512MiB"
"""Fewer garbage collections, below the 1 GiB that the chart allows it."""


def kubectl(paths: Paths, *words: str, stdin: str | None = None) -> str:
    """What kubectl prints about our cluster; raises StepFailedError."""
    program = golang.program_path(golang.KUBERNETES, "kubectl", paths)
    return output([program, f"--kubeconfig={paths.kubeconfig}", *words], stdin=stdin)


def manifest(name: str, layout: Layout, paths: Paths) -> str:
    """One of our manifests with its images, addresses and folders filled in."""
    values = {
        "COREDNS": images.COREDNS_NAME,
        "PROVISIONER": images.PROVISIONER_NAME,
        "BASE": images.base(paths).name,
        "DNS_ADDRESS": DNS_ADDRESS,
        "DISK": str(layout.volumes["local-disk"]),
        "TMPFS": str(layout.volumes["local-tmpfs"]),
        "PROMETHEUS_OPERATOR": images.PROMETHEUS_OPERATOR_NAME,
        "CONFIG_RELOADER": images.CONFIG_RELOADER_NAME,
        "PROMETHEUS_VERSION": f"v{PROMETHEUS_VERSION}",
        "PROMETHEUS": images.PROMETHEUS_NAME,
    }
    return string.Template((HERE / "manifests" / name).read_text()).substitute(values)


def apply(layout: Layout, paths: Paths) -> None:
    """Install CoreDNS, the provisioner of volumes, Prometheus with its operator, and ECK by its own chart."""
    crds = obtain(golang.artifact(golang.PROMETHEUS_OPERATOR, paths), paths) / "crds.yaml"
    kubectl(paths, "apply", "--server-side", "--force-conflicts", "-f", str(crds))
    kubectl(paths, "wait", "--for=condition=Established", "--timeout=30s", "-f", str(crds))
    for name in ("coredns.yaml", "storage.yaml", "monitoring.yaml"):
        kubectl(paths, "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifest(name, layout, paths))
    chart = obtain(golang.artifact(golang.ECK, paths), paths) / "chart"
    helm = golang.program_path(golang.HELM, "helm", paths)
    env = {"KUBECONFIG": str(paths.kubeconfig), "HELM_CACHE_HOME": str(paths.node / "helm")}
    values = ["--set", "telemetry.disabled=true", "--set", "resources.limits.cpu=null", "--set-string", ECK_GO]
    words: list[str | Path] = [
        "upgrade",
        "--install",
        "elastic-operator",
        chart,
        "-n",
        ECK_NAMESPACE,
        "--create-namespace",
        *values,
    ]
    run([helm, *words], log=paths.logs / "eck.log", env=env, hint="see the log; `python3 -m localkube down`, then up")


WAITS = (
    ("the node", ("wait", "--for=condition=Ready", f"node/{NODE_NAME}")),
    ("CoreDNS", ("-n", "kube-system", "rollout", "status", "deployment/coredns")),
    ("local-path-provisioner", ("-n", "local-path-storage", "rollout", "status", "deployment/local-path-provisioner")),
    ("ECK", ("-n", ECK_NAMESPACE, "rollout", "status", "statefulset/elastic-operator")),
    ("prometheus-operator", ("-n", "monitoring", "rollout", "status", "deployment/prometheus-operator")),
    ("Prometheus", ("-n", "monitoring", "rollout", "status", "statefulset/prometheus-k8s")),
)


def wait(paths: Paths, seconds: int = 120) -> None:
    """Wait until the node and everything on it is ready; raises StepFailedError with what the cluster says."""
    end = time.monotonic() + seconds
    for what, words in WAITS:
        while True:
            try:
                kubectl(paths, *words, "--timeout=10s")
                break
            except StepFailedError as error:
                if time.monotonic() > end:
                    raise StepFailedError(
                        f"{what} is not ready after {seconds} s\n{_picture(paths)}",
                        hint=f"see {paths.node / 'log'}; `python3 -m localkube down`, then up again",
                    ) from error
                time.sleep(0.5)


def _picture(paths: Paths) -> str:
    try:
        pods = kubectl(paths, "get", "pods", "-A", "-o", "wide")
        events = kubectl(paths, "get", "events", "-A", "--field-selector=type=Warning", "--sort-by=.lastTimestamp")
    except StepFailedError as error:
        return error.why
    return pods + "\n".join(events.splitlines()[-8:])


def ready(paths: Paths, *, node_only: bool = False) -> bool:
    """Whether all of it (or just the node) is there and ready right now."""
    program: Path = golang.program_path(golang.KUBERNETES, "kubectl", paths)
    base: list[str | Path] = [program, f"--kubeconfig={paths.kubeconfig}", "--request-timeout=5s"]
    return all(succeeds([*base, *words, "--timeout=2s"]) for _, words in WAITS[: 1 if node_only else None])
