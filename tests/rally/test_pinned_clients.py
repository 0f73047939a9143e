"""Rally's own clients, whose name resolves in another order each time, each speak to the node of their number."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("esrally", reason="needs Rally: run with the interpreter of .venv-rally")

# In a process of its own, since it changes Rally.
SPREAD = """
import asyncio, itertools, sys
from pathlib import Path
from aiohttp.abc import AbstractResolver
from fairlap_race.rally.inside import client_addresses

directory, turning = Path(sys.argv[1]), itertools.cycle((0, 1, 2, 1))
NODES = ["127.0.0.3", "127.0.0.1", "127.0.0.2"]

class Turning(AbstractResolver):
    async def resolve(self, host, port=0, family=0):
        by = next(turning)
        found = [*NODES[by:], *NODES[:by]]
        return [{"hostname": host, "host": it, "port": port, "family": family, "proto": 0, "flags": 0} for it in found]
    async def close(self):
        pass

if len(sys.argv) > 2:
    client_addresses.write_addresses(directory, NODES)
    client_addresses.install(directory)
from esrally.client.asynchronous import RallyTCPConnector

async def first_of(client):
    connector = RallyTCPConnector(client_id=client, use_dns_cache=True, resolver=Turning())
    found = [(await connector._resolve_host("es", 9200))[0]["host"] for _ in range(3)]
    await connector.close()
    return found

async def main():
    for client in range(6):
        print(*await first_of(client))

asyncio.run(main())
"""


def spread(argv: list[str]) -> list[str]:
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_each_client_speaks_to_the_node_of_its_number_whatever_the_name_resolves_to(
    tmp_path: Path, script: Callable[..., list[str]]
) -> None:
    nodes = ["127.0.0.3", "127.0.0.1", "127.0.0.2"]
    expected = [" ".join([nodes[client % 3]] * 3) for client in range(6)]
    assert spread(script(SPREAD, str(tmp_path), "pinned")) == expected
    assert spread(script(SPREAD, str(tmp_path))) != expected, "what it is for"
