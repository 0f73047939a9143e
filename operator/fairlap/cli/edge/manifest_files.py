"""Reads the manifests that a user gives."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import yaml

from fairlap.api.names import COMPARISON_KIND, GROUP, KIND
from fairlap.cli.edge.exits import UsageError
from fairlap.cli.edge.json_yaml import JsonLoader, read_json

Json = dict[str, Any]
Read = TypeVar("Read")
_ENDINGS = (".yaml", ".yml", ".json")
_STANDARD_INPUT = "standard input"


def load(names: Iterable[str]) -> list[Json]:
    """Return the objects in the files, directories or "-" (standard input), in order.

    Raises UsageError, also when there is neither a Benchmark nor a Comparison among them.
    """
    found = [each for name in names for each in _documents(name)]
    if not any(map(is_ours, found)):
        shown = ", ".join(_STANDARD_INPUT if name == "-" else name for name in names)
        raise UsageError(f"{shown}: there is no {KIND} and no {COMPARISON_KIND} of {GROUP} in it")
    return found


def is_ours(manifest: Json, *kinds: str) -> bool:
    """Return whether the object is of one of `kinds` (none given: Benchmark, Comparison) of this project."""
    return manifest["kind"] in (kinds or (KIND, COMPARISON_KIND)) and is_of_group(manifest)


def is_of_group(manifest: Json) -> bool:
    """Return whether the object says that it is of this project, whatever kind it says."""
    return str(manifest["apiVersion"]).startswith(f"{GROUP}/")


def title(manifest: Json) -> str:
    """Return the object's kind and name as kubectl writes them."""
    meta = manifest["metadata"]
    return f"{str(manifest['kind']).lower()}/{meta.get('name') or meta.get('generateName')}"


def _documents(name: str) -> Iterator[Json]:
    if name == "-":
        yield from _parse(_STANDARD_INPUT, _read(_STANDARD_INPUT, _standard_input))
        return
    path = Path(name)
    # Not Path.is_dir(), which raises where a folder above may not be entered.
    paths = _read(name, partial(_manifests, path)) if os.path.isdir(path) else [path]  # noqa: PTH112
    for each in paths:
        yield from _parse(str(each), _read(str(each), partial(each.read_text, encoding="utf-8")))


def _manifests(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if each.suffix in _ENDINGS)


def _standard_input() -> str:
    # Its bytes: where the locale is C, Python takes any of them for a text.
    return sys.stdin.buffer.read().decode() if hasattr(sys.stdin, "buffer") else sys.stdin.read()


def _read(name: str, read: Callable[[], Read]) -> Read:
    try:
        return read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: {getattr(error, 'strerror', None) or 'is not UTF-8 text'}") from error


def _parse(name: str, text: str) -> Iterator[Json]:
    try:
        documents = _values(text)
    except (ValueError, RecursionError) as error:  # 5,000 digits, no such day, a thousand levels
        raise UsageError(f"{name}: is not YAML that can be read: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}" if mark else ""
        what = "YAML of Kubernetes" if isinstance(error, yaml.constructor.ConstructorError) else "YAML"
        raise UsageError(f"{name}{place}: is not {what}: {getattr(error, 'problem', None) or error}") from error
    for document in documents:
        if document is None:
            continue
        if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
            raise UsageError(f"{name}: a document in it is no Kubernetes object: kind is missing")
        items = (document.get("items") or []) if document["kind"] == "List" else [document]
        if not isinstance(items, list):
            raise UsageError(f"{name}: items of a List in it is no list: write each object after a -")
        yield from _checked(name, items)


def _values(text: str) -> list[Any]:
    """Return what is in a text of YAML; JSON is tried first, since it may be indented by tabs, which YAML may not."""
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        with suppress(ValueError, RecursionError):
            return [read_json(text.removeprefix("\ufeff"))]
    return list(yaml.load_all(text, JsonLoader))


def _checked(name: str, objects: list[Any]) -> Iterator[Json]:
    for each in objects:
        meta = each.get("metadata") if isinstance(each, dict) else None
        if not isinstance(meta, dict) or not (meta.get("name") or meta.get("generateName")):
            raise UsageError(f"{name}: an object in it has no metadata.name")
        for key in ("name", "generateName", "namespace"):
            if not isinstance(meta.get(key, ""), str):
                raise UsageError(f"{name}: metadata.{key} {meta[key]} is no text: write it in quotes")
        if not isinstance(each.get("kind"), str):
            raise UsageError(f"{name}: an object in it, {meta.get('name') or meta['generateName']}, has no kind")
        if not isinstance(each.get("apiVersion"), str):
            raise UsageError(f"{name}: {title(each)} has no apiVersion")
        yield each
