"""The node's programs and their configuration: pure, from folders to argv lists and file contents."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from localkube.images import PAUSE_NAME
from localkube.settings import DNS_ADDRESS, NODE_ADDRESS, NODE_NAME, POD_RANGE, SERVICE_RANGE, SLOT

CGROUP = "localkube" if SLOT == 0 else f"localkube{SLOT}"  # the cgroup (in every hierarchy) below which all pods are
POD_SUBNET = "10.244.0.0/24"


@dataclass(frozen=True)
class Layout:
    """Where things are for the node's programs."""

    state: Path  # folder of the running node
    programs: Path  # folder with etcd, containerd, runc
    plugins: Path  # folder with the CNI plugins
    kubernetes: Path  # folder with the Kubernetes programs

    @property
    def socket(self) -> Path:
        """Where containerd listens."""
        return self.state / "run" / "containerd.sock"

    @property
    def pki(self) -> Path:
        """Certificates and kubeconfigs."""
        return self.state / "pki"

    @property
    def volumes(self) -> dict[str, Path]:
        """StorageClass -> folder of its volumes."""
        return {"local-disk": self.state / "volumes/disk", "local-tmpfs": self.state / "volumes/tmpfs"}


@dataclass(frozen=True)
class Component:
    """A program of the node: its name (and log's name) and how it is started."""

    name: str
    argv: tuple[str, ...]
    starts_pods: bool = False
    """what it starts is the pods': they would inherit the processors that it may use"""


def go_environment(component: Component) -> dict[str, str]:
    """Return what a program's Go runtime is told: processor time for memory; nothing where pods would inherit it."""
    return {} if component.starts_pods else {"GOGC": "400", "GOMEMLIMIT": "1GiB"}


