"""What Rally has more patience with when the runner starts it."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

from elastic_transport import ConnectionTimeout, Urllib3HttpNode
from esrally import client
from esrally.client.synchronous import RallySyncElasticsearch

from fairlap_race.rally import releases


def test_the_first_request_of_a_client_has_the_timeout_that_its_options_say(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[str, str, Any]] = []

    def never_answered(_: Any, method: str, target: str, *, request_timeout: Any, **__: Any) -> None:
        given.append((method, target, request_timeout))
        raise ConnectionTimeout("no answer")

    monkeypatch.setattr(Urllib3HttpNode, "perform_request", never_answered)
    monkeypatch.setattr(RallySyncElasticsearch, "__init__", RallySyncElasticsearch.__init__)
    releases.give_timeout_to_first_request(RallySyncElasticsearch)
    options = {"timeout": 240, "max_retries": 0}
    made = client.EsClientFactory([{"host": "localhost", "port": 9200}], options).create()

    with pytest.raises(ConnectionTimeout):
        made.info()

    assert given == [("GET", "/", 240)]


# In a process of its own, since it changes Rally: its actor system takes a second longer than Rally itself would wait.
SLOW_START = """
import sys, time
from pathlib import Path
from thespian.system import multiprocCommon as common
from fairlap_race.rally.inside import launch

start, own = common.startAdmin, common.MAX_ADMIN_STARTUP_DELAY.total_seconds()

def slow(*arguments):
    time.sleep(own + 1)
    start(*arguments)

common.startAdmin = slow
launch.install(Path(sys.argv[1]))
from thespian.actors import ActorSystem

def joined():
    return ActorSystem("multiprocTCPBase", {"Admin Port": int(sys.argv[2])}, logDefs={"version": 1})

try:
    system = joined()
except Exception:
    time.sleep(3)
    joined().shutdown()  # what was started too late ends all the same
    raise
system.shutdown()
"""


def test_an_actor_system_that_starts_slowly_is_waited_for(tmp_path: Path, script: Callable[..., list[str]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    argv = script(SLOW_START, str(tmp_path), str(port))
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
