"""Kubernetes' warnings about a step's objects, and which of them says why a pod is not there or not ready."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from fairlap.api.base import LONGEST_TEXT, Json
from fairlap.api.kinds import ELASTICSEARCH
from fairlap.plan.basis.conditions import moment
from fairlap.plan.basis.seen import Seen, Warned
from fairlap.plan.basis.steps import object_name
from fairlap.plan.explain.trouble import Trouble, is_ready
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.untrusted import parse_time

_REFUSED = "FailedCreate"
_POD_SECURITY = "violates PodSecurity"
_VALIDATION = "Validation"  # ECK's reason for what it finds in a spec, be it refused or only warned of
_REFUSALS = (" is invalid: ", " failed for the following reasons")
"""ECK's words of a spec, and of a pod template that the API server does not take."""
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


def words_of(event: Json) -> str:
    """Return the message of an event as one line, as much of it as a status has room for."""
    return " ".join(str(event.get("message") or "")[:LONGEST_TEXT].split())


class Timed(NamedTuple):
    """A warning, and when it was given last."""

    at: datetime
    warned: Warned


def warning_of(seen: Seen) -> Callable[[Json], Timed | None]:
    """Return a function from an event to the warning that it is about an object of the current step, else to None."""
    step, children = seen.status.step, seen.children
    things = [thing for thing in (children.elasticsearch, children.job, *children.pods) if thing is not None]
    uids = {thing["metadata"]["uid"] for thing in things} if step else set()
    prefix = f"{object_name(seen.subject.name, step.name)}-es-" if step else ""
    created = ((children.elasticsearch or {}).get("metadata") or {}).get("creationTimestamp") if step else None

    def own(event: Json) -> Timed | None:
        about, at = told_of(event), event_time(event)
        kind, name, uid, reason = (
            str(it or "") for it in (*map(about.get, ("kind", "name", "uid")), event.get("reason"))
        )
        # The uid of a StatefulSet is not known here, and an earlier Benchmark may have had the same name.
        of_ours = created is not None and name.startswith(prefix) and at >= moment(created)
        if of_ours if kind == "StatefulSet" else uid in uids:
            return Timed(at, Warned(kind, name, uid, reason, words_of(event)))
        return None

    return own


def newest_first(found: Iterable[Timed]) -> tuple[Warned, ...]:
    """Return the warnings, the newest first."""
    return tuple(each.warned for each in sorted(found, key=lambda each: each.at, reverse=True))


def find_refusal(warnings: Sequence[Warned], owners: Sequence[str]) -> Trouble | None:
    """Return that Kubernetes does not let `owners` make their pods, if it last said so.

    A Pod Security level stays as it is; room in a quota, or what an admission webhook says, may still come.
    """
    for warned in warnings:
        if warned.kind in owners and warned.reason == _REFUSED:
            message = f"{warned.kind} {warned.name}: {warned.reason}: {warned.message.rstrip('. ')}"
            return Trouble(Reason.POD_REFUSED, message, final=_POD_SECURITY in warned.message)
    return None


def find_objection(warnings: Sequence[Warned]) -> str:
    """Return ECK's newest words about a cluster that it will not build, "" when it has not said any."""
    about_spec = [it.message for it in warnings if (it.kind, it.reason) == (ELASTICSEARCH.kind, _VALIDATION)]
    words = min(about_spec, key=lambda it: not is_refusal(it), default="")
    return words.rstrip(". ")


def is_refusal(words: str) -> bool:
    """Return whether these are ECK's words of what it will not build, and not of something that it only warns of."""
    return any(said in words for said in _REFUSALS)


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
