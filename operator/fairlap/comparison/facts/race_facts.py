"""The effective state of a raced Benchmark as flat facts: what was asked for, what ran, and on which machines. Pure.

A fact's name is a path that is the same whenever the same thing is meant: no name that is new for each race is in it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from fairlap.api.image_digest import PULLED, image_digests
from fairlap.api.names import is_race
from fairlap.comparison.facts.fact_bound import MOST_FACTS, within_bound
from fairlap_race.contract.address_secrets import git_holds_credentials, shown
from fairlap_race.contract.index_settings import stream_of
from fairlap_race.contract.recorded.http_record import hits_digest
from fairlap_race.contract.recorded.record import EnvironmentRecord, Record
from fairlap_race.contract.recorded.request_evidence import AFTER
from fairlap_race.contract.secret_flags import without_secret

_MOST_TASKS, _MOST_CORPORA = 300, 100
_NOT_FLAT = {
    "rallyPollIntervals", "indices", "storage", "jvmFlags", "trackParams", "machines", "differences",
}  # fmt: skip
_FOR_PEOPLE = ("ran: corpora[", "ran: plugins[")
"""Lines of the status of which the record has the parts: the facts are those."""
_NAME_OF_A_NODE = "node"
_NAMES_OF_CORES = ("cpus", "cpuNumaNodes")
_SAME_STORAGE = ("kind", "className", "provisioner", "parameters", "capacity", "fileSystem", "mountOptions")
"""What two volumes have in common; names and fill are never the same."""
_DEFAULT_OF_A_PIN = ("spec.elasticsearch.scheduling.exclusiveNodes", False)
"""What the API server adds to a scheduling that only binds a block's later races to the first one's machines."""
_UNNAMED_BY_OLDER_JAVA = "G1 Concurrent GC"
"""A part of G1 that Java 21 names and Java 17, with the same collector, does not."""
_OF_AN_INDEX = ("shards", "replicas", "codec", "algorithm")
_VALUED_FLAG = re.compile(r"(?P<name>-(?:XX:|D|Xlog:)?[^=:]+)[=:](?P<value>.*)")
_ANSWER = re.compile(r"ran: (task .+: (hits|answer to .+)|index .+: mapping)", re.DOTALL)
_COUNT = re.compile(r"[0-9]{1,15}")
_LINE = re.compile(r"ran: request \d+: hits")
_LINES: Final = "ran: number of requests"
LINES_READ: Final = "ran: lines whose hits were read"
LOAD_FROM: Final = "ran: machine of the load generator"
_RACE_IMAGE: Final = "ran: rallyImage"
_IMAGES: Final = ("ran: images[", "ran: loaded images[")
_SIZE_FLAG = re.compile(r"(?P<name>-Xm[sxn]|-Xss)(?P<value>\d.*)")


def facts(benchmark: Mapping[str, Any]) -> dict[str, str]:
    """Return all that is known of how a Benchmark raced, as texts by path: what was asked for, what ran, and where."""
    status = benchmark.get("status") or {}
    ran = [(path, value) for path, value in effective(benchmark) if not path.startswith(_FOR_PEOPLE)]
    known = [(path, value) for path, value in ran if value not in (None, {}, [])]
    found = {path: as_text(value) for path, value in known if (path, value) != _DEFAULT_OF_A_PIN}
    found |= {path: as_text(value) for path, value in _raced(status)}
    for name, wait in ((status.get("environment") or {}).get("rallyPollIntervals") or {}).items():
        found[f"ran: Rally's wait {name}"] = as_text(wait)
    return within_bound(with_digests(found))


def with_digests(facts: Mapping[str, str]) -> dict[str, str]:
    """Return facts in which an image is its digest alone, and pulled ones have another path than loaded ones.

    What an older operator kept has one of the names, too, that a machine may have for the same image.
    """
    images = image_digests(value for path, value in facts.items() if path.startswith(_IMAGES))
    pulled = [digest for digest in images if digest.startswith(PULLED)]
    loaded = [digest for digest in images if not digest.startswith(PULLED)]
    by_digest = {
        f"{beginning}{number}]": digest
        for beginning, digests in zip(_IMAGES, (pulled, loaded), strict=True)
        for number, digest in enumerate(digests)
    }
    found: dict[str, str] = {}
    for path, value in facts.items():
        found |= by_digest if path.startswith(_IMAGES) else {path: value}
    if _RACE_IMAGE in found:
        found[_RACE_IMAGE] = ", ".join(image_digests(found[_RACE_IMAGE].split(", ")))
    return found


def record_facts(record: Record) -> dict[str, str]:
    """Return what the record of a race knows beyond the status, as texts by path; what is not known is not there."""
    parts = (
        _of_corpora, _of_plugins, _of_nodes, _of_load_generator, _of_tasks, _of_answers, _of_requests, _of_settings,
    )  # fmt: skip
    return within_bound(dict(_known(record, parts)))


def listed_facts(record: Record) -> dict[str, str]:
    """Return of what the record knows only its documents and plugins, of which the status has lines for people."""
    return dict(islice(_known(record, (_of_corpora, _of_plugins)), MOST_FACTS))


def answer_facts(record: Record) -> dict[str, str]:
    """Return of what the record knows only what was found and how it was mapped: answers come before speed."""
    known = _known(record, (_of_tasks, _of_answers, _of_settings))
    return dict(islice((it for it in known if _ANSWER.fullmatch(it[0])), MOST_FACTS))


def _known(record: Record, parts: Iterable[Callable[[Record], Iterator[tuple[str, Any]]]]) -> Iterator[tuple[str, str]]:
    found = {path: as_text(value) for part in parts for path, value in part(record) if value is not None}
    yield from found.items()


def _of_corpora(record: Record) -> Iterator[tuple[str, Any]]:
    corpora = record.track.corpora[:_MOST_CORPORA]
    yield from ((f"ran: corpora[{number}]", corpus.content) for number, corpus in enumerate(corpora))


def _of_plugins(record: Record) -> Iterator[tuple[str, Any]]:
    yield from ((f"ran: plugin {name}", version) for name, version in _plugins(record.environment).items())


def _plugins(environment: EnvironmentRecord) -> Mapping[str, str]:
    """Return the version of each plugin by its name; in the lines of an older runner the name ends at a blank."""
    if environment.plugin_versions is not None:
        return environment.plugin_versions
    lines = [line.partition(" ") for line in environment.plugins or ()]
    return {name: version for name, _, version in lines}


def _of_nodes(record: Record) -> Iterator[tuple[str, Any]]:
    environment = record.environment
    yield "ran: build flavour", environment.build_flavor
    for what, values in (
        ("processors", [node.processors for node in environment.nodes]),
        ("memory", [node.memory_bytes for node in environment.nodes]),
        ("memory limit", [node.memory_limit_bytes for node in environment.nodes]),
        ("heap", [node.heap_bytes for node in environment.nodes]),
        ("kernel", [node.kernel for node in environment.nodes]),
        ("processors of the machine", [node.machine_processors for node in environment.nodes]),
    ):
        yield f"ran: each node's {what}", _each(values)
    largest = [dict(jvm_flags(node.jvm_arguments)).get("ran: JVM flag -Xmx") for node in environment.nodes]
    yield "ran: each node's JVM flag -Xmx", _each(largest) if None not in largest else None
    properties = (flag for node in environment.nodes[:1] for flag in node.jvm_arguments if not flag.startswith("-X"))
    yield from jvm_flags(properties)


def _each(values: Iterable[Any]) -> str | None:
    """Return the values that are known, in order, each once; None when none is."""
    return ", ".join(str(value) for value in sorted({value for value in values if value is not None})) or None


def _of_settings(record: Record) -> Iterator[tuple[str, Any]]:
    environment = record.environment
    yield from ((f"ran: module {name}", "there") for name in environment.modules or ())
    yield from ((f"ran: cluster setting {key}", value) for key, value in (environment.cluster_settings or {}).items())
    yield from ((f"ran: node setting {key}", value) for key, value in (environment.node_settings or {}).items())
    for index in record.indices or ():
        name = f"ran: index {stable_index(index.name)}"
        yield f"{name}: mapping", index.mapping_digest
        yield from ((f"{name}: setting {key}", value) for key, value in index.explicit.items())
        yield from ((f"{name}: default {key}", value) for key, value in index.defaults.items())
        if not index.defaults:
            yield f"{name}: digest of settings", index.settings_digest


def _of_load_generator(record: Record) -> Iterator[tuple[str, Any]]:
    host = record.environment.load_generator
    yield "ran: load generator's cores", host.cores
    yield "ran: load generator's CPU limit", host.cpu_limit
    yield "ran: load generator's memory limit", host.memory_limit_bytes
    yield "ran: load generator's kernel", host.kernel
    yield "ran: load generator's CPU", host.cpu_model
    yield "ran: load generator's Python", host.python_version


def _of_tasks(record: Record) -> Iterator[tuple[str, Any]]:
    probes = record.probe_names
    tasks = [task for task in record.track.tasks if task.name not in probes]
    planned = {task.name: f"{task.operation}, {task.clients} clients" for task in tasks}
    if len(planned) <= _MOST_TASKS:
        yield from ((f"ran: task {name}: plan", plan) for name, plan in planned.items())
    else:
        yield "ran: task plans' digest", hashlib.sha256(json.dumps(planned, sort_keys=True).encode()).hexdigest()
    for measured in record.comparable_tasks[:_MOST_TASKS]:
        yield f"ran: task {measured.task}: target throughput", measured.target_throughput
        if measured.fewest_hits == measured.most_hits:  # else its queries are drawn by lot
            yield f"ran: task {measured.task}: hits", measured.fewest_hits


def _of_answers(record: Record) -> Iterator[tuple[str, Any]]:
    """Yield what searches found, where the data alone decides it; races that asked otherwise have it by other names.

    How many probes a search takes follows from its race, so that of them the first one alone tells.
    """
    repeated = record.probe_names - set(record.track.sweep.names[:1] if record.track.sweep else ())
    answers = [it for it in (record.requests.answers if record.requests else ()) if it.task not in repeated]
    for answer in [it for it in answers if it.when == AFTER and it.request and it.settled and it.complete][
        :_MOST_TASKS
    ]:
        about = f"ran: task {answer.task}: answer to {answer.request}"
        yield f"{about}: hits", answer.hits if answer.hits_exact else None
        yield f"{about}: content", answer.content


def _of_requests(record: Record) -> Iterator[tuple[str, Any]]:
    """Yield what the requests of a race over HTTP found, line by line of their file."""
    if record.http is None:
        return
    yield _LINES, record.http.requests
    hits = record.http.hits
    if hits is None:
        return
    lines = hits.lines
    yield LINES_READ, hits.asked
    if hits.digest or (lines and not hits.why and len(lines) >= (record.http.requests or 0)):
        yield "ran: hits of all requests", hits.digest or hits_digest(lines)
    yield from ((f"ran: request {line}: hits", hits) for line, hits in enumerate(lines, start=1))


def lines_read(facts: Mapping[str, Sequence[str]]) -> tuple[int, int]:
    """Return of how many lines of its requests a variant's hits are known, and how many it has, by its races' facts.

    `facts`: the values of each over the races. One race that read more tells of all: they send the same file. Facts of
    an older operator have no number, and a line for each that was read.
    """
    told, lines = ([int(it) for it in facts.get(path, ()) if _COUNT.fullmatch(it)] for path in (LINES_READ, _LINES))
    return max([*told, sum(1 for path in facts if _LINE.fullmatch(path))]), max(lines, default=0)


def _track_params(spec: Mapping[str, Any], params: Any) -> Iterator[tuple[str, Any]]:
    """Yield the track's parameters; those that the operator added carry the index settings that were asked for."""
    place = spec.get("elasticsearch") or spec.get("target") or {}
    written = (spec.get("race") or {}).get("params") or {}
    if not place.get("index") or not isinstance(params, Mapping):
        yield from leaves("ran: track parameter", params)
        return
    for key, value in params.items():
        said = "" if key in written else "index settings as "
        yield from leaves(f"ran: {said}track parameter.{key}", value)


