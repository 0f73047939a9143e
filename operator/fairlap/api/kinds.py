"""The kinds of Kubernetes' objects that the operator and the command line deal with, each with its group and plural."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from fairlap.api.names import COMPARISON_KIND, COMPARISON_PLURAL, GROUP, KIND, PLURAL, VERSION


class ObjectKind(NamedTuple):
    """A kind of object, as manifests name it and as the API server's paths do."""

    kind: str
    group: str
    """"" for what Kubernetes had before there were groups"""
    version: str
    plural: str

    @property
    def api_version(self) -> str:
        """Its group and version as manifests and owner references have them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """Where the API server has it, without the namespace and the plural."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


BENCHMARK: Final = ObjectKind(KIND, GROUP, VERSION, PLURAL)
COMPARISON: Final = ObjectKind(COMPARISON_KIND, GROUP, VERSION, COMPARISON_PLURAL)
ELASTICSEARCH: Final = ObjectKind("Elasticsearch", "elasticsearch.k8s.elastic.co", "v1", "elasticsearches")
JOB: Final = ObjectKind("Job", "batch", "v1", "jobs")
LEASE: Final = ObjectKind("Lease", "coordination.k8s.io", "v1", "leases")
CONFIG_MAP: Final = ObjectKind("ConfigMap", "", "v1", "configmaps")
SERVICE_ACCOUNT: Final = ObjectKind("ServiceAccount", "", "v1", "serviceaccounts")
POD: Final = ObjectKind("Pod", "", "v1", "pods")
ENDPOINT_SLICE: Final = ObjectKind("EndpointSlice", "discovery.k8s.io", "v1", "endpointslices")
EVENT: Final = ObjectKind("Event", "", "v1", "events")
ROLE: Final = ObjectKind("Role", "rbac.authorization.k8s.io", "v1", "roles")
ROLE_BINDING: Final = ObjectKind("RoleBinding", ROLE.group, "v1", "rolebindings")
VOLUME_CLAIM: Final = ObjectKind("PersistentVolumeClaim", "", "v1", "persistentvolumeclaims")
NODE: Final = ObjectKind("Node", "", "v1", "nodes")
VOLUME: Final = ObjectKind("PersistentVolume", "", "v1", "persistentvolumes")
STORAGE_CLASS: Final = ObjectKind("StorageClass", "storage.k8s.io", "v1", "storageclasses")

KINDS: Final[Mapping[str, ObjectKind]] = {
    each.kind: each
    for each in (
        *(BENCHMARK, COMPARISON, ELASTICSEARCH, JOB, LEASE, CONFIG_MAP, SERVICE_ACCOUNT, POD, ENDPOINT_SLICE, EVENT),
        *(ROLE, ROLE_BINDING, VOLUME_CLAIM, NODE, VOLUME, STORAGE_CLASS),
    )
}
