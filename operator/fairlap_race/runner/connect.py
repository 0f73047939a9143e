"""The first steps of a race: reaching what it sends to, and what that is before anything is changed."""

from __future__ import annotations

import threading
import time

from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.secrets import (
    by_secrets,
    missing_secret,
    read_api_key,
    read_secret,
    texts_of_key,
    texts_of_password,
)
from fairlap_race.contract.specification.race_spec import RaceSpec
from fairlap_race.contract.specification.secret_files import secret_files
from fairlap_race.contract.tls_trouble import TlsTrouble
from fairlap_race.elasticsearch import evidence
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.rally.config import user_name
from fairlap_race.runner import guest
from fairlap_race.runner.parts import STOPPED, Connected, FailedError

CONNECT_PATIENCE = 60.0
"""Seconds: Elasticsearch's service can answer a little later than ECK says that it is ready."""


def connect(spec: RaceSpec) -> Connected:
    """Return the way to Elasticsearch, which is not asked yet. Raises FailedError."""
    if missing := missing_secret(secret_files(spec), spec.namespace):
        raise FailedError(Reason.SECRET_MISSING, missing)
    try:
        password = None if spec.password_file is None else read_secret(spec.password_file)
        api_key = None if spec.api_key_file is None else read_api_key(spec.api_key_file)
        user = user_name(spec)
    except OSError as error:
        words = by_secrets(f"the credentials cannot be read: {error}", secret_files(spec))
        raise FailedError(Reason.AUTHENTICATION_FAILED, words) from error
    if empty := _empty_credential(spec, user, password):
        raise FailedError(Reason.AUTHENTICATION_FAILED, by_secrets(empty, secret_files(spec)))
    certificate, key = spec.certificate_file, spec.certificate_key_file
    try:
        client = ElasticsearchClient(
            spec.hosts, user, spec.password_file, spec.ca_file, spec.tls, api_key_file=spec.api_key_file,
            certificate=(certificate, key) if certificate and key else None,
        )  # fmt: skip
    except OSError as error:
        files = " or ".join(str(file) for file in (spec.ca_file, certificate, key) if file)
        words = by_secrets(f"{files} cannot be used for TLS: {error}", secret_files(spec))
        raise FailedError(Reason.TLS_UNTRUSTED, words) from error
    if api_key:
        return Connected(client, password, api_key, texts_of_key(api_key))
    return Connected(client, password, secrets=texts_of_password(user, password or ""))


def _empty_credential(spec: RaceSpec, user: str, password: str | None) -> str:
    """Return in a sentence that user or password are empty, with which Rally would send neither; "" where not so."""
    if spec.http is not None or password is None or (user and password):
        return ""
    file = spec.password_file if user else spec.user_file
    return f"{file} is empty, and without user and password Rally sends no credentials at all"


def look_before(client: ElasticsearchClient, spec: RaceSpec, stop: threading.Event) -> evidence.Before:
    """Return what Elasticsearch is, waiting a little for its first answer.

    Raises FailedError, also when something else answers.
    """
    limit = time.monotonic() + min(CONNECT_PATIENCE, spec.timeout_seconds)
    while True:
        try:
            if words := evidence.find_other_product(client.get("/")):
                raise FailedError(Reason.UNSUPPORTED_PRODUCT, words)
            found = evidence.before(client)
            if not found.environment.nodes:
                words = "what answers is not Elasticsearch: its answer to GET /_nodes has no node"
                raise FailedError(Reason.UNSUPPORTED_PRODUCT, words)
            return found
        except ElasticsearchError as error:
            reason = connection_reason(error)
            if reason is not Reason.CLUSTER_UNREACHABLE or time.monotonic() > limit:
                raise FailedError(reason, str(error)) from error
        if stop.wait(1.0):
            raise FailedError(Reason.RACE_ABORTED, STOPPED)


def refuse_impossible(spec: RaceSpec, before: evidence.Before) -> None:
    """Raise FailedError for what this target can never do, which only the number of its nodes tells."""
    found = before.environment
    if spec.target and (
        objection := guest.too_many_hosts(spec.hosts, len(found.nodes))
        or guest.too_many_replicas(spec.index.replicas, len(found.data_nodes))
    ):
        raise FailedError(Reason.INVALID_SPEC, objection)


def connection_reason(error: ElasticsearchError) -> Reason:
    """Return the reason for an Elasticsearch that does not answer as it should."""
    if error.status in (401, 403) or error.tls is TlsTrouble.CERTIFICATE_ASKED:
        return Reason.AUTHENTICATION_FAILED
    return Reason.TLS_UNTRUSTED if error.tls is TlsTrouble.UNTRUSTED else Reason.CLUSTER_UNREACHABLE
