"""What may differ beside what is compared: a row for each kind of fact; which paths of a spec are one variable. Data.

A variable is what one question changes: `elasticsearch.java`, say, or `elasticsearch.version` together with its image.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache
from typing import Final, Literal, NamedTuple

Rule = Literal["Declared", "MustMatch", "MayFollow", "FollowsRelease", "RecordOnly"]

VERSION, IMAGE, JAVA, HEAP, JVM_OPTIONS = "version", "image", "java", "heap", "jvmOptions"
RESOURCES, STORAGE, CONFIG, NODES, MACHINES, TARGET = "resources", "storage", "config", "nodes", "machines", "target"
SHARDS, REPLICAS, CODEC, SOURCE_MODE, SETTINGS = "shards", "replicas", "codec", "sourceMode", "index settings"
PARAMS, LOAD_GENERATOR, REQUESTS, WORK, NONE = "track parameters", "load generator", "requests", "work", ""
STEADY = "longest warm-up"
RELEASE: Final = (VERSION, IMAGE)
"""What decides which Elasticsearch runs: the image of another version is that version's, no variable of its own."""

VARIABLES: Final[tuple[tuple[str, str], ...]] = (
    (r"elasticsearch\.version\b", VERSION),
    (r"elasticsearch\.image\b", IMAGE),
    (r"elasticsearch\.java\b", JAVA),
    (r"elasticsearch\.heap\b", HEAP),
    (r"elasticsearch\.jvmOptions\b", JVM_OPTIONS),
    (r"elasticsearch\.nodes\b", NODES),
    (r"elasticsearch\.resources\b", RESOURCES),
    (r"elasticsearch\.storage\b", STORAGE),
    (r"elasticsearch\.config\.cluster\.logsdb\b", SETTINGS),
    (r"elasticsearch\.config\b", CONFIG),
    (r"elasticsearch\.scheduling\b", MACHINES),
    (r"(elasticsearch|target)\.index\.shards\b", SHARDS),
    (r"(elasticsearch|target)\.index\.replicas\b", REPLICAS),
    (r"(elasticsearch|target)\.index\.codec\b", CODEC),
    (r"(elasticsearch|target)\.index\.sourceMode\b", SOURCE_MODE),
    (r"(elasticsearch|target)\.index\b", SETTINGS),
    (r"target\b", TARGET),
    (r"race\.params\b", PARAMS),
    (r"race\.(clientOptions|resources|scheduling)\b", LOAD_GENERATOR),
    (r"race\.(track|challenge|includeTasks|excludeTasks|telemetry|telemetryParams|downSampling|allow|probes)\b", WORK),
    (r"race\.requests\b", REQUESTS),
    (r"race\.(load|sweep|capacity)\b", WORK),
    (r"race\.steady\b", STEADY),
    (r"race\.(corpora|offline|userTags|requireTasks|expect|samples|metricsStore)\b", NONE),
    (
        r"(repetitions|smokeTest|checkedBy|inTurn|racedAgain|keepCluster|keepClusterFor|timeouts|ttlAfterFinished"
        r"|rerunHistoryLimit|imagePullSecrets)\b",
        NONE,
    ),
    (r"suspend\b", NONE),
)
"""Which variable a path of a Benchmark's spec belongs to, the first that fits; none changes no race.

`cluster.logsdb` says of which mode the indices are (elasticsearch: LogsdbIndexModeSettingsProvider).
"""

TOGETHER: Final = (frozenset({REPLICAS, NODES}), frozenset({TARGET, REQUESTS}))
"""Variables that are one question together: each copy of a shard needs a node of its own, and each engine its words."""


