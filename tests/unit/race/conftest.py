"""A small API server that speaks HTTPS on loopback, keeps the ConfigMaps of a step, and fails as asked."""

import json
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fairlap_race.runner.telling.config_map import ConfigMap

PATHS = ("/api/v1/namespaces/ns/configmaps/bm-race-1", "/api/v1/namespaces/ns/configmaps/bm-race-1-progress")


class ApiServer(ThreadingHTTPServer):
    """Keeps what is patched into the two ConfigMaps of a step; `fail` holds the statuses of the next answers."""

    def __init__(self, context):
        super().__init__(("127.0.0.1", 0), Handler)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.fail, self.data, self.binary, self.bodies, self.names = [], {}, {}, [], []


class Handler(BaseHTTPRequestHandler):
    def do_PATCH(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = self.server.fail.pop(0) if self.server.fail else 200
        wrong = self.headers["Content-Type"] != "application/merge-patch+json" or self.path not in PATHS
        if self.headers["Authorization"] != "Bearer the-token":
            status = 401
        if wrong:
            status = 415
        if status == 200:
            self.server.bodies.append(body)
            self.server.names.append(self.path.rpartition("/")[2])
            self.server.data |= body.get("data", {})
            self.server.binary |= body.get("binaryData", {})
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def make_certificate(directory):
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    argv += ["-addext", "subjectAltName=IP:127.0.0.1,IP:::1", "-keyout", "tls.key", "-out", "ca.crt"]
    subprocess.run(argv, cwd=directory, check=True, capture_output=True)


@pytest.fixture(scope="session")
def certificate():
    return make_certificate


@pytest.fixture(scope="session")
def account(tmp_path_factory):
    directory = tmp_path_factory.mktemp("account")
    make_certificate(directory)
    (directory / "token").write_text("the-token\n")
    return directory


@pytest.fixture
def server(account):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(account / "ca.crt", account / "tls.key")
    server = ApiServer(context)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def config_map(server, account):
    return ConfigMap("127.0.0.1", server.server_address[1], "ns", "bm-race-1", account)


@pytest.fixture
def progress_map(server, account):
    return ConfigMap("127.0.0.1", server.server_address[1], "ns", "bm-race-1-progress", account)
