"""Clusters that a Comparison keeps: built and filled once, in its preparation, and raced on in its blocks.

The Benchmark of the preparation keeps its cluster; those of the blocks have it as their target. It is removed when the
Comparison is over, or when another preparation takes its place.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fairlap.api.base import Json
from fairlap.api.comparison_status import PREPARATION
from fairlap.api.phases import is_over
from fairlap.api.spec import LONGEST_KEEP, Resources, Target
from fairlap.plan.basis.steps import object_name

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
        "hosts": _hosts(kept_by, namespace),
        "elasticUserSecret": {"name": f"{cluster}-es-elastic-user"},
        "caSecret": {"name": f"{cluster}-es-http-certs-public"},
    }
    left_out = ("elasticsearch", "keepClusterFor")
    kept = {key: value for key, value in spec.items() if key not in left_out}
    return {**kept, "target": target, "race": _race_of(spec["race"], tasks)}


def _race_of(race: Json, tasks: Sequence[str]) -> Json:
    """Return the race of `tasks` alone, without what `race` says of other tasks, and of the documents in the end.

    The filling was held to all of that: here it would name what is not raced, and void the race.
    """
    steps = next((it for name in ("sweep", "capacity") if (it := race.get(name)) and it["task"] in tasks), None)

    def is_raced(name: str) -> bool:
        return name in tasks or (steps is not None and name.startswith(f"{steps['task']}@"))

    shares = (race.get("allow") or {}).get("errorRate", {})
    allowed = {task: share for task, share in shares.items() if is_raced(task)}
    of_others = ("expect", "allow", *(() if steps else ("sweep", "capacity")))
    return {
        **{key: value for key, value in race.items() if key not in of_others},
        **({"allow": {"errorRate": allowed}} if allowed else {}),
        "includeTasks": [*tasks],
        "excludeTasks": [],
        "requireTasks": [name for name in race.get("requireTasks", ()) if is_raced(name)],
    }


def machines_of_kept(target: Target | None, namespace: str, built_on: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the machines of the kept cluster that a target is; none where none of these Benchmarks has built it.

    `built_on`: by the name of each Benchmark of the same Comparison the machines that its Elasticsearch ran on.
    """
    hosts = list(target.hosts) if target else []
    return next((tuple(machines) for name, machines in built_on.items() if _hosts(name, namespace) == hosts), ())


def _hosts(kept_by: str, namespace: str) -> list[str]:
    return [f"https://{object_name(kept_by, _ITS_RACE)}-es-http.{namespace}.svc:{_PORT}"]


def is_kept_for(comparison: str, target: Target | None, namespace: str) -> bool:
    """Return whether a target is, by its name, a cluster that this Comparison of the namespace keeps for its races.

    So it is also when it is gone: then the race fails for that, and the cluster is built anew.
    """
    if target is None:
        return False
    kept_by = target.hosts[0].removeprefix("https://").partition(f"-{_ITS_RACE}-es-http.")[0]
    of_preparation = re.fullmatch(rf"{re.escape(comparison)}-{PREPARATION}[a-z](-[0-9]+)?", kept_by)
    return of_preparation is not None and list(target.hosts) == _hosts(kept_by, namespace)


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
    if is_over(comparison):
        return False
    status = comparison.get("status") or {}
    void = (each for each in status.get("blocks") or () if each["number"] == PREPARATION and not each.get("valid"))
    return all(race.get("benchmark") != benchmark for each in void for race in each.get("races") or ())
