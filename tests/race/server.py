"""One real Elasticsearch on loopback, with TLS and a password, for every race of the run."""

import base64
import contextlib
import http.client
import json
import os
import secrets
import shutil
import signal
import ssl
import subprocess
import time
import zipfile
from pathlib import Path
from typing import Any

from localkube import elasticsearch, java
from localkube.cache import lock, obtain
from localkube.settings import ELASTICSEARCH_JAVA, paths_from
from tests.api.controlplane import die_with_parent, free_port

VERSION = "8.6.1"
NOBODY = 65534
START_SECONDS = 600.0
Json = dict[str, Any]


def downloaded(version: str = VERSION) -> tuple[Path, Path]:
    """Return the archive of Elasticsearch and a Java to run it with; both are downloaded once and cached."""
    paths = paths_from()
    with lock(paths):
        archive = elasticsearch.maven(elasticsearch.coordinate(version), paths)
        return archive, obtain(java.artifact(ELASTICSEARCH_JAVA[version], paths), paths) / "jdk"


def unpacked(folder: Path, version: str = VERSION) -> tuple[Path, Path]:
    """Unpack Elasticsearch into `folder` and return its home and its Java."""
    archive, jdk = downloaded(version)
    with zipfile.ZipFile(archive) as zipped:
        for info in zipped.infolist():
            target = Path(zipped.extract(info, folder))
            if mode := info.external_attr >> 16:
                target.chmod(mode & 0o777)
    # Elasticsearch refuses to run as root, and another user may not be able to read the cache.
    shutil.copytree(jdk, folder / "jdk", symlinks=True)
    home = folder / f"elasticsearch-{version}"
    if version != VERSION:
        complete(version, home, folder / "built")
    return home, folder / "jdk"


def complete(version: str, home: Path, work: Path) -> None:
    """Make an Elasticsearch that is not of VERSION, unpacked in `home`, one that starts; `work` is for scratch."""
    paths = paths_from()
    work.mkdir()
    with lock(paths):
        # Without it nothing answers to GET / since 8.11, and there are no processors.
        elasticsearch.add_stand_in(version, home, work, paths, work / "log")
        if version.startswith("7."):
            elasticsearch.add_modules_7(version, home, paths)
        else:
            elasticsearch.drop_vector_module(home)
    shutil.rmtree(work)


def certificates(folder: Path) -> None:
    """Make a CA, and with it a certificate for localhost: ca.crt, http.crt and http.key in `folder`."""
    folder.mkdir(exist_ok=True)

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "rsa:2048", "-nodes")
    openssl(*new, "-x509", "-days", "2", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.crt")
    openssl(*new, "-subj", "/CN=localhost", "-keyout", "http.key", "-out", "http.csr")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "http.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", "http.crt")  # fmt: skip


