"""Rally's own clients, as the runner starts them."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from elastic_transport import ConnectionTimeout, Urllib3HttpNode
from esrally import client
from esrally.client.synchronous import RallySyncElasticsearch

from esbench_race import rally_line


def test_the_first_request_of_a_client_has_the_timeout_that_its_options_say(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[str, str, Any]] = []

    def never_answered(_: Any, method: str, target: str, *, request_timeout: Any, **__: Any) -> None:
        given.append((method, target, request_timeout))
        raise ConnectionTimeout("no answer")

    monkeypatch.setattr(Urllib3HttpNode, "perform_request", never_answered)
    monkeypatch.setattr(RallySyncElasticsearch, "__init__", RallySyncElasticsearch.__init__)
    rally_line.give_timeout_to_first_request(RallySyncElasticsearch)
    options = {"timeout": 240, "max_retries": 0}
    made = client.EsClientFactory([{"host": "localhost", "port": 9200}], options).create()

    with pytest.raises(ConnectionTimeout):
        made.info()

    assert given == [("GET", "/", 240)]
