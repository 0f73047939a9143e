"""Bounds of a spec that the schema cannot have: sizes of quantities, and depth and size of what has no schema.

Also those that an older CustomResourceDefinition does not have yet. Nothing here raises, or recurses into depth.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from fairlap.api.load_spec import MOST_RATE, REQUESTS
from fairlap.api.names import MOST_LEVELS, MOST_SPEC_VALUES
from fairlap.api.quantity import parse_duration, parse_quantity
from fairlap.api.spec import LONGEST_KEEP, LONGEST_PROVISIONING, LONGEST_RACE, LONGEST_TTL, BenchmarkSpec
from fairlap.plan.basis.sweep_plan import allowed_errors, least_seconds, most_seconds, steps_of_race
from fairlap_race.contract.codec import compact_json
from fairlap_race.contract.index_settings import flatten
from fairlap_race.contract.specification.capacity_search import is_apart
from fairlap_race.contract.specification.http_spec import HttpLoad
from fairlap_race.contract.specification.race_spec import MOST_SPEC_BYTES
from fairlap_race.contract.untrusted import has_more_values

LONGEST_LOAD, LONGEST_INTERVAL = "168h", "1h"
MOST_CHARACTERS = 64 * 1024
MOST_KEY = 500
MOST_BYTES = MOST_SPEC_BYTES - (16 << 10)
"""of what a user writes of all that the race's pod is told in one variable; the rest is names, paths and numbers"""
_LARGEST = {"cpu": "1000", "memory": "64Ti"}
_LARGEST_VOLUME = "1Pi"
_LEAST_BYTES = 1 << 20
_LEAST_LIMIT_BYTES = 1 << 10
"""of what may be too small on purpose, to see what happens"""


def objections(spec: BenchmarkSpec) -> Iterator[str]:
    """Yield a sentence for each value that is out of its bounds."""
    yield from _durations(spec)
    yield from _quantities(spec)
    yield from _too_small(spec)
    yield from _too_long_a_sweep(spec)
    yield from _impossible_search(spec)
    yield from _beyond_k6(spec)
    yield from _given_up_within_the_objective(spec)
    yield from _measures_nothing(spec)
    yield from _rates_below_one(spec)
    yield from _allowed_beside_a_search(spec)
    wrong = [
        f"{field} {words}"
        for field, value in _maps(spec).items()
        if (words := _too_much(value, dotted=field.endswith((".config", ".index.settings"))))
    ]
    yield from wrong or _too_many_together(spec) or _too_large_together(spec)


def _durations(spec: BenchmarkSpec) -> Iterator[str]:
    ttl, load = spec.ttl_after_finished, spec.race.load
    for field, text, longest in (
        ("timeouts.provisioning", spec.timeouts.provisioning, LONGEST_PROVISIONING),
        ("timeouts.race", spec.timeouts.race, LONGEST_RACE),
        ("keepClusterFor", spec.keep_cluster_for, LONGEST_KEEP),
        ("ttlAfterFinished.succeeded", ttl and ttl.succeeded, LONGEST_TTL),
        ("ttlAfterFinished.failed", ttl and ttl.failed, LONGEST_TTL),
        ("race.load.duration", load and load.duration, LONGEST_LOAD),
        ("race.load.warmup", load and load.warmup, LONGEST_LOAD),
    ):
        if text and parse_duration(text) > parse_duration(longest):
            yield f"{field} {text} is too long: write at most {longest}"


def _quantities(spec: BenchmarkSpec) -> Iterator[str]:
    built, corpora = spec.elasticsearch, spec.race.corpora
    asked = {"elasticsearch": built.resources} if built else {}
    for field, resources in {**asked, "race": spec.race.resources}.items():
        for part, amounts in (("requests", resources.requests), ("limits", resources.limits)):
            yield from _larger(f"{field}.resources.{part}.cpu", amounts.cpu, _LARGEST["cpu"])
            yield from _larger(f"{field}.resources.{part}.memory", amounts.memory, _LARGEST["memory"])
    if built:
        ephemeral = built.storage.ephemeral
        yield from _larger("elasticsearch.storage.size", built.storage.size, _LARGEST_VOLUME)
        limit = ephemeral.size_limit if ephemeral else None
        yield from _larger("elasticsearch.storage.ephemeral.sizeLimit", limit, _LARGEST_VOLUME)
    yield from _larger("race.corpora.maxSize", corpora.max_size if corpora else None, _LARGEST_VOLUME)


