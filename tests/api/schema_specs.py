"""Specs of Benchmarks made from the CRD's own schema: a good one, with one to six fields written anew by their schemas.

About half of them are taken by the API server; the others show what its refusals say.
"""

import copy
import functools
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from fairlap.api.names import MAX_REPETITIONS

from .tools import ROOT

Json = dict[str, Any]
Path = tuple[str, ...]
GONE = object()
"""instead of a value: the field is left out"""
TRACK, SECRET, CLAIM = "a-track", "a-secret", "a-claim"
"""names of a ConfigMap, a Secret and a volume claim that a test may have made"""
ALTERNATIVES: tuple[frozenset[Path], ...] = (
    frozenset({("elasticsearch",), ("target",)}),
    frozenset(("race", "track", source) for source in ("builtin", "configMap", "name", "git", "volume")),
    frozenset(("race", "requests", source) for source in ("configMap", "git", "volume")),
    frozenset({("elasticsearch", "storage", "ephemeral"), ("elasticsearch", "storage", "size")}),
    frozenset({("race", "includeTasks"), ("race", "excludeTasks")}),
)
"""of each of these a spec takes but one"""
IN_COMPANY = frozenset({("race", "requests"), ("race", "load"), ("target", "health"), ("target", "kind")})
"""beside anything but their like these are refused, so they are varied in good company"""
NEVER = frozenset({("suspend",)})
"""a suspended Benchmark never ends, and is not meant to"""


@dataclass(frozen=True)
class Made:
    """A spec and how it was made."""

    base: Json
    changes: tuple[tuple[Path, Any], ...]

    @property
    def spec(self) -> Json:
        """The spec itself."""
        made = copy.deepcopy(self.base)
        for path, value in self.changes:
            _write(made, path, value)
        return made

    def words(self) -> str:
        """Tell what was changed, shortly."""
        parts = (f"{'.'.join(path)}={'(gone)' if value is GONE else _short(value)}" for path, value in self.changes)
        return f"{_short(self.base)} with " + "; ".join(parts)


def generate(count: int, number: int, races: int = 50) -> list[Made]:
    """Return `count` specs of at most so many races each, the same for the same `number`."""
    each = (_one(number * 1_000_000 + place) for place in itertools.count())
    return list(itertools.islice((made for made in each if _races(made) <= races), count))


def edges() -> list[Made]:
    """Return a spec for each field and each value that is at an edge of it, alone."""
    found = []
    for path, node in fields():
        base = next(base for base in bases() if not _is_other_alternative(path, base))
        values = [*(KNOWN.get(path[-1], ()) if "properties" not in node else ()), *_edges(node)]
        unlike = {repr(value): value for value in values}
        found += [Made(base, ((path, value),)) for value in unlike.values()]
    return found


def _edges(node: Json) -> list[Any]:
    """Return the values at a node's bounds."""
    if _has_no_schema(node):
        return [{}, _in_lists(500), _in_objects(500), _wide(1001), {"long": "x" * 400_000}, {"huge": 1e308, "": None}]
    if node.get("type") == "integer":
        return [node.get("minimum", -(2**63)), node.get("maximum", 2**63 - 1)]
    if node.get("type") == "string" and "pattern" not in node:
        return node.get("enum") or [letter * node.get("maxLength", 300) for letter in ("a", "\U0001f642")]
    return {"array": [[]], "object": [{}], "boolean": [True, False]}.get(node.get("type", ""), [])


def _has_no_schema(node: Json) -> bool:
    within = node.get("additionalProperties")
    return any(part.get("x-kubernetes-preserve-unknown-fields") for part in (node, within or {}))


def _races(made: Made) -> int:
    asked = made.spec.get("repetitions", 1)
    return asked if isinstance(asked, int) and asked <= MAX_REPETITIONS else 1  # it is refused


