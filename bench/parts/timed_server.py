"""An HTTP server that answers after exactly the time that it is told, and notes when it really did."""

import contextlib
import json
import socket
import ssl
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

SPIN = 0.0006
"""Seconds before the moment at which sleeping ends: the kernel may wake a thread as much too late."""

AS_ELASTICSEARCH = json.dumps(
    {
        "cluster_name": "bench", "cluster_uuid": "bench", "name": "bench", "tagline": "You Know, for Search",
        "version": {"number": "8.11.0", "build_flavor": "default", "build_hash": "0", "lucene_version": "9.8.0"},
        "status": "green", "number_of_nodes": 1, "timed_out": False, "relocating_shards": 0, "nodes": {},
        "_nodes": {"total": 1}, "indices": {}, "_all": {"primaries": {}, "total": {}},
    }
).encode()  # fmt: skip


def answer(body: bytes, status: int = 200) -> bytes:
    """Return an answer of HTTP/1.1, with the header by which Rally's client knows Elasticsearch."""
    head = f"HTTP/1.1 {status} X\r\nServer: timed\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}X-Elastic-Product: Elasticsearch\r\n\r\n".encode() + body


@dataclass
class TimedServer:
    """Answers /MILLISECONDS with 200 after so long, /MILLISECONDS/STATUS with that status; HTTP/1.1, kept alive.

    What ends in hits=NUMBER is answered by as many hits, as a search engine does; anything else by no JSON.
    /status is answered with how many requests there were, and in how many of a hundred the path was there before.
    Anything else is answered as by an Elasticsearch without nodes, which is all that Rally asks for.
    """

    context: ssl.SSLContext | None = None
    authorization: str | None = None
    """what each request must bring along; others are answered by 401"""
    one_by_one: bool = False
    """answer a request when the one before it is answered: what it can carry is known"""
    paths: list[str] = field(default_factory=list)
    """of all requests, in the order in which they came"""
    taken: list[float] = field(default_factory=list)
    """seconds from the end of each request to the beginning of its answer"""
    statuses: Counter[int] = field(default_factory=Counter)
    connections: int = 0

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._turn = threading.Lock() if self.one_by_one else contextlib.nullcontext()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def host(self) -> str:
        """Its NAME:PORT."""
        return f"localhost:{self.port}"

    def close(self) -> None:
        """Refuse what comes, and break what is open."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            connection.close()

    def forget(self) -> None:
        """Begin to note anew."""
        self.paths.clear()
        self.taken.clear()
        self.statuses.clear()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.context is not None:
                connection = self.context.wrap_socket(connection, server_side=True)
            self.connections += 1
            rest = b""
            while True:
                while b"\r\n\r\n" not in rest:
                    chunk = connection.recv(65536)
                    if not chunk:
                        return
                    rest += chunk
                came = time.perf_counter()
                head, _, rest = rest.partition(b"\r\n\r\n")
                rest = self._answer(connection, head.decode(), rest, came)
        except OSError:
            return

    def _answer(self, connection: socket.socket, head: str, rest: bytes, came: float) -> bytes:
        lines = head.split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        length = int(headers.get("content-length", "0"))
        while len(rest) < length:
            rest += connection.recv(65536)
        path = lines[0].split(" ")[1]
        if not path[1:2].isdecimal():
            connection.sendall(answer(self._status() if path == "/status" else AS_ELASTICSEARCH))
            return rest[length:]
        delay, _, wanted = path.partition("?")[0].strip("/").partition("/")
        status = int(wanted or 200) if self.authorization in (None, headers.get("authorization")) else 401
        self.paths.append(path)
        self.statuses[status] += 1
        with self._turn:
            due = (time.perf_counter() if self.one_by_one else came) + float(delay) / 1000
            if (left := due - time.perf_counter() - SPIN) > 0:
                time.sleep(left)
            while (now := time.perf_counter()) < due:
                pass
        self.taken.append(now - came)
        hits = path.partition("hits=")[2]
        connection.sendall(answer(json.dumps({"hits": {"total": int(hits)}}).encode() if hits else b"ok", status))
        return rest[length:]

    def _status(self) -> bytes:
        requests = len(self.paths)
        rate = 100 * (1 - len(set(self.paths)) / requests) if requests else 0.0
        return json.dumps([0, {"n_queries": requests, "cache_hit_rate": rate}]).encode()