def _too_small(spec: BenchmarkSpec) -> Iterator[str]:
    """Yield a sentence for each size that nobody means: the API server takes it, 2000m of memory as two bytes, too.

    A request of nothing is one: it leaves the scheduler free.
    """
    corpora = spec.race.corpora
    needed = {
        "race.resources.limits.memory": (spec.race.resources.limits.memory, "2Gi"),
        "race.corpora.maxSize": (corpora.max_size if corpora else None, "200Gi"),
    }
    asked = {"race.resources.requests.memory": (spec.race.resources.requests.memory, "2Gi")}
    cores = {"race.resources.limits.cpu": spec.race.resources.limits.cpu}
    if built := spec.elasticsearch:
        ephemeral = built.storage.ephemeral
        needed |= {
            "elasticsearch.storage.size": (built.storage.size, "20Gi"),
            "elasticsearch.storage.ephemeral.sizeLimit": (ephemeral.size_limit if ephemeral else None, "20Gi"),
            "elasticsearch.resources.limits.memory": (built.resources.limits.memory, "2Gi"),
        }
        asked["elasticsearch.resources.requests.memory"] = (built.resources.requests.memory, "2Gi")
        cores["elasticsearch.resources.limits.cpu"] = built.resources.limits.cpu
    for field, cpu in cores.items():
        if cpu is not None and parse_quantity(cpu) == 0:
            yield f"{field} {cpu} is nothing: write for example 2, or leave it out"
    for field, (text, instead) in {**needed, **asked}.items():
        size = parse_quantity(text) if text is not None else _LEAST_BYTES
        if size == 0 and field in needed:
            yield f"{field} {text} is nothing: write for example {instead}"
        elif 0 < size < (least := _LEAST_LIMIT_BYTES if field.endswith((".sizeLimit", ".maxSize")) else _LEAST_BYTES):
            bound = "1Mi" if least == _LEAST_BYTES else "1Ki"
            yield f"{field} {text} is {size:.6g} bytes, less than {bound}: write for example {instead}"


def _too_long_a_sweep(spec: BenchmarkSpec) -> Iterator[str]:
    race, most = spec.race, parse_duration(spec.timeouts.race).total_seconds()
    seconds = least_seconds(race.sweep, race.load, steady=race.steady is not None) if race.sweep else 0.0
    if seconds > most:
        yield (
            f"race.sweep takes {seconds:.0f} s at least, and timeouts.race is {spec.timeouts.race}: write fewer or "
            "shorter steps or intervals, or a longer time there"
        )
    elif race.load and not race.sweep and not race.capacity and race.load.least_seconds > most:
        yield (
            f"race.load takes {race.load.least_seconds:.0f} s, and timeouts.race is {spec.timeouts.race}: write a "
            "shorter duration, or a longer time there"
        )


def _impossible_search(spec: BenchmarkSpec) -> Iterator[str]:
    capacity, most = spec.race.capacity, parse_duration(spec.timeouts.race).total_seconds()
    if capacity is None:
        return
    if (seconds := most_seconds(capacity, steady=spec.race.steady is not None)) > most:
        yield (
            f"race.capacity takes {seconds:.0f} s if the probes contradict each other, and timeouts.race is "
            f"{spec.timeouts.race}: write a shorter duration of a probe, or a longer time there"
        )
    objective, lowest, highest = capacity.objective, capacity.target_throughput.first, capacity.target_throughput.last
    if not is_apart(lowest, highest, capacity.share):
        yield (
            f"race.capacity.targetThroughput goes from {lowest:g} to {highest:g}, which is less than the resolution "
            f"of {capacity.resolution}, so that nothing is left to be found: write rates further apart, or a finer "
            "resolution"
        )
    requests = lowest * parse_duration(capacity.duration).total_seconds()
    if requests < objective.fewest_requests:
        needed = math.ceil(objective.fewest_requests / lowest)
        yield (
            f"race.capacity: {lowest:g}/s for {capacity.duration} are {requests:.0f} requests, and "
            f"{objective.percentile} says nothing below {objective.fewest_requests}: write a higher "
            f"targetThroughput.from, a duration of {needed}s, or another percentile"
        )
    seconds, clients = parse_duration(capacity.duration).total_seconds(), capacity.clients or 0
    most = math.floor(lowest * seconds * (1 + 1e-9))
    if spec.race.load is None and clients > most >= 1:
        yield (
            f"race.capacity.clients {clients} send a request each in {clients / lowest:.3g} s at {lowest:g}/s, and a "
            f"probe is measured for {capacity.duration}: write {most} clients at most, a "
            "higher targetThroughput.from, or a longer duration"
        )


