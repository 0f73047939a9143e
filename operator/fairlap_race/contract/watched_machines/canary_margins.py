"""By how much the canary's fixed work may take another time on the same machine (docs/noise.md has why). Pure."""

from math import log
from typing import Final, NamedTuple

CANARY_RATIO: Final = 1.25
"""Of processors and memory, in either direction; a quiet virtual machine stays below."""
DISK_RATIO: Final = 3.0
"""A quiet disk's waits differ by more than a quiet processor's work."""
DISK_SECONDS: Final = 0.005
"""What a wait for the disk must change by, too: of the shortest ones a multiple is nothing."""
DISTURBED_WORDS: Final = "the load generator's machine was disturbed: "
"""how each sentence of such a remark begins"""


class Piece(NamedTuple):
    """A piece of the work, and by how much its time may differ."""

    words: str
    ratio: float
    least: float = 0.0
    """seconds, besides"""

    def differ(self, first: float, last: float) -> bool:
        """Tell whether two times are apart by more than both margins; a negative one is none."""
        far = min(first, last) > 0 and abs(log(last) - log(first)) > log(self.ratio)
        return far and abs(last - first) >= self.least


HASHING: Final = Piece("hashing", CANARY_RATIO)
READING_MEMORY: Final = Piece("reading memory", CANARY_RATIO)
WRITING: Final = Piece("writing to its disk", DISK_RATIO, DISK_SECONDS)