def effective(benchmark: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what was asked for and what ran: its path and its value, as the Benchmark has it."""
    if benchmark.get("spec"):
        yield from spec_leaves("spec", benchmark["spec"])
    environment = (benchmark.get("status") or {}).get("environment") or {}
    for key, value in environment.items():
        if key == "gc" and isinstance(value, list):
            yield from leaves("ran: gc", [name for name in value if name != _UNNAMED_BY_OLDER_JAVA])
        elif key not in _NOT_FLAT:
            yield from leaves(f"ran: {key}", value)
    if params := _parsed(environment.get("trackParams") or "{}"):
        yield from _track_params(benchmark.get("spec") or {}, params)
    yield from jvm_flags(environment.get("jvmFlags") or ())
    documents: Counter[str] = Counter()
    for index in environment.get("indices") or ():
        name = f"ran: index {stable_index(str(index.get('name')))}"
        if "documents" in index:
            documents[name] += index["documents"]
            yield f"{name}: documents", documents[name]  # of a data stream the last one is the sum
        yield from ((f"{name}: {key}", index[key]) for key in _OF_AN_INDEX if key in index)
        yield from ((f"{name}: setting {key}", value) for key, value in (index.get("settings") or {}).items())
    yield from _machines(environment)


def _machines(environment: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what the machines and the volumes are, without the names of nodes and claims, which are never the same."""
    for number, machine in enumerate(environment.get("machines") or ()):
        for key in machine:
            if key not in (_NAME_OF_A_NODE, *_NAMES_OF_CORES):
                yield from leaves(f"ran: machines[{number}].{key}", machine[key])
    for number, volume in enumerate(environment.get("storage") or ()):
        for key in _SAME_STORAGE:
            if key in volume:
                yield from leaves(f"ran: storage[{number}].{key}", volume[key])


def jvm_flags(flags: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each flag of a JVM by its name, and its value: -XX:+UseG1GC is -XX:UseG1GC with on; the last one counts."""
    for flag in flags:
        if flag.startswith(("-XX:+", "-XX:-")):
            yield f"ran: JVM flag -XX:{flag[5:]}", "on" if flag[4] == "+" else "off"
        elif not flag.startswith("--") and (valued := _SIZE_FLAG.fullmatch(flag) or _VALUED_FLAG.fullmatch(flag)):
            yield f"ran: JVM flag {valued['name']}", valued["value"]
        else:
            yield f"ran: JVM flag {flag}", "on"


def stable_index(name: str) -> str:
    """Return an index's name; of a data stream's backing index, named by its day and number, that of the stream."""
    stream = stream_of(name)
    return f"{stream} (data stream)" if stream else name


def spec_leaves(path: str, spec: Any) -> Iterator[tuple[str, Any]]:
    """Yield every value of a spec as `leaves` does, for others to read."""
    return ((each, readable(value)) for each, value in leaves(path, spec))


def readable(value: Any) -> Any:
    """Return a value of a spec for others to read: JVM options and addresses in it without what is a secret.

    Facts of an older operator have it as it was asked for; one that is readable already is the same.
    """
    if isinstance(value, Mapping):
        return {key: readable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [readable(item) for item in value]
    if not isinstance(value, str):
        return value
    return shown(value, "an address") if git_holds_credentials(value) else without_secret(value)


def leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every value in nested mappings and lists that has none below it, with its path; an empty one is a value."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from leaves(f"{path}.{key}", item)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from leaves(f"{path}[{number}]", item)
    else:
        yield path, value


def as_text(value: Any) -> str:
    """Return a value of JSON as a text; a text is itself."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _raced(status: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what the status says of the races beside the environment: the track, its challenge, and the machines."""
    for key in ("track", "challenge"):
        if status.get(key):
            yield f"ran: {key}", status[key]
    for name, value in (status.get("nodeSettings") or {}).items():
        yield f"ran: setting given to the nodes {name}", value
    target = status.get("target") or {}
    yield from ((f"ran: target {key}", target[key]) for key in ("clusterName", "clusterUUID") if key in target)
    races = [race for race in status.get("races") or () if is_race(str(race.get("name")))]
    machines = sorted({name for race in races for name in race.get("elasticsearchOn") or ()})
    if machines:
        yield "ran: machines of Elasticsearch", ", ".join(machines)
    generators = sorted({str(race["loadGeneratorOn"]) for race in races if race.get("loadGeneratorOn")})
    if generators:
        yield LOAD_FROM, ", ".join(generators)


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):  # cut short because it was long
        return text
