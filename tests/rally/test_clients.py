"""Rally's own clients, as the runner starts them."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from elastic_transport import ConnectionTimeout
from esrally import client
from esrally.client.synchronous import RallySyncElasticsearch

from esbench_race import rally_line

RALLYS_OWN = 10.0
"""Seconds that the first request has without what the runner changes."""


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_the_first_request_of_a_client_has_the_timeout_that_its_options_say(
    silent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RallySyncElasticsearch, "__init__", RallySyncElasticsearch.__init__)
    rally_line.give_timeout_to_first_request(RallySyncElasticsearch)
    options = {"timeout": 0.5, "max_retries": 0}
    made = client.EsClientFactory([{"host": "127.0.0.1", "port": silent}], options).create()

    begun = time.monotonic()
    with pytest.raises(ConnectionTimeout):
        made.info()

    assert 0.5 <= time.monotonic() - begun < RALLYS_OWN
