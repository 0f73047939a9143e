"""What the pods of a race and of its cluster have in common."""

from collections.abc import Mapping
from types import MappingProxyType

from fairlap.api.base import Json
from fairlap.api.spec import BenchmarkSpec
from fairlap.settings import Settings

# A machine that is taken away or tidied up in the middle of a race throws hours of measuring away.
UNDISTURBED: Mapping[str, str] = MappingProxyType(
    {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}
)


def pull_secrets(spec: BenchmarkSpec, settings: Settings) -> Json:
    """Return the part of a pod that names its registries' credentials, those of the Benchmark first; maybe empty."""
    names = dict.fromkeys((*(secret.name for secret in spec.image_pull_secrets), *settings.race_image_pull_secrets))
    return {"imagePullSecrets": [{"name": name} for name in names]} if names else {}
