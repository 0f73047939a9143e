"""Documents made to a mapping: every value is one that a field of its type takes; the same seed gives the same ones."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]
Path = tuple[str, ...]
_TEXT = (
    "the of and city river lake station north south east west school church hill park university database query time "
    "user error page index node search machine data street bridge island valley forest python java gene cell protein"
)
WORDS = _TEXT.split()
FIELDS = 60
"""Of more fields a document has only so many: a mapping of thousands is one of documents that each have a few."""
EPOCH = datetime(2016, 1, 1, tzinfo=UTC)
_SPAN_SECONDS = 30 * 86400
_JAVA = {"yyyy": "%Y", "uuuu": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "SSS": "000"}
_NAMED = {
    "epoch_millis": lambda at: int(at.timestamp() * 1000),
    "epoch_second": lambda at: int(at.timestamp()),
    "basic_date": lambda at: at.strftime("%Y%m%d"),
    "year": lambda at: at.strftime("%Y"),
    "date": lambda at: at.strftime("%Y-%m-%d"),
}
_WHOLE = {"byte": 7, "short": 15, "integer": 20, "long": 40, "unsigned_long": 40, "token_count": 7}


def documents(mapping: Mapping[str, Any], count: int, seed: int = 0) -> Iterator[Json]:
    """Yield `count` documents for an index with this `mapping`."""
    dice = random.Random(seed)
    properties = mapping.get("properties") or {}
    for number in range(count):
        yield _object(properties, dice) or {"number": number, "message": _text({}, dice)}


def lines(mapping: Mapping[str, Any], count: int, index: str = "", seed: int = 0) -> Iterator[str]:
    """Yield the lines of a file of `count` documents, each after its action where there is an `index` to name."""
    action = json.dumps({"index": {"_index": index}})
    for document in documents(mapping, count, seed):
        yield from (f"{line}\n" for line in ([action] if index else []) + [json.dumps(document)])


def value(field: Mapping[str, Any], dice: random.Random) -> Any:
    """Return a value for the `field` of a mapping; None when it takes none."""
    kind = field.get("type", "object")
    if kind == "nested":
        return [one for _ in range(2) if (one := _object(field.get("properties") or {}, dice))] or None
    if kind in _WHOLE:
        return dice.randrange(1 << dice.randint(1, _WHOLE[kind]))
    made = _KINDS.get(kind)
    return made(field, dice) if made else None


def _leaves(properties: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield each field that has values of its own, with its path of names."""
    for name, field in properties.items():
        if field.get("type", "object") == "object":
            yield from _leaves(field.get("properties") or {}, (*above, name))
        else:
            yield (*above, name), field


def _object(properties: Mapping[str, Any], dice: random.Random) -> Json:
    leaves = list(_leaves(properties))
    if len(leaves) > FIELDS:
        first = [leaf for leaf in leaves if leaf[0] == ("@timestamp",) or leaf[1].get("time_series_dimension")]
        leaves = first + dice.sample([leaf for leaf in leaves if leaf not in first], FIELDS)
    found: Json = {}
    for path, field in leaves:
        if (it := value(field, dice)) is not None:
            inner = found
            for name in path[:-1]:
                inner = inner.setdefault(name, {})
            inner[path[-1]] = it
    return found


def _text(_: Mapping[str, Any], dice: random.Random) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(3, 20)))


def _keyword(_: Mapping[str, Any], dice: random.Random) -> str:
    return f"{dice.choice(WORDS)}-{dice.randrange(50)}"


def _date(field: Mapping[str, Any], dice: random.Random) -> Any:
    at = EPOCH + timedelta(seconds=dice.randrange(_SPAN_SECONDS))
    wanted = str(field.get("format", "strict_date_optional_time")).split("||")[0].removeprefix("strict_")
    if wanted in _NAMED:
        return _NAMED[wanted](at)
    if "yy" not in wanted and "uu" not in wanted:
        return at.strftime("%Y-%m-%dT%H:%M:%SZ")
    for java, python in _JAVA.items():
        wanted = wanted.replace(java, python)
    return at.strftime(wanted.replace("'", "").replace("Z", "+0000" if "'Z'" not in field["format"] else "Z"))


def _point(_: Mapping[str, Any], dice: random.Random) -> list[float]:
    return [round(dice.uniform(-179, 179), 5), round(dice.uniform(-85, 85), 5)]


def _shape(_: Mapping[str, Any], dice: random.Random) -> Json:
    return {"type": "Point", "coordinates": _point({}, dice)}


def _range(make: Callable[[random.Random], Any]) -> Callable[[Mapping[str, Any], random.Random], Json]:
    def made(_: Mapping[str, Any], dice: random.Random) -> Json:
        low, high = sorted((make(dice), make(dice)))
        return {"gte": low, "lte": high}

    return made


def _vector(field: Mapping[str, Any], dice: random.Random) -> list[float]:
    # Of dot_product's vectors the length must be 1.
    found = [dice.gauss(0, 1) for _ in range(int(field.get("dims", 8)))]
    length = sum(it * it for it in found) ** 0.5
    return [it / length for it in found]


_KINDS: dict[str, Callable[[Mapping[str, Any], random.Random], Any]] = {
    "text": _text,
    "match_only_text": _text,
    "pattern_text": _text,
    "search_as_you_type": _text,
    "completion": _keyword,
    "keyword": _keyword,
    "wildcard": _keyword,
    "constant_keyword": lambda field, _: field.get("value"),
    "flattened": lambda field, dice: {"key": _keyword(field, dice)},
    "version": lambda _, dice: f"{dice.randrange(9)}.{dice.randrange(20)}.0",
    "binary": lambda _, dice: base64.b64encode(dice.randbytes(12)).decode(),
    "boolean": lambda _, dice: dice.random() < 0.5,
    "date": _date,
    "date_nanos": _date,
    "double": lambda _, dice: round(dice.uniform(0, 1000), 3),
    "float": lambda _, dice: round(dice.uniform(0, 1000), 2),
    "half_float": lambda _, dice: round(dice.uniform(0, 100), 1),
    "scaled_float": lambda _, dice: round(dice.uniform(0, 100), 2),
    "ip": lambda _, dice: f"10.{dice.randrange(256)}.{dice.randrange(256)}.{dice.randrange(1, 255)}",
    "geo_point": _point,
    "geo_shape": _shape,
    "double_range": _range(lambda dice: round(dice.uniform(0, 100), 2)),
    "float_range": _range(lambda dice: round(dice.uniform(0, 100), 2)),
    "integer_range": _range(lambda dice: dice.randrange(1000)),
    "long_range": _range(lambda dice: dice.randrange(1000)),
    "dense_vector": _vector,
    "rank_features": lambda _, dice: {word: round(dice.uniform(0.1, 5), 2) for word in dice.sample(WORDS, 4)},
    "sparse_vector": lambda _, dice: {word: round(dice.uniform(0.1, 5), 2) for word in dice.sample(WORDS, 4)},
    "rank_feature": lambda _, dice: round(dice.uniform(0.1, 5), 2),
    "histogram": lambda _, dice: {"values": [1.0, 2.0], "counts": [dice.randrange(1, 9), 1]},
    "percolator": lambda _, dice: {"match": {"body": dice.choice(WORDS)}},
}
