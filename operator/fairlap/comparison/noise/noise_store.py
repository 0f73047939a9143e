"""What finished Comparisons have shown of noise, for those to come on the same machines. Pure.

One object a namespace, as the data of a ConfigMap: bounded, forgotten after 30 days, and read tolerantly, since anybody
in the namespace may write it. A forged one is bounded in what it does: a prior never makes less of the present noise.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median, variance
from typing import Any, Final, Protocol

from fairlap.api.base import Json
from fairlap.api.block_record import TWIN, BlockRecord
from fairlap.api.comparison_spec import ComparisonSpec
from fairlap.api.spec import BenchmarkSpec, Race
from fairlap.comparison.numbers.block_numbers import BlockNumbers
from fairlap.comparison.terms.gate_metrics import METRICS, family, gates_of
from fairlap.statistics.gates import NO_SPREAD
from fairlap.statistics.moderation import Prior, learn_prior

KEY_NOISE: Final = "noise.json"
MOST_KEYS: Final = 20
MOST_ENTRIES: Final = 50
"""Of one key; the oldest are forgotten first."""
MEMORY: Final = timedelta(days=30)
_MOST_VARIANCES = 12
"""Of one family in one Comparison."""
_MOST_CHARACTERS = 900_000
_LEAST_BLOCKS = 3
_NO_VARIANCE = NO_SPREAD**2
_LONGEST_RACE_SECONDS = 30 * 86400.0
_LARGEST = 100.0
"""A larger variance of a log ratio is no noise of anything."""
_MACHINE = re.compile(
    r"ran: (?:each node's (?:processors|memory|kernel)|load generator's (?:cores|kernel|CPU)"
    r"|storage\[0\]\.(?:className|fileSystem|kind)|machines\[\d+\]\.(?:cpuModel|kernel))"
)
"""Facts that say what the machines are. Names of machines are not among them: those of a cloud are new each day."""
_SEEN_FROM_OUTSIDE = re.compile(
    r"ran: (?:each node's (?:processors|memory|kernel)|load generator's (?:cores|kernel|CPU))"
)
"""Those of them that a race sees itself on a cluster that was built for another Benchmark."""
_PLACE = re.compile(r"(?<=machines)\[\d+\]")
_NAMED_MACHINES = "ran: machines of Elasticsearch"


class ComparedSubject(Protocol):
    """The Comparison in question."""

    @property
    def spec(self) -> ComparisonSpec:
        """What it compares."""


class SeenComparison(Protocol):
    """What is looked at of a Comparison."""

    @property
    def subject(self) -> "ComparedSubject":
        """The Comparison."""

    @property
    def now(self) -> datetime:
        """Now."""

    @property
    def records(self) -> Mapping[int, BlockRecord | None] | None:
        """Records of the blocks that count."""


@dataclass(frozen=True)
class Shown:
    """The noise of one family in one Comparison."""

    at: datetime
    family: str
    variances: tuple[float, ...]
    """of paired log ratios"""
    df: int
    race_seconds: float | None = None
    """the median of its Benchmarks, clusters included; None in an entry from before this was kept"""


NoiseStore = Mapping[str, tuple[Shown, ...]]
"""by key: workload and machines"""


def noise_key(spec: ComparisonSpec, blocks: Sequence[BlockRecord]) -> str:
    """Return what noise belongs to: what is raced, on fresh or kept clusters, and the machines as the races saw them.

    Without blocks it is the workload alone, the beginning of the keys of all machines.
    """
    design = spec.design
    races = [race.facts for block in blocks for race in block.races if race.variant == spec.baseline]
    tasks = design.tasks if design.keeps_clusters else None
    workload = _workload(spec.template.race, kept_tasks=tasks, in_turn=design.in_turn)
    machines = _machines(races, _MACHINE)
    seen = _seen_on_kept(races) if design.keeps_clusters else ""
    return f"{workload}/{seen}{_digest(machines)}" if machines else f"{workload}/"


def benchmark_key(spec: BenchmarkSpec, races: Sequence[Mapping[str, str]], *, on_kept_cluster: bool = False) -> str:
    """Return what `noise_key` returns, for a Benchmark and the facts of its races.

    Its clusters are its races' own, or a target. `on_kept_cluster`: it races on one that its Comparison keeps. What
    that was built on it does not know: the key is the beginning of all whose machines are the same as far as it sees.
    """
    tasks = spec.race.include_tasks if on_kept_cluster else None
    workload = _workload(spec.race, kept_tasks=tasks, in_turn=spec.in_turn is not None)
    if on_kept_cluster:
        return f"{workload}/{_seen_on_kept(races)}"
    machines = _machines(races, _MACHINE)
    return f"{workload}/{_digest(machines)}" if machines else f"{workload}/"


_OF_WORK = ("requests", "load", "sweep", "capacity", "includeTasks", "excludeTasks", "steady")
"""fields of `race` that make it other work, beside the track, its challenge and its parameters"""
_FILLS = ("includeTasks", "excludeTasks")
"""those that say how a kept cluster is filled: what differs from one filling to the next is not in the noise there"""


def _workload(raced: Race, *, kept_tasks: Sequence[str] | None, in_turn: bool) -> str:
    race = raced.to_json()
    track = {key: value for key, value in (race.get("track") or {}).items() if key != "revision"}
    work: Json = {name: race[name] for name in _OF_WORK if race.get(name)}
    if kept_tasks is not None:
        work = {name: value for name, value in work.items() if name not in _FILLS}
        work |= {"state": "Kept", "tasks": sorted(kept_tasks)}
    if in_turn:
        work["kind"] = "Duet"
    return _digest({"track": track, "challenge": race.get("challenge"), "params": race.get("params"), **work})


def _seen_on_kept(races: Sequence[Mapping[str, str]]) -> str:
    seen = _machines(races, _SEEN_FROM_OUTSIDE)
    return f"{_digest(seen)}-" if seen else ""


def learn(
    store: NoiseStore,
    spec: ComparisonSpec,
    blocks: Sequence[BlockRecord],
    now: datetime,
    race_seconds: float | None = None,
) -> NoiseStore:
    """Return the store with the noise that a finished Comparison has shown, and how long its races took."""
    key, shown = noise_key(spec, blocks), tuple(_shown(spec, blocks, now, race_seconds))
    if not shown or key.endswith("/"):
        return store
    kept = {each: _fresh(there, now) for each, there in store.items()}
    # A Comparison may be learnt from twice, when the operator is killed between two writes.
    known = [replace(each, at=shown[0].at) for each in kept.get(key, ())]
    before = [each for each, alike in zip(kept.get(key, ()), known, strict=True) if alike not in shown]
    kept[key] = tuple([*before, *shown][-MOST_ENTRIES:])
    newest = sorted((each for each, there in kept.items() if there), key=lambda each: max(it.at for it in kept[each]))
    return {each: kept[each] for each in newest[-MOST_KEYS:]}


def priors_for(store: NoiseStore, key: str, now: datetime) -> dict[str, Prior]:
    """Return what is known of each family's noise; the beginning of a key stands for the machines raced on last."""
    there = _entries(store, key, now)
    by_family: dict[str, list[tuple[float, float]]] = {}
    for each in there:
        by_family.setdefault(each.family, []).extend((value, float(each.df)) for value in each.variances)
    found = {
        name: learn_prior([value for value, _ in seen], [df for _, df in seen]) for name, seen in by_family.items()
    }
    return {name: prior for name, prior in found.items() if prior}


