"""Kubernetes' warnings about a step's objects, and which of them says why a pod is not there or not ready."""

from collections.abc import Iterable, Sequence

from fairlap.api.base import Json
from fairlap.plan.conditions import moment
from fairlap.plan.explain.trouble import Trouble, is_ready
from fairlap.plan.seen import Seen, Warned
from fairlap.plan.steps import object_name
from fairlap_race.contract.reasons import Reason

_REFUSED = "FailedCreate"
_POD_SECURITY = "violates PodSecurity"


def event_time(event: Json) -> str:
    """Return when an event happened last."""
    series = event.get("series") or {}
    latest = event.get("lastTimestamp") or series.get("lastObservedTime") or event.get("eventTime")
    return str(latest or event["metadata"]["creationTimestamp"])


def select_warnings(seen: Seen, events: Iterable[Json]) -> tuple[Warned, ...]:
    """Return the events that are about objects of the current step, the newest first."""
    step, children = seen.status.step, seen.children
    if step is None:
        return ()
    things = [thing for thing in (children.elasticsearch, children.job, *children.pods) if thing is not None]
    uids = {thing["metadata"]["uid"] for thing in things}
    prefix = f"{object_name(seen.subject.name, step.name)}-es-"
    created = ((children.elasticsearch or {}).get("metadata") or {}).get("creationTimestamp")

    def is_about_step(event: Json) -> bool:
        about = event["involvedObject"]
        if about.get("kind") != "StatefulSet":
            return about.get("uid") in uids
        # Its uid is not known here, and an earlier Benchmark may have had the same name.
        in_time = created is not None and moment(event_time(event)) >= moment(created)
        return in_time and str(about.get("name", "")).startswith(prefix)

    newest_first = sorted((e for e in events if is_about_step(e)), key=lambda e: moment(event_time(e)), reverse=True)
    return tuple(
        Warned(
            kind=str(event["involvedObject"].get("kind", "")),
            name=str(event["involvedObject"].get("name", "")),
            uid=str(event["involvedObject"].get("uid", "")),
            reason=str(event.get("reason") or ""),
            message=" ".join(str(event.get("message") or "").split()),
        )
        for event in newest_first
    )


def find_refusal(warnings: Sequence[Warned], owners: Sequence[str]) -> Trouble | None:
    """Return that Kubernetes does not let `owners` make their pods, if it last said so.

    A Pod Security level stays as it is; room in a quota, or what an admission webhook says, may still come.
    """
    for warned in warnings:
        if warned.kind in owners and warned.reason == _REFUSED:
            message = f"{warned.kind} {warned.name}: {warned.reason}: {warned.message.rstrip('. ')}"
            return Trouble(Reason.POD_REFUSED, message, final=_POD_SECURITY in warned.message)
    return None


def why_not_ready(warnings: Sequence[Warned], pods: Sequence[Json], wanted: int, owners: Sequence[str]) -> str:
    """Return the warning that tells best why `wanted` pods are not ready, as a phrase, or "".

    `owners`: kinds of the objects that these pods are made for. A refusal comes first while a pod is missing, then
    what is said of a pod itself.
    """
    unready = {pod["metadata"]["uid"] for pod in pods if not is_ready(pod)}
    missing = len(pods) < wanted
    telling = [
        warned
        for warned in warnings
        if (warned.uid in unready if warned.kind == "Pod" else warned.kind in owners)
        and (missing or warned.reason != _REFUSED)
    ]
    if not telling:
        return ""
    first = min(telling, key=lambda warned: (warned.reason != _REFUSED, warned.kind != "Pod"))
    return f"{first.kind} {first.name}: {first.reason}: {first.message.rstrip('. ')}"
