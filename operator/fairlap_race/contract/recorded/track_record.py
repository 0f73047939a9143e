"""The part of the record that is about the track: what it was, where it came from, and what it was to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlap_race.contract.specification.document_plan import DocumentPlan
from fairlap_race.contract.specification.sweep import SweepSpec

SERVICES = ("geoip", "ml", "watcher")
"""Of Elasticsearch, which do work of their own: downloads of databases, machine learning, watches."""


@dataclass(frozen=True)
class TrackTask:
    """One task that was to run."""

    name: str = ""
    operation: str | None = None
    type: str | None = None
    clients: int | None = None
    reported: bool = False
    """True when Rally reports numbers of its own for it; Rally leaves administrative tasks out"""
    parallel: int | None = None
    """which of the schedule's parallel elements it is part of, from 1; None for one that runs by itself"""


@dataclass(frozen=True)
class TrackCorpus:
    """One file of documents that did not come with the track."""

    name: str = ""
    """the corpus, or the builtin track that generated it"""
    file: str = ""
    bytes: int = 0
    sha256: str = ""
    """taken when the file was made; since then its size and time are compared, and its content once a week"""
    origin: str = ""
    """downloaded, generated, or cache"""
    url: str | None = None

    @property
    def content(self) -> str:
        """Which documents these are; where they came from changes no race."""
        return f"{self.name}/{self.file}, {self.bytes} bytes, {self.sha256}"

    @property
    def line(self) -> str:
        """What a status says of it, for people."""
        return f"{self.content}, {self.origin}"


@dataclass(frozen=True)
class TrackRecord:
    """The track as it was rendered for this step, after the task filter and, in a smoke test, test mode."""

    name: str | None = None
    challenge: str | None = None
    challenges: tuple[str, ...] = ()
    digest: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    exposed_params: tuple[str, ...] = ()
    tasks: tuple[TrackTask, ...] = ()
    sweep: SweepSpec | None = None
    """the steps that stand in place of one task, with their digest"""
    expected_documents: Mapping[str, int] | None = None
    """documents that an index, alias or data stream must hold in the end, but for what `documents` tells; None when not
    known"""
    documents: DocumentPlan = field(default_factory=DocumentPlan)
    """why the numbers above may not be exact, and what the user says"""
    pipelines: tuple[str, ...] = ()
    """ingest pipelines that bulk tasks name"""
    pipeline_documents: Mapping[str, int] = field(default_factory=dict)
    """documents that the bulk tasks send through each of them; one whose number is not determined is absent"""
    passed_as: Mapping[str, str] = field(default_factory=dict)
    """for each index setting that was asked for the track parameter that carries it; "" when the track has none"""
    allowed_errors: Mapping[str, float] = field(default_factory=dict)
    """by task the share of its requests that may fail, as the user says"""
    services: tuple[str, ...] | None = None
    """those of `SERVICES` that the track may use; None when nobody looked"""
    repository: str | None = None
    """address of the git repository that the track was fetched from"""
    revision: str | None = None
    """the commit of it"""
    corpora: tuple[TrackCorpus, ...] = ()
    """documents that did not come with the track"""