def race_seconds_for(store: NoiseStore, key: str, now: datetime) -> float | None:
    """Return how long a race took in finished Comparisons (their median); `key` as of `priors_for`, None: unknown."""
    known = [shown.race_seconds for shown in _entries(store, key, now) if shown.race_seconds is not None]
    return median(known) if known else None


def encode_noise(store: NoiseStore) -> dict[str, str]:
    """Return the store as the data of a ConfigMap."""
    data = {key: [_entry_json(each) for each in shown] for key, shown in store.items()}
    return {KEY_NOISE: json.dumps(data, separators=(",", ":"))}


def decode_noise(data: Mapping[str, Any]) -> dict[str, tuple[Shown, ...]]:
    """Return the store in the data of a ConfigMap; what cannot be read is not there."""
    text = data.get(KEY_NOISE)
    if not isinstance(text, str) or len(text) > _MOST_CHARACTERS:
        return {}
    try:
        keys = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(keys, dict):
        return {}
    found = {}
    for key, entries in list(keys.items())[:MOST_KEYS]:
        shown = [_entry(each) for each in (entries if isinstance(entries, list) else [])[-MOST_ENTRIES:]]
        if known := tuple(each for each in shown if each):
            found[key[:200]] = known
    return found


def priors(data: Json, seen: SeenComparison) -> dict[str, Prior]:
    """Return the priors for a Comparison from the data of the namespace's ConfigMap."""
    return priors_for(decode_noise(data), noise_key(seen.subject.spec, _blocks(seen)), seen.now)


def race_seconds(data: Json, seen: SeenComparison) -> float | None:
    """Return how long a race of a Comparison will take, from the data of the namespace's ConfigMap."""
    return race_seconds_for(decode_noise(data), noise_key(seen.subject.spec, _blocks(seen)), seen.now)


def benchmark_priors(
    data: Mapping[str, Any],
    spec: BenchmarkSpec,
    races: Sequence[Mapping[str, str]],
    now: datetime,
    *,
    on_kept_cluster: bool = False,
) -> dict[str, Prior] | None:
    """Return what the namespace's ConfigMap knows of a Benchmark's noise: nothing where it has shown too little of it.

    None where no Comparison of it is known, or its machines are not. `races`, `on_kept_cluster`: as of `benchmark_key`.
    """
    key, store = benchmark_key(spec, races, on_kept_cluster=on_kept_cluster), decode_noise(data)
    return None if key.endswith("/") or not _entries(store, key, now) else priors_for(store, key, now)


