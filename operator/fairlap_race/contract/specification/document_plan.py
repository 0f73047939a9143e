"""How many documents a race must leave behind: by its track, by its user, and where neither can say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class WhyUncounted(StrEnum):
    """Why a track does not determine how many documents a task leaves behind."""

    ENDED_BY_OTHER = "endedByOther"
    ENDED_BY_TIME = "endedByTime"
    PART_OF_CORPUS = "partOfCorpus"
    BEGINS_AGAIN = "beginsAgain"
    ID_CONFLICTS = "idConflicts"
    ACTION_LINES = "actionLines"
    OWN_CODE = "ownCode"
    DELETED = "deleted"
    RAW_BULK = "rawBulk"
    OTHER_WRITES = "otherWrites"


WORDS: Final[Mapping[WhyUncounted, str]] = {
    WhyUncounted.ENDED_BY_OTHER: "ends when completed-by of its parallel element is fulfilled",
    WhyUncounted.ENDED_BY_TIME: "ends by its iterations or time period",
    WhyUncounted.PART_OF_CORPUS: "takes a part of its documents",
    WhyUncounted.BEGINS_AGAIN: "begins again at the end of its documents",
    WhyUncounted.ID_CONFLICTS: "overwrites documents on purpose (conflicts)",
    WhyUncounted.ACTION_LINES: "sends documents that say themselves where they go (includes-action-and-meta-data)",
    WhyUncounted.OWN_CODE: "gets its parameters from the track's own code",
    WhyUncounted.DELETED: "deletes them",
    WhyUncounted.RAW_BULK: "sends bulks as raw requests, of whose answers nobody reads which documents were refused",
    WhyUncounted.OTHER_WRITES: "may write or remove documents in a way that cannot be told beforehand",
}
"""What a task does, as the rest of a sentence that begins with its name."""


@dataclass(frozen=True)
class UncountedTask:
    """A task whose documents have no exact number in the end."""

    task: str = ""
    target: str = ""
    """the index, alias or data stream; "" when it cannot be told"""
    why: WhyUncounted = WhyUncounted.OTHER_WRITES
    at_most: int | None = None
    """how many documents it can leave there (with DELETED: how many it removes); None without a bound"""


@dataclass(frozen=True)
class ExpectedByUser:
    """What the user says about the end of a race, who may know more than the track says."""

    documents: Mapping[str, int] = field(default_factory=dict)
    """by index, alias or data stream"""
    total_documents: int | None = None
    """in all indices of the race"""


@dataclass(frozen=True)
class DocumentPlan:
    """What there is beside the numbers that the track determines."""

    uncounted: tuple[UncountedTask, ...] = ()
    stated: ExpectedByUser = ExpectedByUser()
    deletes_indices: tuple[str, ...] = ()
    """tasks that delete indices or data streams once there are documents, which may be behind any alias"""
    deletes_pipelines: tuple[str, ...] = ()
    """ingest pipelines that a task deletes, and their counters with them"""
    without_pipeline: tuple[str, ...] = ()
    """bulk tasks that name _none as their pipeline"""
    changes_settings: tuple[str, ...] = ()
    """tasks that may change settings of an index that is there already"""
    of_transforms: tuple[str, ...] = ()
    """indices that transforms of the schedule write to"""
    writes_before: tuple[str, ...] = ()
    """tasks before the first bulk that may write, too: there may be more documents than the bulks have"""

    @property
    def is_exact(self) -> bool:
        """True when nothing keeps the documents in the end from being what the track says."""
        return all(it.why is WhyUncounted.DELETED for it in self.uncounted)
