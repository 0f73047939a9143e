"""The user's own metrics store: whether it can be used is known before a race, and filled it is after one."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Outcome
from fairlap_race.contract.recorded.stored_metrics import StoredMetrics
from fairlap_race.contract.secrets import SecretFile, by_secrets, missing_secret, read_secret
from fairlap_race.contract.specification.race_spec import MetricsStoreSpec, Mode, RaceSpec
from fairlap_race.elasticsearch import metrics_copy
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.elasticsearch.metrics_copy import NotStoredError
from fairlap_race.rally.inside import store_documents
from fairlap_race.runner.parts import FailedError

LOG = logging.getLogger(__name__)
FIELD = "race.metricsStore"
LONGEST_COPY = 600.0
"""Seconds: some millions of documents, on a store that takes 10,000 a second."""


def refuse_unusable(spec: RaceSpec) -> None:
    """Raise FailedError when the store of race.metricsStore would not take the documents; nothing is written there."""
    if refused := objection(spec):
        raise FailedError(refused.reason or Reason.METRICS_STORE_UNUSABLE, refused.message)


def objection(spec: RaceSpec) -> Outcome | None:
    """Return why the store of race.metricsStore cannot be used; None when it can, or when there is none."""
    store = spec.metrics_store
    if store is None:
        return None
    if missing := missing_secret(_secrets(store), spec.namespace):
        return Outcome(Reason.SECRET_MISSING, f"{FIELD}: {missing}")
    try:
        with _client(store) as client:
            client.get("/")
            missing_rights = metrics_copy.missing_rights(client)
    except (ElasticsearchError, OSError) as error:
        return Outcome(Reason.METRICS_STORE_UNUSABLE, f"{FIELD}: {_error_sentence(error, store)}")
    if not missing_rights:
        return None
    words = ", ".join(missing_rights)
    return Outcome(Reason.METRICS_STORE_UNUSABLE, f"{FIELD}: {_who(store)} may not write there; missing: {words}")


def store_metrics(spec: RaceSpec, live: Path, limit: float, stop: threading.Event) -> StoredMetrics | None:
    """Copy what Rally's process left in `live` to the store, until `limit` (monotonic); None where none is asked."""
    store = spec.metrics_store
    if store is None or spec.mode is not Mode.RACE:
        return None
    found = StoredMetrics(store.hosts)
    kept = store_documents.read(live)
    if kept is None:
        return replace(found, problem="Rally ended before it had them")
    documents: dict[str, int] = {}
    problem = ""
    try:
        with _client(store) as client:
            for kind in store_documents.KINDS:
                metrics_copy.make_template(client, f"rally-{kind}", kept.templates[kind])
                index, identity = kept.index(kind), kept.race_id if kind == "races" else None
                for taken in metrics_copy.store(client, index, kept.document_lines(kind), limit, stop, identity):
                    documents[index] = documents.get(index, 0) + taken
    except (ElasticsearchError, OSError) as error:
        problem = _error_sentence(error, store)
    except NotStoredError as error:
        problem = str(error)
    if problem:
        LOG.warning("the metrics store has not got all documents: %s", problem)
    return replace(found, documents=documents, problem=problem)


@contextmanager
def _client(store: MetricsStoreSpec) -> Iterator[ElasticsearchClient]:
    user = read_secret(store.user_file).strip() if store.user_file else store.user
    client = ElasticsearchClient(
        store.hosts, user, store.password_file, store.ca_file, store.tls, api_key_file=store.api_key_file
    )
    try:
        yield client
    finally:
        client.close()


def _error_sentence(error: Exception, store: MetricsStoreSpec) -> str:
    if isinstance(error, ElasticsearchError) and error.status == 401:
        return f"{error}: {_who(store)} is not accepted"
    return by_secrets(str(error), _secrets(store))


def _who(store: MetricsStoreSpec) -> str:
    return f"who asks with the Secret {store.credentials_secret}" if store.credentials_secret else "who asks"


def _secrets(store: MetricsStoreSpec) -> tuple[SecretFile, ...]:
    return (
        *((path, store.credentials_secret) for path in (store.user_file, store.password_file, store.api_key_file)),
        (store.ca_file, store.ca_secret),
    )
