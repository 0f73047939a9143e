"""The end of one object that cannot go on, as far as it is made of what is removed."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from fairlap.kube.api_error import ApiError
from fairlap.plan.unforeseen import Ending, left_behind


class SuddenEnd(NamedTuple):
    """Why one object ends at once, and since when it does, in seconds of any clock that goes on evenly."""

    why: Ending
    since: float

    async def clear_away(
        self, remove_children: Callable[[], Awaitable[list[str]]], now: float, patience: float
    ) -> Ending | None:
        """Remove what it has; return why it ends, and what is left of it, or None when that is to be waited for.

        `remove_children` returns the names of what is still there; after `patience` seconds nobody waits for it any
        more. Raises ApiError, until then.
        """
        late = now - self.since >= patience
        left, failure = list[str](), None
        try:
            left = await remove_children()
        except ApiError as error:
            if not late:
                raise
            failure = error
        return None if left and not late else left_behind(self.why, left, failure)
