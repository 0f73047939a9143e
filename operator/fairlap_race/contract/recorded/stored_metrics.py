"""What a record says of Rally's own documents in the Elasticsearch of race.metricsStore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class StoredMetrics:
    """Documents that a race left in the user's metrics store."""

    hosts: tuple[str, ...] = ()
    """NAME:PORT each"""
    documents: Mapping[str, int] = field(default_factory=dict)
    """how many, by index"""
    problem: str = ""
    """why some or all are missing; empty when all are there"""