class Elasticsearch:
    """The server process; it can be killed and started again with the same data.

    With `transport_ports` it is the node of that `number` of a cluster of several, which share a `password`.
    """

    def __init__(
        self,
        folder: Path,
        transport_ports: tuple[int, ...] = (),
        number: int = 0,
        password: str = "",
        version: str = VERSION,
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.password = password or secrets.token_hex(12)
        self._transport_ports, self._number = transport_ports or (free_port(),), number
        self.ca, self.password_file = folder / "tls/ca.crt", folder / "password"
        self._process: subprocess.Popen[bytes] | None = None
        self._home, jdk = unpacked(folder, version)
        self._env = {"PATH": os.environ["PATH"], "ES_JAVA_HOME": str(jdk), "HOME": str(folder)}
        # Its own choice under /tmp would stay for ever when it is killed.
        self._env["ES_TMPDIR"] = str(folder / "tmp")
        # For the keystore's program and the launcher: they are over, or wait, before the optimizing compiler pays.
        self._env["CLI_JAVA_OPTS"] = "-XX:TieredStopAtLevel=1"
        self._configure()

    def _configure(self) -> None:
        certificates(self.folder / "tls")
        self.password_file.write_text(self.password)
        config = self._home / "config"
        for name in ("http.crt", "http.key"):
            shutil.copy(self.folder / "tls" / name, config)
        ports = self._transport_ports
        several = {
            "discovery.seed_hosts": [f"127.0.0.1:{port}" for port in ports],
            "cluster.initial_master_nodes": ["race-0"],
            # A node that does not answer is missed after two seconds instead of half a minute.
            "cluster.fault_detection.follower_check.timeout": "1s",
            "cluster.fault_detection.follower_check.retry_count": 2,
        }
        settings = {
            "cluster.name": "race", "node.name": f"race-{self._number}",
            **(several if len(ports) > 1 else {"discovery.type": "single-node"}),
            "network.host": "127.0.0.1", "http.port": self.port, "transport.port": ports[self._number],
            "path.data": str(self.folder / "data"), "path.logs": str(self.folder / "logs"),
            "xpack.security.enabled": True, "xpack.security.http.ssl.enabled": True,
            "xpack.security.http.ssl.key": "http.key", "xpack.security.http.ssl.certificate": "http.crt",
            "cluster.info.update.interval": "10s",
            # Shares of the disk would make a machine whose disk is rather full another one.
            **{f"cluster.routing.allocation.disk.watermark.{name}": f"{size}gb"
               for name, size in (("low", 3), ("high", 2), ("flood_stage", 1))},
        }  # fmt: skip
        (config / "elasticsearch.yml").write_text("".join(f"{k}: {json.dumps(v)}\n" for k, v in settings.items()))
        (config / "jvm.options.d").mkdir(exist_ok=True)
        (self.folder / "tmp").mkdir()
        (config / "jvm.options.d/heap.options").write_text("-Xms400m\n-Xmx400m\n-XX:TieredStopAtLevel=1\n")
        if os.getuid() == 0:
            self.folder.chmod(0o755)
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        keystore = self._as_user(str(self._home / "bin/elasticsearch-keystore"))
        # --force makes the keystore, too: one Java less.
        subprocess.run([*keystore, "add", "--force", "--stdin", "bootstrap.password"], input=self.password, text=True,
                       env=self._env, check=True, capture_output=True, cwd=self.folder)  # fmt: skip

    def _as_user(self, *argv: str) -> list[str]:
        ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return ["setpriv", *ids, *argv] if os.getuid() == 0 else [*argv]

    def start(self) -> None:
        """Start the process and wait until it answers; raises RuntimeError with the end of its log when it does not."""
        self.launch()
        self.await_answer()

    def launch(self) -> None:
        """Start the process."""
        with (self.folder / "out").open("ab") as out:
            self._process = subprocess.Popen(
                self._as_user(str(self._home / "bin/elasticsearch")), env=self._env, cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - it calls nothing that takes a lock
            )  # fmt: skip

    def await_answer(self) -> None:
        """Wait until it answers; raises RuntimeError with the end of its log when it does not."""
        assert self._process is not None
        end = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"Elasticsearch did not start:\n{(self.folder / 'out').read_text()[-3000:]}")
            time.sleep(0.3)

    @property
    def pid(self) -> int:
        """The process id of its Java; the server must run."""
        assert self._process is not None
        return self._process.pid

    def _answers(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
            self.ask("GET", "/_cluster/health?wait_for_status=yellow&timeout=2s")
            return True
        return False

    def kill(self) -> None:
        """End the process as the kernel does for want of memory."""
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def ask(self, method: str, path: str, body: Json | None = None) -> Any:
        """Return the JSON answer to a request; raises AssertionError when it is not a success."""
        context = ssl.create_default_context(cafile=str(self.ca))
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=120, context=context)
        basic = base64.b64encode(f"elastic:{self.password}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, body=json.dumps(body) if body is not None else None, headers=headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        assert answer.status < 300, f"{method} {path}: HTTP {answer.status}: {text[:500]}"
        return json.loads(text)

    def settings(self, **settings: Any) -> None:
        """Set (or with None, reset) persistent cluster settings; `__` in a name stands for a dot."""
        self.ask("PUT", "/_cluster/settings", {"persistent": {k.replace("__", "."): v for k, v in settings.items()}})

    def reset(self) -> None:
        """Remove every index, pipeline and cluster setting of a test."""
        self.ask("PUT", "/_cluster/settings", {"persistent": {"*": None}, "transient": {"*": None}})
        for name in self.ask("GET", "/_all/_settings?expand_wildcards=open,closed"):
            if not name.startswith("."):
                self.ask("DELETE", f"/{name}")
        with contextlib.suppress(AssertionError):
            self.ask("DELETE", "/_ingest/pipeline/*")
