"""One Elasticsearch for the whole run, empty before each test, and a runner to race against it."""

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from localkube import golang
from localkube.cache import lock
from localkube.settings import paths_from

from .runner import PYTHON, Runner
from .server import Elasticsearch, certificates, downloaded

CLONE_NEWNET, SIOCSIFFLAGS, IFF_UP = 0x40000000, 0x8914, 1  # of Linux' sched.h, sockios.h and if.h


@pytest.fixture(scope="session", autouse=True)
def own_loopback(request: pytest.FixtureRequest) -> None:
    """Give the run a network of its own: all Rally processes of a machine meet at one fixed port.

    So it is for each worker of several, and, where that is allowed (as root), for a run beside another.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ and os.geteuid():
        return
    downloaded()  # from here on nothing outside can be reached
    if any("k6" in getattr(item, "fixturenames", ()) for item in request.session.items):
        built_k6()
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "no network of its own: run these tests as root, or without -n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP))


def built_k6() -> Path:
    """Return the program, built once and cached."""
    paths = paths_from()
    with lock(paths):
        return golang.program_path(golang.K6, "k6", paths)


@pytest.fixture(scope="session")
def k6(own_loopback: None) -> Path:
    """The program k6."""
    return built_k6()


@pytest.fixture
def quiet_machine() -> None:
    """Skip a test whose numbers hold only where the machine does little else: figures of rates and of processors."""
    if (busy := os.getloadavg()[0]) > (os.cpu_count() or 1) + 1:
        pytest.skip(f"the machine does something else, too (load {busy:.1f}): make test-long runs it alone")


@pytest.fixture(scope="session")
def folder(own_loopback: None) -> Iterator[Path]:
    """A folder that Elasticsearch's user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="fairlap-race-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[Elasticsearch]:
    """A running Elasticsearch."""
    (folder / "server").mkdir()
    server = Elasticsearch(folder / "server")
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture
def elasticsearch(server: Elasticsearch) -> Elasticsearch:
    """The running Elasticsearch, without anything of an earlier test."""
    server.reset()
    return server


@pytest.fixture(scope="session")
def account(folder: Path) -> Path:
    """A service account: token and CA."""
    assert PYTHON.exists(), "Rally's environment is missing: make venv-rally"
    certificates(folder / "account")
    (folder / "account/token").write_text("token")
    return folder


@pytest.fixture
def runner(account: Path, elasticsearch: Elasticsearch) -> Runner:
    """Runs races against the Elasticsearch."""
    defaults = {
        "hosts": [f"localhost:{elasticsearch.port}"],
        "user": "elastic",
        "passwordFile": str(elasticsearch.password_file),
        "caFile": str(elasticsearch.ca),
    }
    return Runner(account, defaults)
