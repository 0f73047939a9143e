"""API keys that Rally made for its clients: it removes them only when its race ends well."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from fairlap_race.elasticsearch.answers import dig
from fairlap_race.elasticsearch.client import ElasticsearchClient, ElasticsearchError
from fairlap_race.rally.live_files import CLIENT_KEYS

LOG = logging.getLogger(__name__)


def remove_client_keys(client: ElasticsearchClient, directory: Path) -> tuple[str, ...]:
    """Invalidate the keys that are noted in `directory`, and return the identifiers of those that could not be."""
    try:
        keys = json.loads((directory / CLIENT_KEYS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    left = [str(key) for key in keys] if isinstance(keys, list) else []
    if not left:
        return ()
    try:
        body = json.dumps({"ids": left}).encode()
        answer = client.send("DELETE", "/_security/api_key", body, {"Content-Type": "application/json"})
    except ElasticsearchError as error:
        LOG.warning("API keys of Rally's clients may be left: %s", error)
        return tuple(left)
    gone = [dig(answer, "invalidated_api_keys"), dig(answer, "previously_invalidated_api_keys")]
    removed = {key for keys in gone if isinstance(keys, list) for key in keys}
    # What Rally has removed itself, and Elasticsearch has forgotten since, is in neither list.
    return tuple(key for key in left if key not in removed) if dig(answer, "error_count") else ()
