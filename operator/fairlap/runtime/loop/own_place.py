"""One object's place in the queue, between what is decided and what is stored."""

from dataclasses import dataclass

from fairlap.kube.api_error import ApiError
from fairlap.queue.places import Places
from fairlap.queue.summary import PlaceKind


@dataclass
class OwnPlace:
    """Taken before it is written into the status, and given up when it surely was not."""

    places: Places
    uid: str
    in_doubt: bool = False
    """whether an admission was sent whose answer was lost: it may have been written"""

    def take(self, held: PlaceKind | None, wanted: PlaceKind | None) -> bool:
        """Take the place that is to be written now; return whether there was one, or none is needed.

        `held`: the place by the status that stands.
        """
        if wanted and wanted != held:
            return self.places.assume(self.uid, wanted)
        self.give_up(but=held)
        return True

    def give_up(self, but: PlaceKind | None = None) -> None:
        """Give up what was taken and is not in the status, which is known now; `but`: the place that is in it."""
        self.places.forget(self.uid, but)
        self.in_doubt = False

    def not_written(self, held: PlaceKind | None, error: ApiError) -> None:
        """Take in that a status was not written, by the API server's answer; `held`: the place by the one that stands.

        A place that may have been written is kept until a later look, which decides by what there is then.
        """
        self.in_doubt = self.in_doubt or error.unanswered
        if not self.in_doubt:
            self.give_up(but=held)
