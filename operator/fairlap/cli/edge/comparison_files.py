"""A Comparison and its blocks' records, from a cluster or from files that were kept of one; each read is bounded."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlap.api.block_record import KEY_BLOCK, BlockRecord
from fairlap.api.names import COMPARISON_KIND
from fairlap.api.raw import as_list, as_mapping
from fairlap.cli.edge.exits import CliError, UsageError
from fairlap.comparison.numbers.block_pack import block_in_config_map, unpack_block
from fairlap.comparison_report.archive import DATA_ID, is_archive, read_archive
from fairlap.comparison_report.comparison_view import NotAComparisonError, check_comparison
from fairlap_race.contract.untrusted import MAX_UNPACKED_BYTES, decompressed, read_object

if TYPE_CHECKING:
    from fairlap.cli.edge.connection import Connection

Json = dict[str, Any]
Blocks = list[BlockRecord]
_MOST_BYTES = 256 << 20
_OF_YAML = re.compile(r"^(apiVersion|kind|metadata|spec|status):", re.MULTILINE)
_IN_HTML = re.compile(rf'<script type="application/json" id="{DATA_ID}">(.*?)</script>', re.DOTALL)


def from_cluster(connection: Connection, name: str) -> tuple[Json, Blocks, list[str]]:
    """Return a Comparison, the records of its blocks, and a sentence for each that is not there; raises CliError."""
    comparison = connection.comparison(name)
    status = comparison.get("status") or {}
    blocks, missing = [], []
    for block in status.get("blocks") or ():
        record = str(block.get("record") or "")
        if not record:
            continue
        there = connection.config_map(record)
        found = block_in_config_map(there) if there else None
        if found is None:
            what = "cannot be read" if there else "is gone"
            missing.append(f"the record {record} {what}: its races are shown without numbers")
        else:
            blocks.append(found)
    return comparison, blocks, missing


def from_files(file: str, folder: str | None) -> tuple[Json, Blocks]:
    """Return a Comparison and its records from an archive, an HTML report, or a Comparison and a folder of records.

    One that ended before its first block was recorded needs no folder. Raises CliError, and UsageError for a file that
    is none of these.
    """
    data = _object(Path(file))
    try:
        if is_archive(data):
            if folder:
                raise UsageError(f"{file} has its blocks in it: leave --blocks out")
            return read_archive(data)
        if _is_list(data):
            raise UsageError(f"{file} is a {data['kind']}: write one of them (kubectl get cmp NAME -o json)")
        check_comparison(data)
    except NotAComparisonError as error:
        raise UsageError(f"{file}: {error}") from error
    if not folder and data.get("kind") == COMPARISON_KIND and not _has_records(data):
        return data, []
    if not folder:
        raise UsageError(f"{file} has no blocks in it: say with --blocks where their records are")
    blocks = [block for path in _files(Path(folder)) for block in _blocks(path)]
    kept = {(block.number, block.attempt): block for block in blocks}
    return data, [kept[key] for key in sorted(kept)]


def _is_list(data: Json) -> bool:
    return str(data.get("kind")).endswith("List")


def _has_records(comparison: Json) -> bool:
    blocks = as_list(as_mapping(comparison.get("status")).get("blocks"))
    return any(as_mapping(block).get("record") for block in blocks)


def _files(folder: Path) -> Sequence[Path]:
    # Not Path.is_dir(), which raises where a folder above may not be entered.
    if not os.path.isdir(folder):  # noqa: PTH112
        raise UsageError(f"{folder} is no directory that can be read")
    found = sorted([*folder.rglob("*.json"), *folder.rglob("*.json.gz")])
    if not found:
        raise UsageError(f"{folder} has no file that ends in .json or .json.gz")
    return found


def _blocks(path: Path) -> Iterator[BlockRecord]:
    if path.suffix == ".gz":
        text = decompressed(_read(path))
        yield _known(path, unpack_block(text) if text is not None else None)
        return
    data = _object(path)
    items = data.get("items") if _is_list(data) else [data]
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and item.get("kind") == "ConfigMap":
            if KEY_BLOCK in (item.get("binaryData") or {}):
                yield _known(path, block_in_config_map(item))
        elif isinstance(item, dict) and "races" in item:
            yield _known(path, _validated(path))


def _validated(path: Path) -> BlockRecord | None:
    return unpack_block(_read(path))


def _known(path: Path, block: BlockRecord | None) -> BlockRecord:
    if block is None:
        raise UsageError(f"{path} is no record of a block")
    return block


def _object(path: Path) -> Json:
    text = _read(path).decode("utf-8", "replace")
    if path.suffix in (".html", ".htm"):
        inside = _IN_HTML.search(text)
        if inside is None:
            raise UsageError(f"{path} is no report of a Comparison")
        text = inside.group(1)
    found = read_object(text, _MOST_BYTES, values=_MOST_BYTES)  # what the user chose to read may be large
    if found is None and _OF_YAML.search(text):
        raise UsageError(f"{path} is YAML: write it as JSON (kubectl get cmp NAME -o json)")
    if found is None:
        raise UsageError(f"{path} holds no JSON object")
    return found


def _read(path: Path) -> bytes:
    most = _MOST_BYTES if path.suffix in (".html", ".htm", ".json") else MAX_UNPACKED_BYTES
    try:
        if path.stat().st_size > most:
            raise CliError(f"{path} is larger than {most >> 20} MiB: no file of a Comparison is")
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


Connect = Callable[[], "Connection"]
