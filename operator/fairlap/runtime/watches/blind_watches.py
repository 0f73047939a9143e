"""Finds out where a watch on Benchmarks or Comparisons is open and tells of nothing.

A watch that ends, or is silent, is opened again by kopf from the version where it was. An API server whose own cache of
a kind stands still answers that as well and goes on saying nothing, so what it lists is held beside what events showed.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class _StaleVersion(NamedTuple):
    shown: str | None
    """the version that was last shown; None: no event told of it"""
    since: float


@dataclass
class BlindWatches:
    """The newest version of each object that events showed, and which objects are behind what is listed."""

    patience: float
    """seconds that an event may take"""
    _shown: dict[str, str] = field(default_factory=dict)
    _behind: defaultdict[str, dict[str, _StaleVersion]] = field(default_factory=lambda: defaultdict(dict))
    _listed_anew: defaultdict[str, set[tuple[str, str | None]]] = field(default_factory=lambda: defaultdict(set))
    """what was behind when it was listed anew: what that does not mend is not tried again and again"""

    def show(self, uid: str, version: str) -> None:
        """Take in the resourceVersion of an object that an event, or a list at the beginning, shows."""
        self._shown[uid] = version

    def forget(self, uid: str) -> None:
        """Take in that an object is gone."""
        self._shown.pop(uid, None)

    def find(self, namespace: str, listed: Mapping[str, str], now: float) -> bool:
        """Return whether a namespace is to be listed anew by who follows it.

        It is when of an object no event has come for `patience` although it has another version than was shown.

        listed: the resourceVersion of each object there by uid, as the API server lists them.
        now: a monotonic time in seconds.
        """
        before, behind = self._behind[namespace], dict[str, _StaleVersion]()
        for uid, version in listed.items():
            shown = self._shown.get(uid)
            if shown != version:
                known = before.get(uid)
                behind[uid] = known if known and known.shown == shown else _StaleVersion(shown, now)
        self._behind[namespace] = behind
        late = {(uid, each.shown) for uid, each in behind.items() if now - each.since >= self.patience}
        found = bool(late - self._listed_anew[namespace])
        if found or not late:
            self._listed_anew[namespace] = late
        return found