def system_processors(usable: Collection[int]) -> set[int]:
    """Return the processors, half of them, that the node's own programs use: never those that the kubelet gives first.

    The static CPU manager policy keeps the first processor for all that asks for no whole one, and gives the next ones.
    """
    ordered = sorted(usable)
    return {*ordered[:1], *ordered[len(ordered) - max(0, len(ordered) // 2 - 1) :]}


def containerd_config(layout: Layout, *, cri: bool) -> str:
    """containerd's configuration; without `cri` it only keeps images and removes what an earlier node left."""
    if not cri:
        plugins = 'disabled_plugins = ["io.containerd.grpc.v1.cri"]'
        settings = ""
    else:
        plugins = ""
        settings = f"""
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_NAME}"
  # Works without CAP_SYS_RESOURCE, which sandboxes often lack; changes nothing for those that have it.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{layout.plugins}"
    conf_dir = "{layout.state}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = "/run/localkube/runc"
"""
    return f"""version = 2
root = "{layout.state}/containerd"
state = "/run/localkube/containerd"
{plugins}
[grpc]
  address = "{layout.socket}"
{settings}"""


def cni_config() -> str:
    """Pods on one bridge; their state on /run, so that it vanishes with the node."""
    bridge = {
        "type": "bridge",
        "bridge": "pods",
        "isGateway": True,
        "ipMasq": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": POD_SUBNET}]],
            "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": "/run/localkube/addresses",
        },
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return json.dumps({"cniVersion": "0.4.0", "name": "localkube", "plugins": [bridge, portmap]}, indent=2)


def kubelet_config(layout: Layout) -> str:
    """The kubelet's configuration file."""
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{CGROUP}",
        "failSwapOn": False,
        "failCgroupV1": False,
        "clusterDomain": "cluster.local",
        "clusterDNS": [DNS_ADDRESS],
        "containerRuntimeEndpoint": f"unix://{layout.socket}",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{layout.pki}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{layout.pki}/kubelet.crt",
        "tlsPrivateKeyFile": f"{layout.pki}/kubelet.key",
        "resolvConf": f"{layout.state}/resolv.conf",
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        # There is no registry to get an image from again.
        "imageGCHighThresholdPercent": 100,
        "enforceNodeAllocatable": ["pods"],
        # A pod that asks for whole processors has them to itself; the first one is kept for all that does not.
        "cpuManagerPolicy": "static",
        "systemReserved": {"cpu": "100m"},
        "podLogsDir": f"{layout.state}/pod-logs",
        "volumePluginDir": f"{layout.state}/volume-plugins",
        "maxPods": 200,
        "serializeImagePulls": False,
        "syncFrequency": "20s",
        "volumeStatsAggPeriod": "15s",  # a volume that is fuller than it may be is seen as late as that
        "registryPullQPS": 0,
        "kubeAPIQPS": 100,
        "kubeAPIBurst": 200,
    }
    return json.dumps(config, indent=2)


def containerd(layout: Layout, *, cri: bool = True) -> Component:
    """containerd with one of its two configurations."""
    file = "containerd.toml" if cri else "containerd-images.toml"
    argv = (str(layout.programs / "containerd"), "-c", str(layout.state / file))
    return Component("containerd", argv, starts_pods=True)


def etcd(layout: Layout) -> Component:
    """etcd without waiting for the disk: nothing in it outlives the node."""
    client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
    argv = (
        f"{layout.programs}/etcd",
        f"--data-dir={layout.state}/etcd",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync=true",
    )
    return Component("etcd", argv)


def apiserver(layout: Layout) -> Component:
    """The API server, reachable from the machine at the node's address."""
    pki = layout.pki
    argv = (
        f"{layout.kubernetes}/kube-apiserver",
        "--etcd-servers=http://127.0.0.1:2379",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--secure-port=6443",
        f"--advertise-address={NODE_ADDRESS}",
        f"--tls-cert-file={pki}/apiserver.crt",
        f"--tls-private-key-file={pki}/apiserver.key",
        f"--client-ca-file={pki}/ca.crt",
        f"--kubelet-client-certificate={pki}/apiserver-kubelet.crt",
        f"--kubelet-client-key={pki}/apiserver-kubelet.key",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        "--kubelet-preferred-address-types=InternalIP",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki}/service-accounts.key",
        f"--service-account-signing-key-file={pki}/service-accounts.key",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
    )
    return Component("kube-apiserver", argv)


def followers(layout: Layout) -> list[Component]:
    """What starts when the API server answers."""
    pki, kubernetes = layout.pki, layout.kubernetes
    controllers = (
        f"{kubernetes}/kube-controller-manager",
        f"--kubeconfig={pki}/controller-manager.kubeconfig",
        f"--service-account-private-key-file={pki}/service-accounts.key",
        f"--root-ca-file={pki}/ca.crt",
        f"--cluster-signing-cert-file={pki}/ca.crt",
        f"--cluster-signing-key-file={pki}/ca.key",
        "--use-service-account-credentials=true",
        f"--cluster-cidr={POD_RANGE}",
        "--allocate-node-cidrs=true",
        "--leader-elect=false",
    )
    scheduler = (
        f"{kubernetes}/kube-scheduler",
        f"--kubeconfig={pki}/scheduler.kubeconfig",
        "--leader-elect=false",
        # A pod kept away by another's anti-affinity is not looked at again when that one goes, but after this time.
        "--pod-max-in-unschedulable-pods-duration=10s",
    )
    kubelet = (
        f"{kubernetes}/kubelet",
        f"--config={layout.state}/kubelet.json",
        f"--kubeconfig={pki}/kubelet.kubeconfig",
        f"--hostname-override={NODE_NAME}",
        f"--node-ip={NODE_ADDRESS}",
        f"--root-dir={layout.state}/kubelet",
        # Without these two there are no per-container metrics.
        f"--containerd={layout.socket}",
        "--containerd-namespace=k8s.io",
        # cAdvisor waits between once and twice this long: each scrape finds something new.
        "--housekeeping-interval=2s",
    )
    proxy = (
        f"{kubernetes}/kube-proxy",
        f"--kubeconfig={pki}/proxy.kubeconfig",
        f"--hostname-override={NODE_NAME}",
        f"--cluster-cidr={POD_RANGE}",
        "--proxy-mode=iptables",
        "--conntrack-max-per-core=0",
        "--conntrack-min=0",
    )
    return [
        Component("kube-controller-manager", controllers),
        Component("kube-scheduler", scheduler),
        Component("kubelet", kubelet),
        Component("kube-proxy", proxy),
    ]


def files(layout: Layout) -> dict[Path, str]:
    """Configuration files and their contents."""
    return {
        layout.state / "containerd.toml": containerd_config(layout, cri=True),
        layout.state / "containerd-images.toml": containerd_config(layout, cri=False),
        layout.state / "cni/10-localkube.conflist": cni_config(),
        layout.state / "kubelet.json": kubelet_config(layout),
        layout.state / "resolv.conf": "",  # pods with dnsPolicy Default: nothing outside can be reached anyway
    }
