"""`fairlap track new`: a small track of one's own to begin with."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from fairlap.cli.edge.builtin import make_empty
from fairlap.cli.edge.exits import SUCCEEDED
from fairlap.cli.edge.printable import print_text

_TRACK = """\
{# What stands in double braces is a track parameter with its default. #}
{
  "version": 2,
  "description": "My documents",
  "indices": [{"name": "my-index", "body": "index.json"}],
  "corpora": [
    {
      "name": "my-documents",
      "documents": [{"source-file": "documents.json", "document-count": COUNT}]
    }
  ],
  "schedule": [
    {"operation": "delete-index"},
    {"operation": "create-index"},
    {
      "operation": {
        "operation-type": "put-pipeline",
        "name": "put-my-pipeline",
        "id": "my-pipeline",
        {# Braces for Elasticsearch stand between raw and endraw. #}
        "body": {"processors": [{"set": {"field": "seen", "value": {% raw %}"{{_ingest.timestamp}}"{% endraw %}}}]}
      }
    },
    {
      "name": "index-documents",
      "operation": {
        "operation-type": "bulk",
        "bulk-size": {{ bulk_size | default(100) }},
        "pipeline": "my-pipeline"
      },
      "clients": {{ bulk_indexing_clients | default(2) }}
    },
    {"operation": {"operation-type": "refresh", "index": "my-index"}},
    {
      "name": "find-a-word",
      "operation": {
        "operation-type": "search",
        "index": "my-index",
        "body": {"query": {"match": {"text": "seven"}}}
      },
      "warmup-iterations": {{ warmup_iterations | default(20) }},
      "iterations": {{ iterations | default(100) }}
    }
  ]
}
"""
_INDEX = """\
{
  "settings": {
    {% if codec is defined %}"index.codec": {{ codec | tojson }},{% endif %}
    "index.number_of_shards": {{ number_of_shards | default(1) }},
    "index.number_of_replicas": {{ number_of_replicas | default(0) }}
  },
  "mappings": {
    "dynamic": "strict",
    "properties": {
      "id": {"type": "integer"},
      "text": {"type": "text"},
      "seen": {"type": "date"}
    }
  }
}
"""
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_COUNT = 1000


def new_track(target: Path) -> int:
    """Write a small track to the directory `target`, which must not have files yet. Raises UsageError."""
    make_empty(target)
    (target / "track.json").write_text(_TRACK.replace("COUNT", str(_COUNT)), encoding="utf-8")
    (target / "index.json").write_text(_INDEX, encoding="utf-8")
    lines = (json.dumps({"id": n, "text": " ".join(_NUMBERS[int(d)] for d in str(n))}) for n in range(_COUNT))
    (target / "documents.json").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print_text(f"{target}: track.json, index.json and {_COUNT} documents. What next:")
    path, name = shlex.quote(str(target)), _object_name(target.resolve().name)
    print_text(f"  fairlap track check {path}")
    print_text(f"  kubectl create configmap {name} --from-file={path}")
    print_text(f"  and in a Benchmark:  race: {{track: {{configMap: {{name: {name}}}}}}}")
    return SUCCEEDED


def _object_name(folder: str) -> str:
    """Return a name that Kubernetes takes, as much like the folder's as it can be."""
    return re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-")[:63].rstrip("-") or "my-track"
