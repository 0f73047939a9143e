"""Where things are kept, and the versions and addresses that everything here agrees on."""

import os
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
HERE = Path(__file__).resolve().parent

KUBERNETES_VERSION = "1.34.4"
ECK_VERSION = "3.5.0"
K6_VERSION = "1.8.1"
PROMETHEUS_OPERATOR_VERSION = "0.85.0"
PROMETHEUS_VERSION = "3.15.0"  # as a Go module: v0.315.0
ELASTICSEARCH_JAVA = {"7.17.29": "17", "8.6.1": "17", "8.11.0": "21", "9.0.0": "21"}  # version -> Java bundled with it
COMPLETE_JAVA = {"6.0.0": "11"}  # versions that Maven Central has whole, as the image elasticsearch-oss has them

SLOT = int(os.environ.get("FAIRLAP_NODE") or "0")  # 0 to 9: nodes with different numbers can run side by side
HOST_LINK = f"localkube{SLOT}"
# 198.18.0.0/15 is reserved for benchmarking (RFC 2544), so no real network uses it.
HOST_ADDRESS = f"198.18.77.{4 * SLOT + 1}"
NODE_ADDRESS = f"198.18.77.{4 * SLOT + 2}"
POD_RANGE = "10.244.0.0/16"
SERVICE_RANGE = "10.96.0.0/16"
DNS_ADDRESS = "10.96.0.10"
NODE_NAME = "localkube"
API_SERVER = f"https://{NODE_ADDRESS}:6443"


@dataclass(frozen=True)
class Paths:
    """Every folder outside the checkout; all of them below one cache folder."""

    cache: Path

    @property
    def built(self) -> Path:
        """Finished artifacts, one folder each, named by the hash of their inputs."""
        return self.cache / "built"

    @property
    def logs(self) -> Path:
        """Logs of builds."""
        return self.cache / "log"

    @property
    def buildah(self) -> Path:
        """Image storage of our own, apart from the machine's."""
        return self.cache / "buildah"

    @property
    def node(self) -> Path:
        """State of the running node."""
        return self.cache / ("node" if SLOT == 0 else f"node{SLOT}")

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.node / "kubeconfig"


def paths_from(environment: dict[str, str] | None = None) -> Paths:
    """The paths for this environment: FAIRLAP_CACHE, or ~/.cache/fairlap."""
    env = dict(os.environ) if environment is None else environment
    chosen = env.get("FAIRLAP_CACHE") or "~/.cache/fairlap"
    return Paths(Path(chosen).expanduser().absolute())
