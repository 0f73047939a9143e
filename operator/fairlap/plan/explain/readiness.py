"""Whether a cluster that ECK builds may be raced against, and what is missing if not."""

from fairlap.api.base import Json
from fairlap.plan.basis.seen import Children, LogOf
from fairlap.plan.basis.steps import CHECK, is_preparation
from fairlap.plan.explain.trouble import Trouble, elasticsearch_pods, is_ready
from fairlap_race.contract.reasons import Reason


def describe_missing(children: Children, nodes: int) -> str:
    """Return what the cluster still lacks, as a phrase, or "" when it is ready.

    ECK's health alone is not enough: it is stale until the generation was observed, and it turns green a little
    before the http service has endpoints, so that a client would meet "connection refused".
    """
    elasticsearch = children.elasticsearch
    if elasticsearch is None:
        return "the cluster is being requested"
    status, meta = elasticsearch.get("status") or {}, elasticsearch["metadata"]
    ready = sum(is_ready(pod) for pod in elasticsearch_pods(children.pods))
    if ready < nodes:
        return f"{ready}/{nodes} nodes ready"
    if status.get("observedGeneration") != meta.get("generation"):
        return "ECK has not seen the specification yet"
    if status.get("health") in ("yellow", "red"):
        return f"health is {status['health']}"
    if status.get("phase") != "Ready":
        return f"ECK says {status.get('phase') or 'nothing yet'}"
    if status.get("health") != "green":
        return f"health is {status.get('health') or 'unknown'}"
    if children.ready_endpoints < nodes:
        return f"{children.ready_endpoints}/{nodes} http endpoints ready"
    return ""


def explain_overdue(children: Children, nodes: int) -> tuple[Reason, str]:
    """Return reason and sentence for a cluster that was not ready before its deadline."""
    lacking = describe_missing(children, nodes)
    everyone_runs = sum(is_ready(pod) for pod in elasticsearch_pods(children.pods)) >= nodes
    reason = Reason.CLUSTER_NOT_GREEN if everyone_runs and "health" in lacking else Reason.PROVISIONING_TIMEOUT
    return reason, f"the cluster was not ready in time: {lacking}{_eck_words(children.elasticsearch)}"


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
