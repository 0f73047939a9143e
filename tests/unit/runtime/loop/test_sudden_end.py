"""What cannot go on waits for what it has to be gone, but not for ever."""

import asyncio

import pytest

from fairlap.kube.api_error import ApiError
from fairlap.plan.unforeseen import Ending
from fairlap.runtime.loop.sudden_end import SuddenEnd
from fairlap_race.contract.reasons import Reason

WHY = Ending(Reason.INTERNAL_ERROR, "it cannot go on")
REFUSED = ApiError(403, "forbidden: no more")


def clear_away(late: bool, left: list[str] | None) -> Ending | None:
    """Return what comes of it when so much is left; None: the API server refuses to remove it."""

    async def remove() -> list[str]:
        if left is None:
            raise REFUSED
        return left

    return asyncio.run(SuddenEnd(WHY, since=1000.0).clear_away(remove, 1600.0 if late else 1599.0, patience=600.0))


@pytest.mark.parametrize(
    ("late", "left", "words"),
    [
        (False, [], WHY.message),
        (False, ["Pod a"], None),
        (True, [], WHY.message),
        (True, ["Pod a", "Job b"], f"{WHY.message}; still there: Pod a, Job b"),
        (True, None, f"{WHY.message}; not all that it has could be removed: {REFUSED}"),
    ],
)
def test_when_it_has_ended_and_what_is_said_of_it(late: bool, left: list[str] | None, words: str | None) -> None:
    assert clear_away(late, left) == (WHY._replace(message=words) if words else None)


def test_a_refusal_is_one_until_the_time_is_over() -> None:
    with pytest.raises(ApiError):
        clear_away(False, None)
