"""The one owner of the queue: who holds a place, who waits for one, and whom to wake when one becomes free.

What the API server has comes back over a watch a little later than it was written. A place is therefore taken here
first (`assume`), then written into the Benchmark's status, and given up (`forget`) when the write was refused: two that
decide at the same moment never get the same place.
"""

from collections.abc import Callable, Iterator

from fairlap.queue.summary import Summary
from fairlap.queue.turn import Turn, Waiting, admissible, turn


class Places:
    """At most `most` places for all Benchmarks; `wake` and `wake_everyone` let some look at the queue again."""

    def __init__(self, most: int, wake: Callable[[str], None], wake_everyone: Callable[[], None]) -> None:
        self._most, self._wake, self._wake_everyone = most, wake, wake_everyone
        self._seen: dict[str, Summary] = {}
        self._assumed: set[str] = set()
        self._vanished: set[str] = set()
        self._aside: set[str] = set()

    def observe(self, summary: Summary) -> None:
        """Take in what an event shows of a Benchmark."""
        uid, before, held = summary.uid, self._seen.get(summary.uid), self._holds(summary.uid)
        self._seen[uid] = summary
        if summary.admitted or summary.over:  # what was assumed has come true, or is over
            self._assumed.discard(uid)
        if before is None:
            return
        if (held and not self._holds(uid)) or (summary.over and not before.over):
            self._wake_everyone()
        elif before.lines_up and not summary.lines_up and not self._holds(uid):
            # It has left the queue for its track check or by `suspend`. The others' words about it can wait.
            for other in admissible(self._waiting(), self._most):
                self._wake(other)

    def remove(self, uid: str) -> None:
        """Take out a Benchmark that was deleted."""
        self._seen.pop(uid, None)
        self._assumed.discard(uid)
        self._vanished.discard(uid)
        self._aside.discard(uid)
        self._wake_everyone()

    def vanish(self, uids: set[str]) -> None:
        """Leave out the Benchmarks that are gone although no event told so; `uids` are all of them."""
        if uids != self._vanished:
            self._vanished = set(uids)
            self._wake_everyone()

    def set_aside(self, uid: str) -> None:
        """Leave out a Benchmark that cannot go on and cannot even say so: it holds no place and nobody waits for it."""
        if uid not in self._aside:
            self._aside.add(uid)
            self._wake_everyone()

    def take_back(self, uid: str) -> None:
        """Let one that was set aside line up again; nothing happens for any other."""
        self._aside.discard(uid)

    def leave_out(self, namespace: str) -> None:
        """Take out all Benchmarks of a namespace that cannot be read, "" for all; events bring them back."""
        for uid in self.uids_in(namespace):
            self.remove(uid)

    def turn(self, uid: str) -> Turn:
        """Return whether a Benchmark holds a place or may take one now, and if not, who is before it."""
        seen = self._seen.get(uid)
        return turn(uid, self._waiting(), self._most, seen.hosts if seen else frozenset())

    def assume(self, uid: str) -> bool:
        """Take a place, to be written into the Benchmark's status now; return whether there was one for it."""
        if not self.turn(uid).mine:
            return False
        if uid in self._seen and not self._holds(uid):  # the write will say of a deleted one that it is gone
            self._assumed.add(uid)
        return True

    def forget(self, uid: str) -> None:
        """Give up a place that was assumed and not written; nothing happens for any other."""
        if uid in self._assumed:
            self._assumed.discard(uid)
            self._wake_everyone()  # who looked meanwhile, be it on the event of this write, saw the place taken

    def uids(self) -> set[str]:
        """Return the uids of all Benchmarks that events told of, vanished ones too."""
        return set(self._seen)

    def is_known(self, uid: str, namespace: str) -> bool:
        """Return whether events told of a Benchmark of that uid in that namespace."""
        seen = self._seen.get(uid)
        return seen is not None and seen.name.partition("/")[0] == namespace

    def uids_in(self, namespace: str) -> set[str]:
        """Return those of one namespace, "" for all."""
        return {uid for uid, seen in self._seen.items() if not namespace or seen.name.startswith(f"{namespace}/")}

    def vanished(self) -> set[str]:
        """Return the uids of those that are left out because they are gone."""
        return set(self._vanished)

    def benchmarks(self) -> Iterator[Summary]:
        """Yield all Benchmarks that are there."""
        return (summary for uid, summary in self._seen.items() if uid not in self._vanished)

    def holders(self) -> set[str]:
        """Return the uids of those that hold a place, be it written or assumed."""
        return {summary.uid for summary in self.benchmarks() if self._holds(summary.uid)}

    def _holds(self, uid: str) -> bool:
        seen = self._seen.get(uid)
        if seen is None or seen.over or uid in self._aside:
            return False
        return seen.admitted or uid in self._assumed

    def _waiting(self) -> Iterator[Waiting]:
        for seen in self.benchmarks():
            holds, queued = self._holds(seen.uid), seen.lines_up and seen.uid not in self._aside
            if holds or queued:
                yield Waiting(seen.uid, seen.name, seen.created, admitted=holds, queued=queued, hosts=seen.hosts)
