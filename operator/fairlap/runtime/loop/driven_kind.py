"""What the loop knows of a kind that it drives: names, pure functions of a status, and what all plans have."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from fairlap.api.steering import Steering
from fairlap.plan.outdated_crd import Status
from fairlap.queue.summary import PlaceKind
from fairlap.runtime.loop.announce import Announcement


class LookedAt(Protocol):
    """What a decision may look at."""

    @property
    def status(self) -> Any:
        """The status that stands."""

    @property
    def now(self) -> datetime:
        """When it was looked."""


class Decided(Protocol):
    """What a decision returns."""

    @property
    def status(self) -> Any:
        """The next status."""

    @property
    def look(self) -> tuple[Any, ...]:
        """What must be read before anything can be decided."""

    @property
    def wake_in(self) -> float | None:
        """Seconds until the next look even if nothing happens."""


SeenOf = TypeVar("SeenOf", bound=LookedAt)
PlanOf = TypeVar("PlanOf", bound=Decided)


class DrivenKind(NamedTuple, Generic[Status]):
    """A kind, by the status of its objects."""

    name: str
    spec: str
    """the model of its spec, as an error about what cannot be read names it"""
    steering: Steering
    """fields of its status that may not be lost"""
    held: Callable[[Status], PlaceKind | None]
    """the place that an object holds by its status"""
    waits_for_events: Callable[[Status], bool]
    """whether nothing is decided by this status while events still show a place that was given up with it"""
    to_confirm: Callable[[Status], tuple[Any, ...]]
    """what a look that no event caused reads from the API server itself, whatever the plan asks for"""
    announcements: Callable[[Status, Status], Iterable[Announcement]]
    """the events that a new status is worth: what stood, and what stands in place of it"""
    phase_words: Callable[[Status], str]
    """a sentence about the phase that it is in now"""