def learnt(data: Json, seen: SeenComparison, race_seconds: float | None = None) -> dict[str, str] | None:
    """Return the ConfigMap's data with what a Comparison has shown; None when that is nothing."""
    before = decode_noise(data)
    after = learn(before, seen.subject.spec, _blocks(seen), seen.now, race_seconds)
    return None if after == before else encode_noise(after)


def _entries(store: NoiseStore, key: str, now: datetime) -> Sequence[Shown]:
    """Return what is still fresh of a key; the beginning of one stands for the machines raced on last."""
    keys = [each for each in store if each.startswith(key)] if key.endswith(("/", "-")) else [key]
    known = [_fresh(store.get(each, ()), now) for each in keys]
    never = datetime.min.replace(tzinfo=now.tzinfo)
    return max(known, key=lambda shown: max((it.at for it in shown), default=never), default=())


def _blocks(seen: SeenComparison) -> list[BlockRecord]:
    return [record for _, record in sorted((seen.records or {}).items()) if record is not None]


def _shown(
    spec: ComparisonSpec, blocks: Sequence[BlockRecord], now: datetime, race_seconds: float | None
) -> Iterable[Shown]:
    numbers = BlockNumbers(blocks, spec.baseline)
    names = dict.fromkeys(race.variant for block in blocks for race in block.races if race.valid)
    found: dict[str, list[float]] = {}
    for name in names:
        if name == spec.baseline or name == spec.baseline + TWIN:
            continue
        cells = [(gate.task or "", gate.metric) for gate in gates_of(spec)]
        singles = [key for key in numbers.keys(name) if METRICS[key[1]].of_tasks]
        for task, metric in dict.fromkeys([*cells, *singles]):
            if metric == "throughput" and numbers.is_paced(name, task):
                continue  # what was asked for has hardly any noise, and the others of its family have
            pairs = numbers.pairs(name, task, metric)
            if METRICS[metric].exact or pairs.obstacle or numbers.count < _LEAST_BLOCKS:
                continue
            spread = variance(pairs.cost_ratios(more_is_better=False))
            if _NO_VARIANCE < spread < _LARGEST:
                found.setdefault(family(metric, task or None), []).append(spread)
    stamp = now.replace(microsecond=0)
    for name, values in found.items():
        kept = tuple(float(f"{value:.4g}") for value in values[:_MOST_VARIANCES])
        yield Shown(stamp, name, kept, numbers.count - 1, race_seconds and float(f"{race_seconds:.4g}"))


def _machines(races: Sequence[Mapping[str, str]], told_by: re.Pattern[str]) -> dict[str, list[str]]:
    """Return the values of each such fact that is known; in which place of a list a machine stood is none of them."""
    found: dict[str, set[str]] = {}
    for path, value in (item for facts in races for item in facts.items()):
        if value and told_by.fullmatch(path):
            found.setdefault(_PLACE.sub("", path), set()).add(value)
    named = {facts[_NAMED_MACHINES] for facts in races if _NAMED_MACHINES in facts}
    if not found and named:
        found = {_NAMED_MACHINES: named}
    return {path: sorted(values) for path, values in sorted(found.items())}


def _fresh(shown: Iterable[Shown], now: datetime) -> tuple[Shown, ...]:
    return tuple(it for it in shown if now - MEMORY <= it.at <= now + timedelta(days=1))


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _entry_json(shown: Shown) -> Json:
    entry = {"at": shown.at.isoformat(), "family": shown.family, "df": shown.df, "variances": list(shown.variances)}
    return entry if shown.race_seconds is None else {**entry, "raceSeconds": shown.race_seconds}


def _entry(value: Any) -> Shown | None:
    if not isinstance(value, dict):
        return None
    at, name, df, variances = (value.get(key) for key in ("at", "family", "df", "variances"))
    if not isinstance(at, str) or not isinstance(name, str) or not isinstance(variances, list):
        return None
    if isinstance(df, bool) or not isinstance(df, int) or not 1 <= df <= 1000:
        return None
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    known = tuple(float(each) for each in variances[:_MOST_VARIANCES] if _is_variance(each))
    if not known or moment.tzinfo is None:
        return None
    took: Any = value.get("raceSeconds")
    return Shown(moment, name[:63], known, df, float(took) if _is_between(0, took, _LONGEST_RACE_SECONDS) else None)


def _is_variance(value: Any) -> bool:
    return _is_between(_NO_VARIANCE, value, _LARGEST)


def _is_between(low: float, value: Any, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low < value < high
