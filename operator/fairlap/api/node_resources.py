"""What each Elasticsearch node really asks for."""

from fairlap.api.spec import Elasticsearch, Resources
from fairlap.api.status import NodeProcessors


def node_resources(built: Elasticsearch, given: NodeProcessors | None) -> Resources:
    """Return the resources of a node: those of the manifest, with what it was `given` where they name no CPU."""
    if given is None or built.resources.names_cpu():
        return built.resources
    return built.resources.with_cpu(given.cpu, whole=given.whole)
