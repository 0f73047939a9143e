"""Small tracks, written as a user writes them: JSON files in one folder."""

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]
DOCUMENTS = 1000

CREATE: Json = {"operation": {"operation-type": "create-index", "name": "create"}}
BULK: Json = {"name": "bulk", "operation": {"operation-type": "bulk", "name": "index", "bulk-size": 100}}


def search(name: str = "search", *, index: str = "t", seconds: int = 2, **task: Any) -> Json:
    """Return a task that searches for some seconds, 20 times a second unless told otherwise."""
    body = {"query": {"match_all": {}}}
    operation = {"operation-type": "search", "name": f"{name}-op", "index": index, "body": body}
    operation |= task.pop("operation", {})
    return {"name": name, "operation": operation, "time-period": seconds, "target-throughput": 20, **task}


def write(
    folder: Path,
    *schedule: Json,
    documents: list[Json] | None = None,
    actions: list[Json] | None = None,
    settings: Json | None = None,
    index: Json | None = None,
    target: str = "",
    plugin: str = "",
) -> Path:
    """Write a track into `folder`: an index t, a corpus of `documents` for it, and a schedule; return the folder.

    With `actions` each document has its own line of action and meta-data; `index` goes into the index's body; the
    documents go to `target`, if it is given. `plugin` is the text of track.py.
    """
    folder.mkdir()
    documents = documents or [{"n": number, "word": f"w{number % 7}"} for number in range(DOCUMENTS)]
    lines = [line for pair in zip(actions, documents, strict=True) for line in pair] if actions else documents
    (folder / "documents.json").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    properties = {"n": {"type": "integer"}, "word": {"type": "keyword"}}
    body = {"settings": {"number_of_replicas": 0, **(settings or {})}, "mappings": {"properties": properties}}
    (folder / "index.json").write_text(json.dumps({**body, **(index or {})}))
    source: Json = {"source-file": "documents.json", "document-count": len(documents)}
    if actions:
        source["includes-action-and-meta-data"] = True
    if target:
        source["target-index"] = target
    track = {
        "version": 2,
        "description": "a small track",
        "indices": [{"name": "t", "body": "index.json"}],
        "corpora": [{"name": "c", "documents": [source]}],
        "schedule": list(schedule),
    }
    (folder / "track.json").write_text(json.dumps(track, indent=1))
    if plugin:
        (folder / "track.py").write_text(plugin)
    return folder
