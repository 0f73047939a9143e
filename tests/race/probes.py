"""Conditions that a race is held to in these tests, and the spec that it is judged by."""

from fairlap.api.spec import BenchmarkSpec

from .runner import SPEC, Json

CACHE = "/nodes/*/indices/request_cache"
HIT_RATE: Json = {
    "name": "hit_rate", "path": "/_nodes/stats/indices/request_cache", "part": f"{CACHE}/hit_count",
    "rest": f"{CACHE}/miss_count",
}  # fmt: skip
HEALTH: Json = {"name": "nodes", "path": "/_cat/health?format=json", "pointer": "/0/node.data"}


def with_probes(**bounds: list[float]) -> BenchmarkSpec:
    """Return the spec that a race with these probes is judged by, each within its bounds."""
    probes = [{**each, "between": bounds[each["name"]]} for each in (HIT_RATE, HEALTH) if each["name"] in bounds]
    return BenchmarkSpec.model_validate({**SPEC, "race": {**SPEC["race"], "probes": probes}})
