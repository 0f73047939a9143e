"""Reads the manifests that a user gives."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from fairlap.api.names import COMPARISON_KIND, GROUP, KIND
from fairlap.cli.edge.exits import UsageError
from fairlap.cli.edge.json_yaml import JsonLoader

Json = dict[str, Any]
_ENDINGS = (".yaml", ".yml", ".json")


def load(names: Iterable[str]) -> list[Json]:
    """Return the objects in the files, directories or "-" (standard input), in order.

    Raises UsageError, also when there is neither a Benchmark nor a Comparison among them.
    """
    found = [each for name in names for each in _documents(name)]
    if not any(map(is_ours, found)):
        raise UsageError(f"{', '.join(names)}: there is no {KIND} and no {COMPARISON_KIND} of {GROUP} in it")
    return found


def is_ours(manifest: Json, *kinds: str) -> bool:
    """Return whether the object is of one of `kinds` (none given: Benchmark, Comparison) of this project."""
    return manifest["kind"] in (kinds or (KIND, COMPARISON_KIND)) and str(manifest["apiVersion"]).startswith(
        f"{GROUP}/"
    )


def title(manifest: Json) -> str:
    """Return the object's kind and name as kubectl writes them."""
    meta = manifest["metadata"]
    return f"{str(manifest['kind']).lower()}/{meta.get('name') or meta.get('generateName')}"


def _documents(name: str) -> Iterator[Json]:
    if name == "-":
        yield from _parse("standard input", _text("standard input", sys.stdin.read))
        return
    path = Path(name)
    paths = sorted(each for each in path.iterdir() if each.suffix in _ENDINGS) if path.is_dir() else [path]
    for each in paths:
        yield from _parse(str(each), _text(str(each), partial(each.read_text, encoding="utf-8")))


def _text(name: str, read: Callable[[], str]) -> str:
    try:
        return read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: {getattr(error, 'strerror', None) or 'is not UTF-8 text'}") from error


def _parse(name: str, text: str) -> Iterator[Json]:
    try:
        documents = list(yaml.load_all(text, JsonLoader))
    except (ValueError, RecursionError) as error:  # 5,000 digits, no such day, a thousand levels
        raise UsageError(f"{name}: is not YAML that can be read: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}" if mark else ""
        raise UsageError(f"{name}{place}: is not YAML: {getattr(error, 'problem', None) or error}") from error
    for document in documents:
        if document is None:
            continue
        if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
            raise UsageError(f"{name}: a document in it is no Kubernetes object: kind is missing")
        if document["kind"] == "List":
            yield from _checked(name, document.get("items") or [])
        else:
            yield from _checked(name, [document])


def _checked(name: str, objects: list[Any]) -> Iterator[Json]:
    for each in objects:
        meta = each.get("metadata") if isinstance(each, dict) else None
        if not isinstance(meta, dict) or not (meta.get("name") or meta.get("generateName")):
            raise UsageError(f"{name}: an object in it has no metadata.name")
        for key in ("name", "generateName", "namespace"):
            if not isinstance(meta.get(key, ""), str):
                raise UsageError(f"{name}: metadata.{key} {meta[key]} is no text: write it in quotes")
        if not isinstance(each.get("apiVersion"), str):
            raise UsageError(f"{name}: {title(each)} has no apiVersion")
        yield each
