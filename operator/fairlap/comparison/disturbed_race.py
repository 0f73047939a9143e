"""Whether the machine of a race was another one meanwhile, from what was remarked on the race."""

from typing import Final

from fairlap.api.block_record import RaceRecord
from fairlap_race.contract.reasons import Reason

DISTURBED: Final = str(Reason.MACHINE_DISTURBED)
"""reason of the remark, and of a block that is raced again for it"""


def disturbance(race: RaceRecord) -> str:
    """Return in a sentence how the machine of a race was disturbed; "" where nothing was remarked."""
    parted = (remark.partition(": ") for remark in race.remarks)
    return next((message for reason, _, message in parted if reason == DISTURBED), "")