class FactRow(NamedTuple):
    """A kind of fact, and what it means when it differs."""

    pattern: str
    """of the fact's path, from its beginning to its end"""
    what: str = ""
    """how people call it; "" is its path"""
    is_part_of: tuple[str, ...] = ()
    """variables that directly are it: it differs because they were declared to"""
    follows: tuple[str, ...] = ()
    """variables that it follows where nobody holds it"""
    by_release: bool = False
    """a default of the releases themselves, which follows the version, or the image"""
    by_cluster: bool = True
    """where the variable is the cluster as a whole, it is part of it"""
    of_machine: bool = False
    """as the machine has it: compared within a block alone, since blocks rotate over the machines"""
    of_installation: bool = False
    """as the installation has it: compared within a block alone, since an upgrade may come between two blocks"""
    only_values: bool = False
    """follows the version where both have it, with other values; one without the other is no default"""
    recorded: bool = False
    """never the same, and never compared"""
    where_known: bool = False
    """compared only between races that both have it"""
    better_told_by: str = ""
    """another fact that says the same without what is told by the way: where that is known this is only recorded"""
    fold: bool = False
    """many of them are one line"""
    line: str = ""
    """what to write so that it no longer differs"""
    workload: bool = False
    """what was raced, rather than on what: races that differ in it are not even set beside each other"""

    @property
    def of_block(self) -> bool:
        """Compared within a block alone: what both sides of each block share does no harm."""
        return self.of_machine or self.of_installation


_WORKLOAD = "this is what is raced, not what is compared: write it in the template, and nowhere else"
_INSTALLATION = (
    "the installation was changed between the races, or one of two machines pulled the race's image and the other had "
    "it loaded: have it alike on all, and compare again"
)
_ANSWERS = "another number of answers is another question: look whether requests failed, and why, before any time"
_SAME_MACHINES = "all races of a block belong on the same machines: write template.elasticsearch.scheduling"
_HOLD_HEAP = "write elasticsearch.heap, for example heap: 1g, in the template to hold it"
_HOLD_CPU = "write elasticsearch.resources.limits.cpu in the template to hold it"
_HOLD_MEMORY = "write elasticsearch.resources.limits.memory in the template to hold it"
_LARGEST_HEAP = "ran: JVM flag -Xmx"

