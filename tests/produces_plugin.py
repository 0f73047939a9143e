"""A pytest plugin that writes which reasons each collected test produces: {file: [reasons]} as JSON."""

import json
import os
from pathlib import Path

import pytest


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write what the marker `produces` of each collected test says, to the file that PRODUCES_FILE names."""
    found: dict[str, set[str]] = {}
    for item in session.items:
        for mark in item.iter_markers("produces"):
            found.setdefault(item.nodeid.split("::")[0], set()).update(str(reason) for reason in mark.args)
    text = json.dumps({name: sorted(reasons) for name, reasons in found.items()})
    Path(os.environ["PRODUCES_FILE"]).write_text(text)
