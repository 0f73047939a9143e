"""The one owner of the queue: who holds a place, who waits for one, and whom to wake when one becomes free.

What the API server has comes back over a watch a little later than it was written. A place is therefore taken here
first (`assume`), then written into the Benchmark's status, and given up (`forget`) when the write was refused: two that
decide at the same moment never get the same place.

A Comparison lines up like a Benchmark. Its own Benchmarks never do: its place is lent to the one that its status names,
or to several that are raced in turn.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import get_args

from fairlap.api.names import COMPARISON_KIND, KIND
from fairlap.queue.summary import Current, PlaceKind, Summary
from fairlap.queue.turn import Turn, Turns, Waiting

PLACES: tuple[PlaceKind, ...] = get_args(PlaceKind)
GONE = "(not there)"


class Places:
    """At most `most` places for races and `checks` for track checks; `share`: of each in a namespace, 0: no limit.

    `wake` and `wake_everyone` let some look at the queue again.
    """

    def __init__(
        self,
        most: int,
        wake: Callable[[str], None],
        wake_everyone: Callable[[], None],
        checks: int = 2,
        share: int = 0,
    ) -> None:
        self._most: dict[PlaceKind, int] = {"race": most, "check": checks}
        self._share = share
        self._wake, self._wake_everyone = wake, wake_everyone
        self._seen: dict[str, Summary] = {}
        self._active: dict[str, Summary] = {}
        """those of them that are not over: a look at the queue must not cost more for each that ever raced"""
        self._assumed: dict[PlaceKind, set[str]] = {place: set() for place in PLACES}
        self._vanished: set[str] = set()
        self._aside: set[str] = set()
        self._deleted: dict[str, Summary] = {}
        """those that were deleted in their place, while what they have built goes"""
        self._led: defaultdict[str, set[str]] = defaultdict(set)
        """the Benchmarks of each Comparison"""
        self._turns: dict[PlaceKind, Turns] = {}
        """everybody's turn, until something changes: when a place becomes free, all that wait look at it"""

    def observe(self, summary: Summary) -> None:
        """Take in what an event shows of a Benchmark or a Comparison."""
        before = self._seen.get(summary.uid)
        if before and any(before.says_it_holds(place) and summary.says_it_holds(place) for place in PLACES):
            # It races in the place that it began in, its own or a lent one, whoever is declared its owner meanwhile.
            summary = replace(summary, led_by=before.led_by)
        if summary == before:
            return
        self._turns.clear()
        self._take_in(summary, before)
        if before and before.led_by != summary.led_by:
            self._leave(before)
        if summary.led_by:
            self._led[summary.led_by].add(summary.uid)
        if before is None or (before.current, before.admitted) != (summary.current, summary.admitted):
            for led in self._led.get(summary.uid, ()):
                self._wake(led)

    def _take_in(self, summary: Summary, before: Summary | None) -> None:
        uid = summary.uid
        held = {place: self._holds(uid, place) for place in PLACES}
        self._seen[uid] = summary
        if summary.over:
            self._active.pop(uid, None)
        else:
            self._active[uid] = summary
        for place in PLACES:
            if summary.says_it_holds(place) or summary.over:  # what was assumed has come true, or is over
                self._assumed[place].discard(uid)
        for place in PLACES:
            lines_up = summary.waits_for(place) and not (before and before.waits_for(place))
            if lines_up and (summary.hosts or self._share):
                # It may line up before one that it keeps off a host, or off its namespace's share: what that one would
                # have had of the other, of its share or of a host, is somebody else's then.
                self._wake_those_who_may_go(place)
        if before is None:
            return
        if summary.over and not before.over:
            self._wake_everyone()
            return
        for place in PLACES:
            holds = self._holds(uid, place)
            if held[place] and not holds:
                self._is_free(place)
            elif before.waits_for(place) and not summary.waits_for(place) and not holds:
                # It has left the queue for its track check or by `suspend`. The others' words about it can wait.
                self._wake_those_who_may_go(place)

    def delete(self, uid: str) -> bool:
        """Take out a Benchmark that was deleted; return whether its place for races stays taken, until `remove`."""
        held = self._seen.get(uid) if self._holds(uid, "race") else None
        self.remove(uid)
        if held is not None:
            self._deleted[uid] = held
        return held is not None

    def remove(self, uid: str) -> None:
        """Take out a Benchmark or a Comparison that was deleted, with its place."""
        self._turns.clear()
        self._active.pop(uid, None)
        if before := self._seen.pop(uid, None):
            self._leave(before)
        for place in PLACES:
            self._assumed[place].discard(uid)
        self._vanished.discard(uid)
        self._aside.discard(uid)
        self._deleted.pop(uid, None)
        self._wake_everyone()

    def vanish(self, uids: set[str]) -> None:
        """Leave out the Benchmarks that are gone although no event told so; `uids` are all of them."""
        if uids != self._vanished:
            self._turns.clear()
            self._vanished = set(uids)
            self._wake_everyone()

    def set_aside(self, uid: str) -> None:
        """Leave out a Benchmark that cannot go on and cannot even say so: it holds no place and nobody waits for it."""
        if uid not in self._aside:
            self._turns.clear()
            self._aside.add(uid)
            self._wake_everyone()

    def take_back(self, uid: str) -> None:
        """Let one that was set aside line up again; nothing happens for any other."""
        if uid in self._aside:
            self._turns.clear()
            self._aside.discard(uid)

    def has_lost_place(self, uid: str) -> bool:
        """Return whether a Benchmark has lost the place that it held, by its status, before it was set aside.

        Others have it; of a race: its Comparison lends it no place any more, unless that was set aside itself.
        """
        seen = self._seen.get(uid)
        held = seen is not None and uid in self._aside and seen.admitted and seen.led_by not in self._aside
        return held and not self.turn(uid).may_go

    def aside(self, leader: str) -> set[str]:
        """Return the uids of the Benchmarks of a Comparison that are set aside."""
        return self._led.get(leader, set()) & self._aside

    def leave_out(self, namespace: str) -> None:
        """Take out all Benchmarks of a namespace that cannot be read, "" for all; events bring them back."""
        for uid in self.uids_in(namespace):
            self.remove(uid)

    def turn(self, uid: str, place: PlaceKind = "race") -> Turn:
        """Return whether a Benchmark holds a place or may take one now, and if not, who is before it."""
        seen = self._seen.get(uid)
        if seen and seen.led_by:
            lent = self._lent_turn(seen)
            return lent._replace(wanted=self._line("race").turn_of(seen.led_by).wanted) if lent.may_go else lent
        hosts = seen.hosts if seen and place == "race" else frozenset[str]()
        return self._line(place).turn_of(uid, hosts, seen.namespace if seen else "")

    def is_lent_one(self, uid: str) -> bool:
        """Return whether the place of a Comparison is lent to this Benchmark now."""
        seen = self._seen.get(uid)
        return bool(seen and seen.led_by) and self.turn(uid).may_go

    def siblings(self, uid: str) -> set[str]:
        """Return the uids of the other Benchmarks of the Comparison that leads a Benchmark; none when none does."""
        seen = self._seen.get(uid)
        return self._led.get(seen.led_by, set()) - {uid} if seen and seen.led_by else set()

    def strangers(self, uid: str, namespace: str) -> set[str]:
        """Return the uids of all that hold a place for races but a Benchmark, its Comparison, and who races in turn.

        Those are the ones that its Comparison lends the place at the same time: they wait for each other.
        """
        in_turn = {mate for mate in self.siblings(uid) if self.is_lent_one(mate)} if self.is_lent_one(uid) else set()
        return self.holders() - {uid, self.leader(uid, namespace)} - in_turn

    def leader(self, uid: str, namespace: str) -> str:
        """Return the uid of the known Comparison of that namespace which leads a Benchmark; "" when none does."""
        seen = self._seen.get(uid)
        return seen.led_by if seen and self._comparison(seen.led_by, namespace) else ""

    def lags(self, uid: str, held: PlaceKind | None) -> bool:
        """Return whether events still show a place that a Benchmark, by its newest status, has given up.

        Until they have caught up, it would take its old place for its turn, and so would somebody else.
        """
        seen = self._seen.get(uid)
        return seen is not None and any(seen.says_it_holds(place) for place in PLACES if place != held)

    def assume(self, uid: str, place: PlaceKind = "race") -> bool:
        """Take a place, to be written into the Benchmark's status now; return whether there was one for it."""
        if not self.turn(uid, place).may_go:
            return False
        self.take_back(uid)  # else nobody would see that the place is taken while the write is on its way
        if uid in self._seen and not self._holds(uid, place):  # the write will say of a deleted one that it is gone
            self._turns.clear()
            self._assumed[place].add(uid)
        return True

    def forget(self, uid: str, but: PlaceKind | None = None) -> None:
        """Give up what was assumed and not written, except for the place `but`; nothing happens for any other."""
        for place in PLACES:
            if place != but and uid in self._assumed[place]:
                self._turns.clear()
                self._assumed[place].discard(uid)
                if not self._holds(uid, place):
                    # Who looked meanwhile, be it on the event of this write, saw the place taken.
                    self._is_free(place)

    def is_known(self, uid: str, namespace: str) -> bool:
        """Return whether events told of a Benchmark of that uid in that namespace."""
        seen = self._seen.get(uid)
        return seen is not None and seen.name.partition("/")[0] == namespace

    def uids_in(self, namespace: str) -> set[str]:
        """Return the uids of all Benchmarks of a namespace, "" for all, that events told of, vanished ones too."""
        return {uid for uid, seen in self._seen.items() if not namespace or seen.name.startswith(f"{namespace}/")}

    def vanished(self) -> set[str]:
        """Return the uids of those that are left out because they are gone."""
        return set(self._vanished)

    def benchmarks(self) -> Iterator[Summary]:
        """Yield all Benchmarks that are there."""
        return (summary for summary in self._present() if summary.kind == KIND)

    def comparisons(self) -> Iterator[Summary]:
        """Yield all Comparisons that are there."""
        return (summary for summary in self._present() if summary.kind == COMPARISON_KIND)

    def over(self, uid: str) -> str:
        """Return the name of a Benchmark that has ended, "" for any other."""
        seen = self._seen.get(uid)
        return seen.name if seen and seen.over else ""

    def holders(self, place: PlaceKind = "race") -> set[str]:
        """Return the uids of those that hold a place, be it written or assumed."""
        there = {uid for uid in self._active if uid not in self._vanished and self._holds(uid, place)}
        return there.union(self._deleted) if place == "race" else there

    def _holds(self, uid: str, place: PlaceKind) -> bool:
        seen = self._seen.get(uid)
        if seen is None or seen.over or uid in self._aside:
            return False
        return seen.says_it_holds(place) or uid in self._assumed[place]

    def _present(self) -> Iterator[Summary]:
        return (summary for uid, summary in self._seen.items() if uid not in self._vanished)

    def _comparison(self, uid: str, namespace: str) -> Summary | None:
        found = self._seen.get(uid)
        there = found and found.kind == COMPARISON_KIND and found.namespace == namespace and uid not in self._vanished
        return found if there else None

    def _lent_turn(self, seen: Summary) -> Turn:
        """Return the turn of a Benchmark that a Comparison leads; a forged owner gets no more than that one's own."""
        leader = self._comparison(seen.led_by, seen.namespace)
        if leader is None:
            return Turn(may_go=False, led_by=GONE)
        name = leader.name.partition("/")[2]
        # By its uid: one that was deleted and made again under the same name is another race.
        lent = Current(seen.name, seen.uid) in leader.current and self._holds(leader.uid, "race")
        # What is left of a deleted race holds up the next one of its Comparison, too, but none that has begun.
        left = any(it.led_by == leader.uid for it in self._deleted.values())
        over = leader.over
        words = f"{name}, which is over" if over else name
        return Turn(may_go=lent and (seen.admitted or not left), led_by=words, leader_over=over)

    def _leave(self, led: Summary) -> None:
        if mates := self._led.get(led.led_by):
            mates.discard(led.uid)
            if not mates:
                del self._led[led.led_by]

    def _line(self, place: PlaceKind) -> Turns:
        if place not in self._turns:
            self._turns[place] = Turns(self._waiting(place), self._most[place], self._share)
        return self._turns[place]

    def _waiting(self, place: PlaceKind) -> Iterator[Waiting]:
        for seen in self._active.values():
            # What races though its Comparison does not lend it a place (any more) is in nobody's but its own.
            lent = seen.led_by and self._lent_turn(seen).may_go
            if seen.uid not in self._vanished and seen.uid not in self._aside and not lent:
                hosts = seen.hosts if place == "race" else frozenset[str]()
                holds, waits = self._holds(seen.uid, place), seen.waits_for(place)
                comes = place == "race" and seen.comes and not holds
                yield Waiting(seen.uid, seen.name, seen.since, admitted=holds, queued=waits, hosts=hosts, comes=comes)
        if place == "race":
            for held in self._deleted.values():
                name = f"{held.name} (deleted, and not all gone yet)"
                yield Waiting(held.uid, name, held.since, admitted=True, queued=False, hosts=held.hosts)

    def _is_free(self, place: PlaceKind) -> None:
        if place == "race":
            self._wake_everyone()
        else:  # checks are short and may be many: only who may go on is told, the others' words can wait
            self._wake_those_who_may_go(place)

    def _wake_those_who_may_go(self, place: PlaceKind) -> None:
        for other in [*self._line(place).admissible()]:
            self._wake(other)
