"""One Elasticsearch for the whole run, empty before each test, and a runner to race against it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .runner import PYTHON, Runner
from .server import Elasticsearch, certificates


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """A folder that Elasticsearch's user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="esbench-race-"))
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