def _beyond_k6(spec: BenchmarkSpec) -> Iterator[str]:
    """Yield a sentence for what steps over HTTP may not be: Rally takes longer ones and higher rates."""
    race = spec.race
    rates = {
        "race.sweep": race.sweep.target_throughput if race.sweep else [],
        "race.capacity": [race.capacity.target_throughput.last] if race.capacity else [],
    }
    for field, steps in (("race.sweep", race.sweep), ("race.capacity", race.capacity)):
        if steps is None or race.load is None:
            continue
        for part, text, longest in (
            ("duration", steps.duration, LONGEST_LOAD),
            ("warmup", steps.warmup, LONGEST_LOAD),
            ("interval", steps.interval, LONGEST_INTERVAL),
        ):
            if text and parse_duration(text) > parse_duration(longest):
                yield f"{field}.{part} {text} is too long over HTTP: write at most {longest}"
        if (most := max(rates[field], default=0.0)) > MOST_RATE:
            yield (
                f"{field}.targetThroughput goes up to {most:,.0f}/s, and k6 is asked for {MOST_RATE:,}/s at most: "
                "write lower rates"
            )


def _given_up_within_the_objective(spec: BenchmarkSpec) -> Iterator[str]:
    """Yield a sentence for an objective that answers would keep which no longer come: they are given up before."""
    race = spec.race
    for field, steps in (("race.sweep", race.sweep), ("race.capacity", race.capacity)):
        objective = steps.objective if steps else None
        if objective is None or race.load is None or objective.millis <= 1000 * race.load.timeout_seconds:
            continue
        yield (
            f"{field}.objective.{objective.percentile} {getattr(objective, objective.percentile)} is longer than "
            f"race.load.timeout {race.load.timeout}, after which a request is given up and has failed: write a longer "
            "timeout, or a shorter latency"
        )


def _measures_nothing(spec: BenchmarkSpec) -> Iterator[str]:
    """Yield a sentence for rates at which k6 sends nothing in the measured time; those of a search have their own."""
    race, load = spec.race, spec.race.load
    if load is None or race.capacity is not None:
        return
    field, rates = "race.load", [load.target_throughput] if load.target_throughput is not None else []
    seconds, warmup = (parse_duration(text).total_seconds() for text in (load.duration, load.warmup))
    if race.sweep is not None and (steps := steps_of_race(race)) is not None:
        field, rates = "race.sweep", race.sweep.target_throughput
        seconds, warmup = steps.duration_seconds or seconds, steps.warmup_seconds
    # No time at all is refused by the schema.
    loads = [HttpLoad(REQUESTS, seconds, 1, rate, warmup) for rate in sorted(rates) if seconds > 0]
    if idle := [it for it in loads if not it.measures_any]:
        needed = math.floor(max(it.measured_from for it in idle) - warmup) + 1
        enough = math.ceil(1e3 / seconds) / 1e3
        yield (
            f"{field}.targetThroughput {', '.join(f'{it.rate:g}' for it in idle)}: no request is sent in the "
            f"{seconds:g} s that are measured after a warm-up of {warmup:g} s: write a higher rate, {enough:g} or "
            f"more, or a duration of {needed}s"
        )


def _rates_below_one(spec: BenchmarkSpec) -> Iterator[str]:
    """Yield a sentence for rates of a sweep by Rally that plan less than a request for the time of their step."""
    sweep, steps = spec.race.sweep, steps_of_race(spec.race)
    if spec.race.load is not None or sweep is None or steps is None or not steps.duration_seconds:
        return
    seconds = steps.duration_seconds
    if low := [rate for rate in sorted(sweep.target_throughput) if rate * seconds * (1 + 1e-9) < 1]:
        yield (
            f"race.sweep.targetThroughput {', '.join(f'{rate:g}' for rate in low)}: less than one request in the "
            f"{seconds:g} s of a step: write rates of {math.ceil(1e3 / seconds) / 1e3:g} or more, or a longer duration"
        )


def _allowed_beside_a_search(spec: BenchmarkSpec) -> Iterator[str]:
    """Yield a sentence for each share of errors that a search would not keep to: its objective has its own."""
    capacity, allow, steps = spec.race.capacity, spec.race.allow, steps_of_race(spec.race)
    if capacity is None or allow is None or steps is None:
        return
    for task in sorted({capacity.task, *steps.names} & set(allow.error_rate)):
        yield (
            f"race.allow.errorRate.{task} means nothing beside race.capacity, whose objective says how many requests "
            "may fail: write race.capacity.objective.errorRate, and leave the task out of race.allow"
        )


