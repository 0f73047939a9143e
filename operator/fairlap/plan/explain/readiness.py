"""Whether a cluster that ECK builds may be raced against, and what is missing if not."""

from typing import NamedTuple

from fairlap.api.base import Json
from fairlap.plan.basis.seen import Children, LogOf
from fairlap.plan.basis.steps import CHECK, is_preparation
from fairlap.plan.explain.trouble import Trouble, elasticsearch_pods, is_ready
from fairlap_race.contract.reasons import Reason


class Lacking(NamedTuple):
    """What a cluster still lacks."""

    phrase: str
    health: bool = False
    """whether it is Elasticsearch's own health, as ECK tells it"""


def is_refused(elasticsearch: Json | None) -> bool:
    """Return whether ECK will not build a cluster: without its webhook that is how it answers to a spec it refuses."""
    return bool(((elasticsearch or {}).get("status") or {}).get("phase") == "Invalid")


def find_lacking(children: Children, nodes: int) -> Lacking | None:
    """Return what the cluster still lacks, or None when it is ready.

    ECK's health alone is not enough: it is stale until the generation was observed, and it turns green a little
    before the http service has endpoints, so that a client would meet "connection refused".
    """
    elasticsearch = children.elasticsearch
    if elasticsearch is None:
        return Lacking("the cluster is being requested")
    status, meta = elasticsearch.get("status") or {}, elasticsearch["metadata"]
    ready = sum(is_ready(pod) for pod in elasticsearch_pods(children.pods))
    if ready < nodes:
        return Lacking(f"{ready}/{nodes} nodes ready")
    if status.get("observedGeneration") != meta.get("generation"):
        return Lacking("ECK has not seen the specification yet")
    if status.get("health") in ("yellow", "red"):
        return Lacking(f"health is {status['health']}", health=True)
    if status.get("phase") != "Ready":
        return Lacking(f"ECK says {status.get('phase') or 'nothing yet'}")
    if status.get("health") != "green":
        return Lacking(f"health is {status.get('health') or 'unknown'}", health=True)
    if children.ready_endpoints < nodes:
        return Lacking(f"{children.ready_endpoints}/{nodes} http endpoints ready")
    return None


def explain_overdue(children: Children, nodes: int) -> tuple[Reason, str]:
    """Return reason and sentence for a cluster that was not ready before its deadline."""
    lacking = find_lacking(children, nodes) or Lacking("")
    # Of health is spoken only where all nodes are ready.
    reason = Reason.CLUSTER_NOT_GREEN if lacking.health else Reason.PROVISIONING_TIMEOUT
    return reason, f"the cluster was not ready in time: {lacking.phrase}{_eck_words(children.elasticsearch)}"


def explain_overdue_run(step: str, allowed: str, log: LogOf | None) -> Trouble:
    """Return what to say of a Job that was not over at its deadline, with the log that tells more."""
    if not is_preparation(step):
        return Trouble(Reason.RACE_TIMEOUT, f"the race was not over after {allowed}", final=True, log=log)
    what = "the track check" if step == CHECK else "the look at the target"
    message = f"{what} was not over after {allowed} (timeouts.provisioning)"
    return Trouble(Reason.PROVISIONING_TIMEOUT, message, final=True, log=log)


def _eck_words(elasticsearch: Json | None) -> str:
    conditions = ((elasticsearch or {}).get("status") or {}).get("conditions") or ()
    words = [c["message"] for c in conditions if c.get("status") != "True" and c.get("message")]
    return f" (ECK: {'; '.join(words)})" if words else ""
