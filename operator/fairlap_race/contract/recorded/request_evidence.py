"""The part of the record that tells whether requests did what they were for: searches, and documents that were sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairlap_race.contract.recorded.cluster_course import TaskCaches

BEFORE, AFTER = "before", "after"
SEARCHES = frozenset({"search", "paginated-search", "scroll-search", "composite-agg"})
"""Rally's operations of which every request is a search of Elasticsearch's."""
OTHER_SEARCHES = frozenset({"sql", "esql", "esql-profile", "submit-async-search"})
"""Rally's operations that search in another way, and are not sent once more."""
FIELD_CAPS = "field-caps"
"""Rally's operation that looks for fields in indices: it names them as a search does, and no shard counts it."""
NO_SEARCHES = frozenset(
    {
        *("bulk", "refresh", "force-merge", "sleep", "downsample", "put-pipeline", "put-settings"),
        *("open-point-in-time", "close-point-in-time", "get-async-search", "delete-async-search"),
        *("index-stats", "node-stats", "transform-stats", "cluster-health"),
        *("create-index", "delete-index", "shrink-index", "create-data-stream", "delete-data-stream"),
        *("create-index-template", "delete-index-template", "create-composable-template"),
        *("delete-composable-template", "create-component-template", "delete-component-template"),
        *("create-ml-datafeed", "delete-ml-datafeed", "start-ml-datafeed", "stop-ml-datafeed"),
        *("create-ml-job", "delete-ml-job", "open-ml-job", "close-ml-job"),
        *("create-transform", "start-transform", "wait-for-transform", "delete-transform"),
        *("create-snapshot-repository", "delete-snapshot-repository", "create-snapshot", "restore-snapshot"),
        *("wait-for-snapshot-create", "wait-for-current-snapshots-create", "wait-for-recovery"),
        *("create-ilm-policy", "delete-ilm-policy"),
    }
)
"""Rally's operations that certainly send none (OperationType in esrally/track/track.py)."""


@dataclass(frozen=True)
class BulkTrouble:
    """What a task's bulks met that Rally counts as success; warm-up and measured requests."""

    retried: int = 0
    """requests that were sent again because Elasticsearch rejected some of their documents"""
    retries: int = 0
    """how often they were sent again"""
    item_errors: int = 0
    """documents that Elasticsearch refused, those that it took later included"""
    lost: int = 0
    """documents that it never took, in requests that Rally counts as success"""


@dataclass(frozen=True)
class StepCounters:
    """How Elasticsearch's own counters grew while one step of the schedule ran."""

    step: int = 0
    """1-based"""
    searches: tuple[str, ...] = ()
    """its tasks of which every request is a search"""
    shards: Mapping[str, int] = field(default_factory=dict)
    """by task: shards that its searches go to, before or after the step, whichever are more; absent if not known"""
    queries: int | None = None
    """searches of single shards in the indices of these tasks; None when not known, as when one of them was deleted"""
    bulks: tuple[str, ...] = ()
    """its tasks that send bulks"""
    writes_rejected: int | None = None
    """writes that a node rejected because it had too much to do; None when not known"""
    searches_rejected: int | None = None
    others: tuple[str, ...] = ()
    """its other tasks of which searches are known: raw requests"""
    anywhere: int | None = None
    """searches of single shards in all indices; None when not known, as when one of them was deleted"""
    trouble: str = ""
    """why the counters of the nodes could not be had; empty when they could"""


@dataclass(frozen=True)
class SearchAnswer:
    """What Elasticsearch answered to a search of the schedule that was sent once more, outside of the measurement."""

    task: str = ""
    when: str = AFTER
    """before or after its step"""
    request: str | None = None
    """SHA-256 over what was sent, its first 16 digits; None when nothing could be sent"""
    index: str | None = None
    """what it searches, as it says; None where that is not known"""
    trouble: str = ""
    """why there is no answer; empty when there is one"""
    shards: int | None = None
    successful: int | None = None
    skipped: int | None = None
    failed: int | None = None
    first_failure: str | None = None
    """the name of Elasticsearch's exception"""
    timed_out: bool = False
    timeout_wanted: bool = False
    """the search itself says for how long it may run"""
    parts_wanted: bool = False
    """the search itself says that a part of the answer will do"""
    drawn: bool = False
    """its task draws each of its requests: others may search elsewhere"""
    items: int | None = None
    """searches in a multi-search"""
    items_failed: int | None = None
    items_nowhere: int | None = None
    """that reached no shard"""
    items_without_hits: int | None = None
    """that reached a shard, and found nothing"""
    hits: int | None = None
    """as far as Elasticsearch counted; None when it was told not to"""
    hits_exact: bool = False
    hit_ids: str | None = None
    """digest of the identifiers of the hits in the answer, sorted; None without any"""
    content: str | None = None
    """digest of what must be the same whenever the data is; None when ties or lots decide what is in the answer"""
    settled: bool = False
    """everything that was written could be found at that time, and the data alone decides what the search finds"""

    @property
    def complete(self) -> bool:
        """Whether it is a whole answer."""
        return not (self.trouble or self.timed_out or self.failed or self.items_failed)


@dataclass(frozen=True)
class RequestEvidence:
    """What is known of the requests beside Rally's samples."""

    steps: tuple[StepCounters, ...] = ()
    answers: tuple[SearchAnswer, ...] = ()
    not_looked_at: Mapping[str, str] = field(default_factory=dict)
    """by task: why its searches could not be sent once more"""
    caches: tuple[TaskCaches, ...] = ()
    """of tasks that ran alone, until they are in the record's course"""