def _one(number: int) -> Made:
    # A search of its own for each: within one, Hypothesis varies what it had, and many would be alike.
    few = settings(
        max_examples=3, database=None, phases=[Phase.generate], deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    found: list[Made] = []

    @seed(number)
    @few
    @given(specs())
    def collect(made: Made) -> None:
        found.append(made)

    collect()
    return found[-1]  # the first is the simplest one


@functools.cache
def schema() -> Json:
    """The CRD's schema of a spec."""
    crd = yaml.safe_load((ROOT / "crds" / "benchmarks.yaml").read_text())
    found: Json = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def bases() -> list[Json]:
    """Good specs, of every kind of cluster, track and storage."""
    races: tuple[Json, ...] = (
        {"track": {"builtin": "log_ingest"}},
        {"track": {"configMap": {"name": TRACK}}},
        {"track": {"name": "geonames"}},
        {"track": {"git": {"url": "https://example.org/tracks.git", "revision": "main"}}},
        {"track": {"volume": {"claimName": CLAIM}}},
        {"track": {"builtin": "replay"}, "requests": {"volume": {"claimName": CLAIM}}},
    )
    places: tuple[Json, ...] = (
        {"elasticsearch": {"version": "9.0.0"}},
        {"elasticsearch": {"version": "8.11.0", "storage": {"size": "1Gi"}}},
        {"target": {"hosts": ["https://shop-es-http:9200"], "credentialsSecret": {"name": SECRET}}},
    )
    soon = {"provisioning": "20s", "race": "1m"}  # what never comes up, because of what was changed, is given up soon
    return [{**place, "race": race, "timeouts": soon} for race in races for place in places]


@st.composite
def specs(draw: st.DrawFn) -> Made:
    """Specs that the API server takes or refuses."""
    base, nodes = draw(st.sampled_from(bases())), dict(fields())
    whole = [path for path, _ in fields() if not _is_within_absent(path, base)]
    fitting = [path for path in whole if not _is_other_alternative(path, base)]
    anywhere = draw(st.integers(0, 19)) == 13
    telling = [path for path in fitting if path[-1] in KNOWN and "properties" not in nodes[path]]
    places = st.sampled_from([path for path, _ in fields()] if anywhere else fitting + 2 * telling)
    paths = draw(st.lists(places, min_size=1, max_size=6, unique=True))
    return Made(base, tuple((path, draw(_value(path))) for path in paths))


@functools.cache
def fields() -> tuple[tuple[Path, Any], ...]:
    """Every field below the spec, and its schema."""
    return tuple(_walk(schema(), ()))


def _walk(node: Json, path: Path) -> Iterator[tuple[Path, Json]]:
    for name, inner in node.get("properties", {}).items():
        here = (*path, name)
        if here not in NEVER:
            yield here, inner
            yield from _walk(inner, here)


def _is_other_alternative(path: Path, base: Json) -> bool:
    for group in ALTERNATIVES:
        chosen = {one for one in group if _there(base, one)}
        if chosen and any(path[: len(one)] == one for one in group - chosen):
            return True
    return False


def _is_within_absent(path: Path, base: Json) -> bool:
    """Tell whether a field is inside an object that is absent and needs others too: alone it is but refused."""
    nodes = dict(fields())
    parents = (path[:length] for length in range(1, len(path)))
    alone = any("required" in nodes[parent] and not _there(base, parent) for parent in parents)
    return alone or (path[:2] in IN_COMPANY and not _there(base, path[:2]))


def _there(base: Any, path: Path) -> bool:
    for name in path:
        if not isinstance(base, dict) or name not in base:
            return False
        base = base[name]
    return True


def _write(made: Json, path: Path, value: Any) -> None:
    *parents, last = path
    for name in parents:
        inner = made.setdefault(name, {})
        if not isinstance(inner, dict):
            return  # an earlier change wrote something else here
        made = inner
    if value is GONE:
        made.pop(last, None)
    else:
        made[last] = json.loads(json.dumps(value))  # a copy that is not made by recursion in Python


def _short(value: Any) -> str:
    text = repr(value) if not isinstance(value, dict | list) or _depth(value) < 40 else f"<nested {_depth(value)} deep>"
    return text if len(text) < 160 else f"{text[:120]}… ({len(text)} characters)"


def _depth(value: Any) -> int:
    """Return how deep a value is nested, without recursion."""
    deepest, left = 0, [(value, 0)]
    while left:
        one, depth = left.pop()
        deepest = max(deepest, depth)
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        left += [(each, depth + 1) for each in inner]
    return deepest


# --- values by schema --------------------------------------------------------------------------------------------


@functools.cache
def _value(path: Path) -> st.SearchStrategy[Any]:
    """Values of a field: mostly as its schema says, sometimes beyond its bounds, seldom something else or nothing."""
    node = dict(fields())[path]
    known = KNOWN.get(path[-1], ()) if "properties" not in node else ()
    good = st.one_of(by_schema(node, path), *([st.sampled_from(known)] if known else ()))
    beyond = _beyond(node)
    return st.integers(0, 19).flatmap(lambda n: beyond if n == 13 else st.just(GONE) if n == 17 else good)


def by_schema(node: Json, path: Path = ()) -> st.SearchStrategy[Any]:
    """Values that fit a node of the schema; CEL may refuse them."""
    if "enum" in node:
        return st.sampled_from(node["enum"])
    if _has_no_schema(node):
        return free_form()
    if node.get("x-kubernetes-int-or-string"):
        return st.one_of(st.sampled_from((0, 1, 2**31, 2**53, 10**15)), _strings(node))
    return _BY_TYPE[node["type"]](node, path)


def _integers(node: Json, _: Path) -> st.SearchStrategy[int]:
    low, high = node.get("minimum", -(2**63)), node.get("maximum", 2**63 - 1)
    return st.one_of(st.sampled_from((low, high)), st.integers(low, min(high, low + 3)), st.integers(low, high))


def _texts(node: Json, _: Path) -> st.SearchStrategy[str]:
    return _strings(node)


def _strings(node: Json) -> st.SearchStrategy[str]:
    least, most = node.get("minLength", 0), node.get("maxLength", 300)
    if "pattern" in node:
        # Python's $ also stands before a line break, RE2's does not.
        made = st.from_regex(node["pattern"].removesuffix("$") + r"\Z", alphabet=_CHARACTERS)
        return made.filter(lambda text: least <= len(text) <= most)
    longest = st.sampled_from("aé\U0001f642").map(lambda letter: letter * most)
    odd = st.sampled_from(ODD).filter(lambda text: least <= len(text) <= most)
    return st.one_of(st.text(min_size=least, max_size=min(most, 20)), longest, odd)


def _lists(node: Json, path: Path) -> st.SearchStrategy[list[Any]]:
    inner = by_schema(node["items"], path)
    least, most = node.get("minItems", 0), node["maxItems"]
    few = st.lists(inner, min_size=least, max_size=min(most, 3))
    return st.one_of(few, few, inner.map(lambda one: [one] * most))


def _objects(node: Json, path: Path) -> st.SearchStrategy[Json]:
    if "properties" not in node:
        inner = by_schema(node["additionalProperties"], path)
        keys = st.one_of(st.sampled_from(LABELS), st.text(max_size=20))
        full = inner.map(lambda one: {f"key-{number}": one for number in range(node["maxProperties"])})
        return st.one_of(st.dictionaries(keys, inner, max_size=3), full)
    inside = {name: by_schema(inner, (*path, name)) for name, inner in node["properties"].items()}
    required = node.get("required", ()) if path != ("race",) else ("track",)  # over HTTP it has none
    needed = {name: inside.pop(name) for name in required}
    some = st.lists(st.sampled_from(sorted(inside)), max_size=2, unique=True) if inside else st.just([])
    return some.flatmap(lambda names: st.fixed_dictionaries({**needed, **{name: inside[name] for name in names}}))


_BY_TYPE: dict[str, Callable[[Json, Path], st.SearchStrategy[Any]]] = {
    "integer": _integers,
    "number": lambda node, _: st.floats(node.get("minimum", -1e9), node.get("maximum", 1e9)),
    "string": _texts,
    "boolean": lambda _, __: st.booleans(),
    "array": _lists,
    "object": _objects,
}
_CHARACTERS = st.characters(min_codepoint=32, max_codepoint=126)
ODD = (
    "", " ", "\n", "\t\r\n", "\x00", "\x1b[31mred\x1b[0m", "\u202eabc", "\ufeff", "\ufffd", "\U0010ffff",
    "e\u0301" * 20,
    "{{ x }}", "{% raw %}", "$(POD)", "${x}", "%s%n", "-1", "--help", "null", "../../etc/passwd", "'; --", '"', "\\",
)  # fmt: skip
LABELS = ("kubernetes.io/arch", "a.b/c", "", "-", "no such key!", "k" * 63, "k" * 64, "fairlap.dev/uid")
HUGE = "99999999h"
KNOWN: dict[str, tuple[Any, ...]] = {
    "provisioning": ("1s", "0s", "15m", HUGE, "9999999999999999999", "00000000000000000001s", "87600h"),
    "race": ("1s", "2s", "0s", "6h", HUGE, "2562047h47m16s", "1h1m1s"),
    "keepClusterFor": ("1s", "0s", "24h", HUGE),
    "version": ("9.0.0", "8.11.0", "8.6.0", "7.17.0", "7.17.999", "8.999.999", "9.0.00", "10.0.0", "6.8.23"),
    "builtin": ("log_ingest", "page_cache", "percolator", "replay", "no-such-track"),
    "name": (TRACK, SECRET, "not-there", "a" * 253, "a.b.c"),
    "claimName": (CLAIM, "not-there"),
    "challenge": ("default", "ramp-up", "nope"),
    "heap": ("1g", "1m", "999999g", "99999999999g"),
    "cpu": ("1", "0", "1m", "0.0001", "0.1m", 99999999, "9999999999999999999P"),
    "memory": ("2Gi", "0", "1", "1m", "0.5Gi", "9999999999999999999P", "1000000000000Pi"),
    "size": ("1Gi", "0", "1m", "9999999999999999999P"),
    "sizeLimit": ("1Gi", "0", "9999999999999999999P"),
    "maxSize": ("1Gi", "0", "9999999999999999999P"),
    "hosts": (
        ["http://a:1"],
        ["https://h:9200"] * 20,
        ["https://h:99999"],
        ["http://[fd00::1]:9200"],
        ["http://[1:2]:9200"],
    ),
    "jvmOptions": (["-XX:-UseG1GC"], ["-x"] * 30, ["-Da=\u00a0b"]),
    "repetitions": (0, 1, 2, 3),
    "checkedBy": ("not-there", "a.b.c"),
    "requireTasks": (["bulk-index"], ["no-such-task"]),
    "machines": (["node-a"], ["node-a", "node-b", "node-a"]),
    "avoidMachines": (["node-a"], ["node-b"]),
    "nodes": (1, 2, 3),
    "settings": ({"refresh_interval": "30s"}, {"index.refresh_interval": "30s"}, {"sort.field": ["a", "b"]}),
    "config": ({"node.store.allow_mmap": False}, {"node": {"attr": {"a": 1}}}, {"cluster.name": "x"}),
    "p50": ("500us", "0ms", "1.0005ms"),
    "p90": ("2.5ms", "9999999.999s", "1m"),
    "p99": ("50ms", "1s", "fast"),
    "probes": (
        [{"name": "nodes", "path": "/_cat/health?format=json", "pointer": "/0/node.data", "between": [1, 1]}],
        [{"name": "a", "path": "/", "part": "/*/a~1b", "rest": "/", "between": [-1e15, 1e15]}],
    ),
    "params": ({"bulk_size": 100}, {"bulk_size": "many"}, {"": ""}),
    "clientOptions": ({"timeout": 60}, {"timeout": "long"}, {"basic_auth_user": "x"}, {"headers": {"a": "b"}}),
}
"""values by a field's name that mean something, or are at the edge of it"""


@functools.cache
def free_form() -> st.SearchStrategy[Json]:
    """Objects that the schema lets through as they are: deep, wide, long, huge and odd ones among them."""
    keys = st.one_of(
        st.sampled_from(("a", "a.b", "index.codec", "", "number_of_shards", "-", "é", "\x00")), st.text(max_size=8)
    )
    numbers = st.sampled_from((0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 1e308, 5e-324, 0.1))
    scalars = st.one_of(st.booleans(), numbers, st.sampled_from(ODD), st.text(max_size=10), st.none())
    inner = st.recursive(
        scalars,
        lambda more: st.one_of(st.lists(more, max_size=3), st.dictionaries(keys, more, max_size=3)),
        max_leaves=8,
    )
    deep = st.sampled_from((10, 60, 99, 101, 250, 500)).flatmap(
        lambda depth: st.sampled_from((_in_lists(depth), _in_objects(depth)))
    )
    wide = st.sampled_from((101, 1001)).map(_wide)
    long = st.sampled_from((5_000, 140_000, 400_000)).map(lambda length: {"long": "x" * length})
    plain = st.dictionaries(keys, inner, max_size=4)
    return st.one_of(plain, plain, plain, deep, wide, long)


def _wide(count: int) -> Json:
    return {f"key{number}": number for number in range(count)}


def _in_lists(depth: int) -> Json:
    made: Any = 1
    for _ in range(depth - 1):
        made = [made]
    return {"deep": made}


def _in_objects(depth: int) -> Json:
    made: Any = 1
    for _ in range(depth):
        made = {"deep": made}
    return made  # type: ignore[no-any-return]


def _beyond(node: Json) -> st.SearchStrategy[Any]:
    """Values that a node's schema forbids, or that are of another type."""
    others = st.sampled_from((None, True, -1, 2**63 - 1, 0.5, "", "\x00", "x" * 600, [], [[]], {}, {"no": "such"}))
    if "maximum" in node:
        return st.one_of(others, st.just(node["maximum"] + 1), st.just(node["minimum"] - 1))
    if "maxLength" in node:
        return st.one_of(others, st.just("1" * (node["maxLength"] + 1)))
    return others
