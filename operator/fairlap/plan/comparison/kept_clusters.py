"""Clusters that a Comparison keeps: built and filled once, in its preparation, and raced on in its blocks.

The Benchmark of the preparation keeps its cluster; those of the blocks have it as their target. It is removed when the
Comparison is over, or when another preparation takes its place.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fairlap.api.base import Json
from fairlap.api.comparison_status import COMPARISON_TERMINAL, PREPARATION
from fairlap.api.spec import LONGEST_KEEP, Resources
from fairlap.plan.steps import object_name

_ITS_RACE = "race-1"
_PORT = 9200
# What each of several clusters is sure of, without a limit: one of them works at a time.
_SHARE = "100m"


def built_once(spec: Json) -> Json:
    """Return the spec of a Benchmark that builds a variant's cluster, races all there is once, and leaves it.

    Where no CPU is named the clusters share the processors: whole ones would be one's alone while another is raced.
    """
    # It goes with its Comparison, which may need it beyond its deadline: for the block that it has begun by then.
    kept = {"keepCluster": "Always", "keepClusterFor": LONGEST_KEEP}
    return {**sharing_processors(spec), "repetitions": 1, **kept}


def sharing_processors(spec: Json) -> Json:
    """Return the spec of a Benchmark whose cluster has a share of all processors, unless a CPU is named."""
    built = spec.get("elasticsearch")
    resources = Resources.model_validate((built or {}).get("resources") or {})
    if built is None or resources.names_cpu():
        return spec
    return {**spec, "elasticsearch": {**built, "resources": resources.with_cpu(_SHARE, whole=False).to_json()}}


def on_kept_cluster(spec: Json, tasks: Sequence[str], kept_by: str, namespace: str) -> Json:
    """Return the spec of a race of `tasks` alone on the cluster that the Benchmark `kept_by` has left."""
    cluster = object_name(kept_by, _ITS_RACE)
    target = {
        "hosts": [f"https://{cluster}-es-http.{namespace}.svc:{_PORT}"],
        "elasticUserSecret": {"name": f"{cluster}-es-elastic-user"},
        "caSecret": {"name": f"{cluster}-es-http-certs-public"},
    }
    left_out = ("elasticsearch", "keepClusterFor")
    race = {**spec["race"], "includeTasks": [*tasks], "excludeTasks": []}
    return {**{key: value for key, value in spec.items() if key not in left_out}, "target": target, "race": race}


def facts_on_kept_cluster(built: Mapping[str, str], raced: Mapping[str, str]) -> dict[str, str]:
    """Return what is known of a race on a kept cluster: how that was built, and what this race saw itself.

    Both are texts by path. What its target is called is no condition: it is the cluster that was built.
    """
    own = {path: text for path, text in raced.items() if not path.startswith(("spec.", "ran: target "))}
    return {**built, **own}


def changed_meanwhile(built: Sequence[str | None], raced: Sequence[str | None]) -> str:
    """Return in a sentence that a kept cluster is not the one that was filled; "" if it is.

    Both are the ephemeral ids of its nodes, which each start of a node draws anew: when it was built, and in the race.
    """
    if None in built or None in raced or set(built) == set(raced):
        return ""
    return (
        "a node of the kept cluster was started again after it had been filled, so it is no longer warm, and may lack "
        "data"
    )


def still_needs_cluster(comparison: Mapping[str, Any], benchmark: str) -> bool:
    """Return whether a Comparison, as the API has it, still races on the cluster that one of its Benchmarks keeps."""
    status = comparison.get("status") or {}
    if status.get("phase") in COMPARISON_TERMINAL:
        return False
    void = (each for each in status.get("blocks") or () if each["number"] == PREPARATION and not each.get("valid"))
    return all(race.get("benchmark") != benchmark for each in void for race in each.get("races") or ())