ROWS: Final[tuple[FactRow, ...]] = (
    # What is raced.
    FactRow(r"ran: (track|trackDigest|trackRepository|trackRevision)", is_part_of=(REQUESTS,), by_cluster=False,
        line=_WORKLOAD, workload=True),
    FactRow(r"ran: (challenge|corpora\[\d+\])", by_cluster=False, line=_WORKLOAD, workload=True),
    FactRow(r"ran: number of requests", by_cluster=False, workload=True,
        line="line by line the files ask the same: give them as many lines"),
    # How many follows from the engine's pace; that it is all of them is asked where the requests are what differs.
    FactRow(r"ran: lines whose hits were read", recorded=True),
    FactRow(r"ran: (request \d+: hits|hits of all requests)", "answers to requests", by_cluster=False, where_known=True,
        fold=True, workload=True, line="leave out the lines, of all files, that do not find as much everywhere"),
    FactRow(r"ran: (track parameter.*|task .+: (plan|target throughput)|task plans' digest)", is_part_of=(PARAMS,),
        by_cluster=False, line=_WORKLOAD, workload=True),
    FactRow(r"ran: index settings as track parameter.*", line=_WORKLOAD,
        is_part_of=(SHARDS, REPLICAS, CODEC, SOURCE_MODE, SETTINGS)),
    FactRow(r"ran: (rallyVersion|k6Version)", by_cluster=False, of_installation=True, workload=True,
        line=_INSTALLATION),
    FactRow(r"ran: (operator|rallyImage|Rally's wait .+)", by_cluster=False, of_installation=True, line=_INSTALLATION),
    FactRow(r"ran: index .+: documents", by_cluster=False, line=_ANSWERS, workload=True),
    FactRow(r"ran: task .+: answer to [0-9a-f]+: (hits|content)", "answers to searches", by_cluster=False,
        where_known=True, fold=True, line=_ANSWERS, workload=True),
    FactRow(r"ran: task .+: hits", by_cluster=False, where_known=True, line=_ANSWERS, workload=True),
    # The release, and Java.
    FactRow(r"ran: version", "Elasticsearch", RELEASE),
    FactRow(r"ran: buildHash", "build", RELEASE),
    FactRow(r"ran: build flavour", "build flavour", RELEASE),
    FactRow(r"ran: (loaded )?images\[\d+\]", "image", RELEASE, fold=True),
    FactRow(r"ran: luceneVersion", "Lucene", by_release=True),
    FactRow(r"ran: (java|jvm\[\d+\])", "Java", (JAVA,), RELEASE, fold=True,
        line="write elasticsearch.java: 21 in the template to hold it"),
    FactRow(r"ran: gc\[\d+\]", "garbage collector", (JVM_OPTIONS,), (*RELEASE, JAVA, HEAP, RESOURCES), fold=True,
        line="write elasticsearch.jvmOptions: [-XX:+UseG1GC] in the template to hold it"),
    FactRow(r"ran: JVM flag -Xm[sx]", "heap", (HEAP,), (*RELEASE, JAVA, RESOURCES, NODES), fold=True,
        line=_HOLD_HEAP),
    FactRow(r"ran: each node's JVM flag -Xmx", "heap", (HEAP,), (*RELEASE, JAVA, RESOURCES, NODES),
        where_known=True, fold=True, line=_HOLD_HEAP),
    # Java leaves a survivor space out with some collectors, and with Parallel its size changes from race to race.
    FactRow(r"ran: (heapBytes|each node's heap|nodeData\[\d+\]\.heapBytes|node setting node\.attr\.ml\.max_jvm_size)",
        "heap as Java tells it", (HEAP,), (*RELEASE, JAVA, RESOURCES, NODES), fold=True,
        better_told_by=_LARGEST_HEAP, line=_HOLD_HEAP),
    FactRow(r"ran: JVM flag (-Djava\.io\.tmpdir|-XX:ErrorFile|-XX:HeapDumpPath|-Xlog.*|-Des\.path\..+)",
        "paths in the JVM's flags", recorded=True, fold=True),
    FactRow(r"ran: JVM flag .+", "JVM flags", (JVM_OPTIONS,), (JAVA, HEAP, RESOURCES), by_release=True, fold=True,
        line="write elasticsearch.jvmOptions in the template to hold one of them"),
    FactRow(r"ran: plugin .+", is_part_of=(IMAGE,), by_release=True, only_values=True,
        line="use images with the same plugins for all variants: elasticsearch.image"),
    FactRow(r"ran: module .+", "modules", by_release=True, fold=True),
    # The cluster.
    FactRow(r"ran: nodes", "number of nodes", (NODES,)),
    FactRow(r"ran: qosClass", "quality-of-service class", (RESOURCES,)),
    FactRow(r"ran: target cluster(Name|UUID)", "cluster", (TARGET,), fold=True),
    FactRow(r"ran: httpHosts\[\d+\]", "hosts", (TARGET,), fold=True),
    FactRow(r"ran: cluster setting .+", "cluster settings", (CONFIG,), (PARAMS,), by_release=True, fold=True,
        line="have the track, or the cluster's owner, set it alike for all variants"),
    FactRow(r"ran: node setting index\.codec", "codec given to the nodes", (CODEC, CONFIG)),
    FactRow(r"ran: node setting (index|cluster\.logsdb)\..+", "index settings given to the nodes", (SETTINGS, CONFIG),
        by_release=True, fold=True, line="write it in elasticsearch.index.settings of the template to hold it"),
    FactRow(r"ran: node setting node\.attr\.ml\.(machine_memory|allocated_processors(_double)?)",
        "memory and processors for machine learning", (RESOURCES, JVM_OPTIONS, CONFIG, NODES, MACHINES),
        (*RELEASE, JAVA, LOAD_GENERATOR), of_machine=True, fold=True,
        line="write elasticsearch.resources.limits in the template to hold it"),
    FactRow(r"ran: node setting .+", "settings of the nodes", (CONFIG, STORAGE, NODES), by_release=True, fold=True,
        line="write it in elasticsearch.config of the template to hold it"),
    FactRow(r"ran: setting given to the nodes index\.codec", "codec given to the nodes", (CODEC,)),
    FactRow(r"ran: setting given to the nodes .+", "index settings given to the nodes", (SETTINGS,), fold=True,
        line="write it in elasticsearch.index.settings of the template to hold it"),
    # The indices.
    FactRow(r"ran: index .+: (shards|(setting|default) index\.number_of_shards)", "primary shards",
        (SHARDS, SETTINGS, PARAMS), by_cluster=False, fold=True,
        line="write elasticsearch.index.shards in the template to hold it"),
    FactRow(r"ran: index .+: default index\.number_of_routing_shards", "routing shards by default",
        (SHARDS, SETTINGS, PARAMS), by_release=True, fold=True),
    FactRow(r"ran: index .+: (replicas|(setting|default) index\.(number_of_replicas|auto_expand_replicas))", "replicas",
        (REPLICAS, SETTINGS, PARAMS), (NODES,), by_cluster=False, fold=True,
        line="write elasticsearch.index.replicas in the template to hold it"),
    FactRow(r"ran: index .+: (codec|(setting|default) index\.codec)", "codec", (CODEC, SETTINGS, CONFIG, PARAMS),
        RELEASE, by_cluster=False, fold=True, line="write elasticsearch.index.codec in the template to hold it"),
    FactRow(r"ran: index .+: algorithm", "compression", (CODEC, SETTINGS, CONFIG, PARAMS), RELEASE, fold=True,
        line="best_compression is DEFLATE before 8.16 and ZSTD since: write elasticsearch.index.codec: default in the "
        "template, which is LZ4 in all versions, to hold it"),
    FactRow(r"ran: index .+: (setting|default) index\.mapping\.source\.mode", "source mode",
        (SOURCE_MODE, SETTINGS, PARAMS), RELEASE, fold=True,
        line="write elasticsearch.index.sourceMode: stored in the template to hold it"),
    FactRow(r"ran: index .+: (setting|default) index\.mode", "index mode", (SETTINGS, PARAMS), RELEASE, fold=True,
        line="write elasticsearch.index.settings: {mode: standard} in the template to hold it"),
    FactRow(r"ran: index .+: setting index\.(routing\.allocation\.include\._tier_preference|version\..+|hidden"
        r"|recovery\..+|sort\..+|data_stream\..+)", "index settings that Elasticsearch writes itself",
        (SETTINGS, PARAMS, SOURCE_MODE, CONFIG), by_release=True, fold=True),
    FactRow(r"ran: index .+: setting .+", "index settings", (SETTINGS, PARAMS), fold=True,
        line="write it in elasticsearch.index.settings of the template to hold it"),
    FactRow(r"ran: index .+: default index\.merge\.scheduler\.max_(thread|merge)_count", "merges at once by default",
        (RESOURCES, JVM_OPTIONS, CONFIG, SETTINGS, PARAMS), (JAVA, NODES, MACHINES, LOAD_GENERATOR), by_release=True,
        of_machine=True, fold=True, line=f"it follows from the processors of a node: {_HOLD_CPU}"),
    FactRow(r"ran: index .+: default .+", "index settings by default", (SETTINGS, PARAMS, SOURCE_MODE, CODEC, CONFIG),
        by_release=True, fold=True),
    # All of them at once, those that follow from the machine included.
    FactRow(r"ran: index .+: digest of settings", "digest of index settings",
        (SETTINGS, PARAMS, SOURCE_MODE, CODEC, CONFIG, SHARDS, REPLICAS, RESOURCES, JVM_OPTIONS),
        (JAVA, NODES, MACHINES, LOAD_GENERATOR), by_release=True, of_machine=True, fold=True,
        line="write elasticsearch.index.replicas and elasticsearch.resources.limits.cpu in the template to hold them"),
    FactRow(r"ran: index .+: mapping", "mapping", (SETTINGS, PARAMS, SOURCE_MODE), by_cluster=False, fold=True,
        line="name all fields and their types in the track's index or template, so that all variants have the same"),
    # The machines.
    FactRow(r"ran: machines of Elasticsearch", "machines of Elasticsearch", (MACHINES, NODES), of_machine=True,
        line=_SAME_MACHINES),
    FactRow(r"ran: machine of the load generator", "machine of the load generator", (LOAD_GENERATOR,), by_cluster=False,
        of_machine=True, line="all races of a block belong on the same machines: write template.race.scheduling"),
    # Java counts them: from what it may use of the machine, for older ones the CPU request too, or as it is told.
    FactRow(r"ran: each node's processors", "processors of a node", (RESOURCES, CONFIG, JVM_OPTIONS),
        (*RELEASE, JAVA, NODES, MACHINES, LOAD_GENERATOR), of_machine=True, fold=True, line=_HOLD_CPU),
    FactRow(r"ran: each node's processors of the machine", "processors that Java sees",
        (RESOURCES, JVM_OPTIONS, NODES, MACHINES), (*RELEASE, JAVA, LOAD_GENERATOR), of_machine=True, fold=True,
        line=_HOLD_CPU),
    # Older releases and Javas do not know of control groups, or of their second version.
    FactRow(r"ran: (each node's memory( limit)?|nodeData\[\d+\]\.memoryBytes)", "memory of a node",
        (RESOURCES, JVM_OPTIONS, NODES, MACHINES), (*RELEASE, JAVA), of_machine=True, fold=True, line=_HOLD_MEMORY),
    FactRow(r"ran: machines\[\d+\]\.settings\..+", "settings of the machines",
        (MACHINES, RESOURCES, NODES, LOAD_GENERATOR), of_machine=True, fold=True,
        line="set all machines up alike, and change nothing of it during a Comparison: " + _SAME_MACHINES),
    FactRow(r"ran: (each node's kernel|machines\[\d+\]\..+)", "machines", (MACHINES, RESOURCES, NODES, LOAD_GENERATOR),
        of_machine=True, fold=True, line=_SAME_MACHINES),
    FactRow(r"ran: load generator's cores", "load generator's processors", (LOAD_GENERATOR,),
        (RESOURCES, NODES, MACHINES, TARGET), by_cluster=False, of_machine=True,
        line="Elasticsearch's whole processors leave it fewer: write template.race.resources.limits.cpu: 1 to hold it"),
    FactRow(r"ran: load generator's .+", "load generator", (LOAD_GENERATOR,), by_cluster=False, of_machine=True,
        fold=True, line="write template.race.resources and template.race.scheduling for all variants"),
    FactRow(r"ran: storage\[\d+\]\..+", "storage", (STORAGE, NODES), (MACHINES,), of_machine=True, fold=True,
        line="write elasticsearch.storage in the template to hold it"),
    # Names and fill of each node: never the same, and an answer rather than a condition.
    FactRow(r"ran: nodeData\[\d+\]\..+", "names and data of the nodes", recorded=True, fold=True),
)  # fmt: skip