def _larger(field: str, text: str | None, most: str) -> Iterator[str]:
    if text is not None and parse_quantity(text) > parse_quantity(most):
        yield f"{field} {text} is more than any machine has: write at most {most}"


def _maps(spec: BenchmarkSpec) -> dict[str, Mapping[str, Any]]:
    built, place, race = spec.elasticsearch, "target" if spec.target else "elasticsearch", spec.race
    found: dict[str, Mapping[str, Any]] = {
        "elasticsearch.config": built.config if built else {},
        f"{place}.index.settings": spec.index.settings if spec.index else {},
        "race.params": race.params,
        "race.clientOptions": race.client_options,
        "race.telemetryParams": race.telemetry_params,
        "race.userTags": race.user_tags,
    }
    for field, scheduling in (
        ("elasticsearch.scheduling", built.scheduling if built else None),
        ("race.scheduling", race.scheduling),
    ):
        found[f"{field}.nodeSelector"] = scheduling.node_selector if scheduling else {}
    return found


def _too_many_together(spec: BenchmarkSpec) -> list[str]:
    """Return what is wrong with the number of all values that have no schema, if anything is."""
    maps = {field: value for field, value in _maps(spec).items() if value}
    if not has_more_values([*maps.values()], MOST_SPEC_VALUES):
        return []
    return [
        f"{', '.join(maps)} have more than {MOST_SPEC_VALUES} values together: write fewer, and keep what is large in "
        "the track"
    ]


def _too_large_together(spec: BenchmarkSpec) -> Iterator[str]:
    """Yield a sentence when all that the race's pod is told is more than one environment variable takes."""
    race = spec.race
    steps = [steps_of_race(race)] * (2 if race.load else 1)  # over HTTP they are the loads, too
    parts: dict[str, Any] = {
        **{field: value for field, value in _maps(spec).items() if field.startswith("race.")},
        "index.settings": flatten(spec.index.settings) if spec.index else {},
        "race.sweep": [*steps, allowed_errors(race)],
        "race.includeTasks": race.include_tasks,
        "race.excludeTasks": race.exclude_tasks,
        "race.requireTasks": race.require_tasks,
        "race.expect": race.expect.documents if race.expect else {},
        "race.probes": [(it.name, it.path, it.pointer, it.weight, it.part, it.rest) for it in race.probes],
        "race.load.headers": race.load.headers if race.load else {},
        "hosts": [
            *(spec.target.hosts if spec.target else ()),
            *(race.metrics_store.hosts if race.metrics_store else ()),
        ],
    }
    sizes = {field: len(compact_json(value).encode()) for field, value in parts.items()}
    if sum(sizes.values()) > MOST_BYTES:
        largest = ", ".join(f"{field} {sizes[field] >> 10}" for field in sorted(sizes, key=lambda it: -sizes[it])[:2])
        yield (
            f"race is {sum(sizes.values()) >> 10} KiB in UTF-8, and its pod can be told {MOST_BYTES >> 10} at most; "
            f"the largest parts in KiB: {largest}: write less, and keep what is large in a file of the track"
        )


def _too_much(data: Mapping[str, Any], *, dotted: bool) -> str:
    """Return what is wrong with a value, and what to write, or ""; goes through it without recursion.

    `dotted`: each of its settings is sent by its whole name, those of the levels above included.
    """
    characters, level = 0, [(data, 0)]
    for _ in range(MOST_LEVELS):
        below: list[tuple[Any, int]] = []
        for value, above in level:
            keys = list(value) if isinstance(value, Mapping) else ()
            characters += sum(map(len, keys))
            if "" in keys:
                return "has an empty key: write a name"
            if longest := next((key for key in keys if len(key) > MOST_KEY), ""):
                return f"has a key of {len(longest)} characters ({longest[:40]}…): write at most {MOST_KEY}"
            for key, item in value.items() if isinstance(value, Mapping) else (("", item) for item in value):
                if isinstance(item, Mapping | list):
                    below.append((item, above + len(key) + 1))
                # Each takes some room, an empty text, too.
                characters += (max(len(item), 4) if isinstance(item, str) else 4) + (above if dotted else 0)
        if characters > MOST_CHARACTERS:
            return f"is larger than {MOST_CHARACTERS >> 10} KiB: write less, and keep what is large in the track"
        if not below:
            return ""
        level = below
    return f"is nested more than {MOST_LEVELS} levels deep: write it flatter"
