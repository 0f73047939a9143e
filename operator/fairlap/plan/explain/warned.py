"""Kubernetes' warnings about a step's objects, and which of them says why a pod is not there or not ready."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from fairlap.api.base import Json
from fairlap.plan.conditions import moment
from fairlap.plan.explain.trouble import Trouble, is_ready
from fairlap.plan.seen import Seen, Warned
from fairlap.plan.steps import object_name
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.untrusted import parse_time

_REFUSED = "FailedCreate"
_POD_SECURITY = "violates PodSecurity"
_NO_TIME = datetime.min.replace(tzinfo=UTC)


def event_time(event: Json) -> datetime:
    """Return when an event happened last, or a time before all others when it does not say one that can be.

    Whoever may create events in the namespace may have written it.
    """
    series = event.get("series") or {}
    latest = event.get("lastTimestamp") or series.get("lastObservedTime") or event.get("eventTime")
    return parse_time(latest or event["metadata"].get("creationTimestamp")) or _NO_TIME


def told_of(event: Json) -> Json:
    """Return what of its object an event tells: kind, name, uid, each where it is given."""
    about: Json = event.get("involvedObject") or {}
    return about


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
        about = told_of(event)
        if about.get("kind") != "StatefulSet":
            return about.get("uid") in uids
        # Its uid is not known here, and an earlier Benchmark may have had the same name.
        in_time = created is not None and event_time(event) >= moment(created)
        return in_time and str(about.get("name", "")).startswith(prefix)

    newest_first = sorted((e for e in events if is_about_step(e)), key=event_time, reverse=True)
    return tuple(
        Warned(
            kind=str(told_of(event).get("kind", "")),
            name=str(told_of(event).get("name", "")),
            uid=str(told_of(event).get("uid", "")),
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