UNKNOWN_TO_THE_TABLE: Final = FactRow(".*", by_cluster=False)
"""What no row speaks of must match."""
_ROWS: Final = tuple((re.compile(row.pattern, re.DOTALL), row) for row in ROWS)
_VARIABLES: Final = tuple((re.compile(pattern), variable) for pattern, variable in VARIABLES)
_BINDING: Final = re.compile(r"spec\.(elasticsearch|race)\.scheduling\.(machines|avoidMachines)\b")
"""what a Comparison writes into the specs of a block's races itself"""


def row_of(path: str) -> FactRow:
    """Return the row that speaks of a fact of a raced Benchmark, by its path."""
    if path.startswith("spec."):
        return _unimportant(path) if _BINDING.match(path) else row_of_field(path.removeprefix("spec."))
    return _known_row(path) if len(path) <= _LONGEST_REMEMBERED else _row(path)


def _row(path: str) -> FactRow:
    return next((row for pattern, row in _ROWS if pattern.fullmatch(path)), UNKNOWN_TO_THE_TABLE)


# Races mostly have the same facts, each of which is asked for again and again.
_LONGEST_REMEMBERED = 200
_known_row = lru_cache(maxsize=4096)(_row)


def variable_of(path: str) -> str:
    """Return the variable that a path of a spec is of, "" if it changes no race; an unknown path is its own."""
    return next((variable for pattern, variable in _VARIABLES if pattern.match(path)), path)


def is_condition(path: str, known: Container[str] = ()) -> bool:
    """Tell whether a fact says how a race ran, rather than names, times and lifetimes, or what a `known` one says."""
    row = row_of(path)
    return not row.recorded and row.better_told_by not in known


def cut_with(path: str) -> str:
    """Return the part of a record, "" for none, with which a fact is left out where the record would be too large.

    That one variant knows nothing of such a part says nothing (fairlap_race.runner.telling.bounds).
    """
    if path.startswith("ran: index "):
        return next((part for part in ("default ", "setting ", "digest of settings") if f": {part}" in path), "")
    return "module" if path.startswith("ran: module ") else ""


def row_of_field(path: str) -> FactRow:
    """Return the row that speaks of a field of a variant's spec, by its path."""
    variable = variable_of(path)
    if variable == NONE:
        return _unimportant(path)
    if variable == WORK:
        return FactRow(path, path, by_cluster=False, line=_WORKLOAD)
    of_cluster = path.startswith("elasticsearch.")
    return FactRow(path, path, (variable,), by_cluster=of_cluster, line=f"write {path} in the template to hold it")


def _unimportant(path: str) -> FactRow:
    return FactRow(path, "what changes no race", recorded=True, fold=True)
