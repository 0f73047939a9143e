"""One client, one connection a cluster, and one search: sent to two clusters in turn, or to one and then to the other.

It runs in a pod beside the clusters, so it is of the standard library alone. Each command prints a JSON object.
"""

import argparse
import base64
import http.client
import json
import os
import random
import ssl
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

INDEX = "duet"
WORDS = [f"word{number}" for number in range(200)]
SEARCH: dict[str, Any] = {
    "query": {"match": {"message": "word1 word7 word42"}},
    "aggs": {"hosts": {"terms": {"field": "host"}}},
    "track_total_hits": True,
}
"""no cache answers it: it has hits, and nothing in it is a filter"""
MAPPING: dict[str, Any] = {
    "settings": {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": -1},
    "mappings": {"properties": {"message": {"type": "text"}, "host": {"type": "keyword"}, "bytes": {"type": "long"}}},
}
A_BULK = 1000


class Cluster:
    """One Elasticsearch, over one connection that stays open."""

    def __init__(self, host: str, password: str, user: str = "bench", ca_file: Path | None = None) -> None:
        """`ca_file`: who signed the server's certificate; None for plain HTTP."""
        context = ssl.create_default_context(cafile=str(ca_file)) if ca_file else None
        secured = http.client.HTTPSConnection(host, timeout=120, context=context) if context else None
        self._connection = secured or http.client.HTTPConnection(host, timeout=120)
        token = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}
        self._search = json.dumps(SEARCH).encode()

    def ask(self, method: str, path: str, body: bytes | None = None, missing: bool = False) -> Any:
        """Return a JSON answer, None where it is not there and `missing` allows that; raises SystemExit."""
        status, answer = self._send(method, path, body)
        if status == http.HTTPStatus.NOT_FOUND and missing:
            return None
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise SystemExit(f"{method} {path}: {status} {answer[:500].decode(errors='replace')}")
        return json.loads(answer)

    def search(self) -> float:
        """Return how many seconds the search took; raises SystemExit for any answer that is not whole."""
        before = time.perf_counter()
        status, answer = self._send("POST", f"/{INDEX}/_search?request_cache=false", self._search)
        took = time.perf_counter() - before
        if status != http.HTTPStatus.OK or b'"timed_out":false' not in answer or b'"failed":0' not in answer:
            raise SystemExit(f"search: {status} {answer[:500].decode(errors='replace')}")
        return took

    def hits(self) -> int:
        """Return how many documents the search finds."""
        return int(self.ask("POST", f"/{INDEX}/_search", self._search)["hits"]["total"]["value"])

    def _send(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        self._connection.request(method, path, body, self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()


def fill(cluster: Cluster, documents: int) -> None:
    """Index the same documents in each cluster, unless they are there, and leave one segment."""
    there = cluster.ask("GET", f"/{INDEX}/_count", missing=True)
    if there is None or there["count"] != documents:
        cluster.ask("DELETE", f"/{INDEX}", missing=True)
        cluster.ask("PUT", f"/{INDEX}", json.dumps(MAPPING).encode())
        chosen = random.Random(1)
        for first in range(0, documents, A_BULK):
            lines = []
            for number in range(first, min(first + A_BULK, documents)):
                said = " ".join(chosen.choices(WORDS, k=12))
                document = {"message": said, "host": f"host{chosen.randrange(50)}", "bytes": chosen.randrange(1 << 20)}
                lines += [json.dumps({"index": {"_id": str(number)}}), json.dumps(document)]
            answer = cluster.ask("POST", f"/{INDEX}/_bulk", ("\n".join(lines) + "\n").encode())
            if answer["errors"]:
                raise SystemExit("documents were refused")
    cluster.ask("POST", f"/{INDEX}/_refresh")
    cluster.ask("POST", f"/{INDEX}/_forcemerge?max_num_segments=1")


def in_turn(clusters: Sequence[Cluster], seconds: float) -> list[list[float]]:
    """Search one cluster after the other until the time is over; return the seconds of each search by cluster."""
    times: list[list[float]] = [[] for _ in clusters]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not times[0]:
        for cluster, own in zip(clusters, times, strict=True):
            own.append(cluster.search())
    return times


def summary(times: Sequence[float]) -> dict[str, float]:
    """Return what is kept of the searches of one cluster."""
    busy = sum(times)
    return {"requests": len(times), "medianMillis": 1000 * median(times), "perSecond": len(times) / busy}


def measure(one: Cluster, other: Cluster, seconds: float, order: str) -> dict[str, Any]:
    """Return what both ways measure; `order` is the ways in their order and the cluster that begins: duet,races,a.

    duet: both clusters in turn for so many seconds; races: one for half the time, and then the other.
    """
    *ways, begins = order.split(",")
    names = ("a", "b") if begins == "a" else ("b", "a")
    clusters = (one, other) if begins == "a" else (other, one)
    found: dict[str, Any] = {}
    for way in ways:
        if way == "duet":
            times = in_turn(clusters, seconds)
        else:
            times = [in_turn([cluster], seconds / 2)[0] for cluster in clusters]
        found[way] = {name: summary(own) for name, own in zip(names, times, strict=True)}
    return found


def machine() -> str:
    """Return the machine in words."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} processors, {models[0] if models else 'model not told'}"


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("do", choices=("prepare", "measure"))
    parser.add_argument("--host", action="append", required=True, help="of both clusters, as HOST:PORT")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1.0, help="of warm-up, or of each way")
    parser.add_argument("--order", default="duet,races,a")
    asked = parser.parse_args(argv)
    one, other = (Cluster(host, os.environ.get("BENCH_PASSWORD", "")) for host in asked.host)
    if asked.do == "measure":
        print(json.dumps(measure(one, other, asked.seconds, asked.order)))
        return 0
    for cluster in (one, other):
        fill(cluster, asked.documents)
    in_turn((one, other), asked.seconds)
    print(json.dumps({"hits": [one.hits(), other.hits()], "machine": machine()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
