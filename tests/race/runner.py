"""The real runner as a process of its own, with a stand-in for the two ConfigMaps that it may patch."""

import fcntl
import json
import os
import signal
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.verdict.checks import Violation, first_violation, remarks
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.config_maps import text_of
from fairlap_race.contract.recorded.record import Record

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-rally/bin/python"
Json = dict[str, Any]
SPEC: Json = {
    "elasticsearch": {"version": "8.6.1"},
    "race": {"track": {"configMap": {"name": "t"}}},
}


class ConfigMapServer(ThreadingHTTPServer):
    """Keeps what the runner patches, over HTTPS and for the bearer of its token only."""

    def __init__(self, tls: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls / "http.crt", tls / "http.key")
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.data: dict[str, str] = {}
        self.binary: dict[str, str] = {}
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: ConfigMapServer

    def do_PATCH(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        allowed = self.headers["Authorization"] == "Bearer token"
        if allowed:
            self.server.data |= body.get("data", {})
            self.server.binary |= body.get("binaryData", {})
        self.send_response(200 if allowed else 401)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: Any) -> None:
        pass


@dataclass
class Ran:
    """What a runner left behind."""

    record: Record
    binary: dict[str, str]
    output: str

    def violation(self, **elasticsearch: Any) -> Violation:
        """Return why the operator would not count the race, as asked for with these fields; it must be something."""
        found = first_violation(self.record, asked(**elasticsearch))
        assert found is not None, f"the race counts: {self.record.to_json()[:3000]}"
        return found

    def remarks(self) -> list[RaceRemark]:
        """Return what the operator would remark on the race."""
        return remarks(self.record, [], "")


def asked(**elasticsearch: Any) -> BenchmarkSpec:
    """Return the spec that the race is judged by."""
    return BenchmarkSpec.model_validate({**SPEC, "elasticsearch": {**SPEC["elasticsearch"], **elasticsearch}})


@contextmanager
def rally_turn(*, alone: bool) -> Iterator[None]:
    """Wait until Rally may run: stock Rally refuses to start, and to let others start, beside another one."""
    with (Path(tempfile.gettempdir()) / "fairlap-rally-turn.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@dataclass
class Runner:
    """Runs races one after the other, each in a fresh folder."""

    folder: Path
    defaults: Json = field(default_factory=dict)

    def run(
        self,
        track: Path,
        meanwhile: Callable[["Race"], None] | None = None,
        seconds: float = 600,
        **spec: Any,
    ) -> Ran:
        """Run one race to its record; `meanwhile` is called once it is racing. Fails when there is no record."""
        with rally_turn(alone=False):
            race = Race(self.folder, {**self.defaults, "track": {"path": str(track)}, **spec})
            try:
                if meanwhile:
                    race.await_racing()
                    meanwhile(race)
                return race.result(seconds)
            finally:
                race.end()


class Race:
    """One runner process."""

    def __init__(
        self,
        folder: Path,
        spec: Json,
        before: Callable[[int], list[str]] = lambda port: [],
    ) -> None:
        """Start it; `before` makes words to write before its command of the port at which it finds the API server."""
        self.work = folder / f"work{len(list(folder.glob('work*')))}"
        self.work.mkdir()
        account = folder / "account"
        self.api = ConfigMapServer(account)
        wanted = {"format": 1, "mode": "race", "namespace": "ns", "record": "bm-race-1", "cores": 1}
        wanted["canarySeconds"] = 0.12  # one test alone asks how fast the machine is
        wanted["raceId"] = f"ns.bm.{self.work.name}.race-1"
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "operator"),
            "FAIRLAP_RACE_SPEC": json.dumps({**wanted, **spec}),
            "FAIRLAP_RACE_WORK": str(self.work),
            "FAIRLAP_RACE_ACCOUNT": str(account),
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.api.server_address[1]),
        }
        self.output = self.work / "runner.out"
        with self.output.open("wb") as out:
            self.process = subprocess.Popen(
                [*before(self.api.server_address[1]), str(PYTHON), "-m", "fairlap_race"], env=env, cwd=self.work,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
            )  # fmt: skip

    def await_racing(self, seconds: float = 300, task: str = "search") -> None:
        """Wait until a task has begun."""
        end = time.monotonic() + seconds
        while ((told := self.progress()).get("task") or "") != task or told["stage"] != "racing":
            assert self.process.poll() is None and time.monotonic() < end, self._told()
            time.sleep(0.1)

    def progress(self) -> Json:
        """Return what the runner said last."""
        found: Json = json.loads(self.api.data.get("progress", "{}"))
        return found

    def processes(self) -> list[int]:
        """Return every process that the runner, or one of its children, started and that is still there."""
        mark, found = str(self.work).encode(), []
        for process in Path("/proc").iterdir():
            try:
                words = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
                if process.name.isdigit() and mark in words:
                    found.append(int(process.name))
            except OSError:  # it ended meanwhile
                continue
        return found

    def result(self, seconds: float) -> Ran:
        """Wait for the end and return the record."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the race is not over after {seconds} s: {self._told()}") from None
        record = Record.from_json(text_of({"binaryData": self.api.binary}, "record.json"))
        assert code == 0 and record is not None, self._told()
        assert not (left := self.processes()), f"processes {left} go on: {self._told()}"
        assert json.loads(self.api.data["progress"])["stage"] == "done"
        return Ran(record, self.api.binary, self.output.read_text())

    def end(self) -> None:
        """See to it that nothing of the race is left."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.api.shutdown()
        self.api.server_close()

    def _told(self) -> str:
        return f"{self.api.data.get('progress')}\n{self.output.read_text()[-3000:]}"
