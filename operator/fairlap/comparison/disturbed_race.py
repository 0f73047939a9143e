"""Whether the machine of a race was another one meanwhile, from what was remarked on the race."""

from typing import Final

from fairlap.api.block_record import RaceRecord
from fairlap_race.contract.reasons import Reason

DISTURBED: Final = str(Reason.MACHINE_DISTURBED)
"""reason of the remark, and of a block that is raced again for it"""


def disturbance(race: RaceRecord) -> str | None:
    """Return in a sentence how the machine of a race was disturbed; None where that was not remarked on it."""
    return next((remark.message for remark in race.remarks if remark.reason == DISTURBED), None)
