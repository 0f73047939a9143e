"""What the queue and the metrics keep of a Benchmark or Comparison, so that thousands fit into memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from fairlap.api.condition_types import ConditionType
from fairlap.api.names import CHECK_STEP, COMPARISON_KIND, KIND, MAX_VARIANTS
from fairlap.api.owners import controller_uid
from fairlap.api.phases import OVER
from fairlap.api.raw import as_list, as_mapping, condition_of
from fairlap.api.status import BenchmarkStatus
from fairlap.queue.turn import addresses

MOST_RACES: Final = MAX_VARIANTS + 1
"""of a block"""
_LONGEST_HOST, _MOST_HOSTS = 260, 20
"""of a target, by the schema; a Comparison's patch may name anything until it is refused"""
PlaceKind = Literal["race", "check"]
"""what a Benchmark may hold: a place for its clusters and races until it has ended, or one for its track check"""


class Current(NamedTuple):
    """A Benchmark that a Comparison lends its place to."""

    name: str
    """namespace/name"""
    uid: str = ""
    """empty while it is not on record"""


@dataclass(frozen=True)
class Summary:
    """A Benchmark or a Comparison as the queue and the metrics see it."""

    uid: str
    name: str
    """namespace/name"""
    since: str
    """when it lined up, ISO-8601 in UTC: its creationTimestamp, or later when it has given its place up"""
    phase: str
    admitted: bool
    """its status says that it holds a place for races"""
    lines_up: bool
    """is or will at once be waiting for a place: not in its track check or before it, not suspended, not over"""
    hosts: frozenset[str] = frozenset()
    """existing hosts that it races against"""
    checks: bool = False
    """its status says that it is in its track check and holds a place for that"""
    awaits_check: bool = False
    """is waiting for a place for its track check"""
    comes: bool = False
    """is in its track check or waiting for that, and will line up then"""
    kind: str = KIND
    led_by: str = ""
    """uid of the Comparison that controls this Benchmark: it never lines up, that one's place is lent to it"""
    current: tuple[Current, ...] = ()
    """the races of a Comparison's block that may be raced now: one, or all where they are raced in turn"""

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.phase in OVER

    @property
    def namespace(self) -> str:
        """Where it is."""
        return self.name.partition("/")[0]

    def says_it_holds(self, place: PlaceKind) -> bool:
        """Return whether its status says that it holds such a place."""
        return self.admitted if place == "race" else self.checks

    def waits_for(self, place: PlaceKind) -> bool:
        """Return whether it is in line for such a place."""
        return self.lines_up if place == "race" else self.awaits_check


def held_place(status: BenchmarkStatus) -> PlaceKind | None:
    """Return the place that a status says is held; on an existing cluster the check is made in the place for races."""
    if status.admitted_time:
        return "race"
    return CHECK_STEP if status.step and status.step.name == CHECK_STEP else None


def summarize(body: Mapping[str, Any]) -> Summary:
    """Return the summary of a Benchmark, whatever its spec and status hold: whoever calls has others to look after."""
    meta, status, spec = body["metadata"], as_mapping(body.get("status")), as_mapping(body.get("spec"))
    phase, admitted = str(status.get("phase") or "Pending"), bool(status.get("admittedTime"))
    hosts = [] if phase in OVER else _hosts(spec.get("target"))
    waits = phase not in OVER and not admitted and not spec.get("suspend") and not status.get("step")
    unchecked, led_by = _is_unchecked(body), leader_uid(body)
    checks = not admitted and as_mapping(status.get("step")).get("name") == CHECK_STEP
    awaits_check = waits and unchecked and not led_by
    return Summary(
        uid=str(meta["uid"]),
        name=f"{meta['namespace']}/{meta['name']}",
        since=str(status.get("queuedTime") or meta["creationTimestamp"]),
        phase=phase,
        admitted=admitted,
        lines_up=waits and not unchecked and not led_by,
        hosts=addresses(hosts, str(meta["namespace"])),
        checks=checks,
        awaits_check=awaits_check,
        comes=awaits_check or (checks and phase not in OVER and not spec.get("suspend") and not led_by),
        led_by=led_by,
    )


def leader_uid(body: Mapping[str, Any]) -> str:
    """Return the uid of the Comparison that controls a Benchmark by its owner reference; "" when none does."""
    return controller_uid(body, COMPARISON_KIND)


def summarize_comparison(body: Mapping[str, Any]) -> Summary:
    """Return the summary of a Comparison, whatever its spec and status hold.

    It lines up as one, for a block at a time, with the hosts of all its variants.
    """
    meta, status, spec = body["metadata"], as_mapping(body.get("status")), as_mapping(body.get("spec"))
    phase, admitted = str(status.get("phase") or "Pending"), bool(status.get("admittedTime"))
    waits = phase not in OVER and phase != "Pending" and not admitted and not spec.get("suspend")
    return Summary(
        uid=str(meta["uid"]),
        name=f"{meta['namespace']}/{meta['name']}",
        since=str(status.get("queuedTime") or meta["creationTimestamp"]),
        phase=phase,
        admitted=admitted,
        lines_up=waits,
        hosts=frozenset()  # of one that is over nobody asks, and whatever stood in its patches would stay
        if phase in OVER
        else addresses(_hosts_of_variants(spec), str(meta["namespace"])),
        kind=COMPARISON_KIND,
        current=_current_races(status, str(meta["namespace"])),
    )


def _current_races(status: Mapping[str, Any], namespace: str) -> tuple[Current, ...]:
    block = as_mapping(status.get("block"))
    races = block.get("races")
    if not isinstance(races, list) or block.get("stage", "Starting") not in ("Starting", "Running"):
        return ()
    under_way = (race for race in map(as_mapping, races[:MOST_RACES]) if race.get("valid") is None)
    return tuple(
        Current(f"{namespace}/{race['benchmark']}", str(race.get("uid") or ""))
        for race in under_way
        if race.get("benchmark")
    )


def _hosts_of_variants(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the existing hosts that any variant may race against."""
    changes = [as_mapping(each) for each in as_list(spec.get("variants"))]
    targets = [as_mapping(spec.get("template")), *changes, *(as_mapping(each.get("patch")) for each in changes)]
    for cell in as_list(as_mapping(spec.get("matrix")).get("include")):  # an axis has texts and numbers alone
        at = as_mapping(as_mapping(cell).get("at"))
        targets += [at, {"target": {"hosts": at.get("target.hosts")}}]
    for each in targets:
        yield from _hosts(each.get("target"))


def _hosts(target: Any) -> list[str]:
    """Return the hosts of a target that a Benchmark could have, as many as it could have."""
    hosts = as_list(as_mapping(target).get("hosts"))
    return [it for it in hosts if isinstance(it, str) and len(it) <= _LONGEST_HOST and it.isascii()][:_MOST_HOSTS]


def _is_unchecked(body: Mapping[str, Any]) -> bool:
    """Return whether the first step will be a track check with a place of its own.

    The first status that is written says of a track that needs no check that it is accepted; before that status
    nothing is known.
    """
    spec, status = as_mapping(body.get("spec")), as_mapping(body.get("status"))
    accepted = condition_of(body, ConditionType.ACCEPTED).get("status") == "True"
    return bool(status.get("phase")) and not (spec.get("target") or status.get("finishedStep") or accepted)
