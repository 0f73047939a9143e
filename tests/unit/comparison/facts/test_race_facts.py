"""The effective state of a race as facts: the same names for the same things, whatever is new for each race."""

from __future__ import annotations

from dataclasses import replace

from searched_races import searching_race
from statuses import benchmark, succeeded

from fairlap.api.machine_status import MachineEvidence
from fairlap.api.status import BenchmarkStatus, Environment, IndexEvidence, RaceStatus
from fairlap.comparison.facts.fairness_table import UNKNOWN_TO_THE_TABLE, row_of
from fairlap.comparison.facts.race_facts import (
    LINES_READ,
    MOST_FACTS,
    answer_facts,
    as_text,
    facts,
    jvm_flags,
    listed_facts,
    readable,
    record_facts,
    stable_index,
    with_digests,
)
from fairlap_race.contract.recorded.http_record import HttpRecord, RequestHits
from fairlap_race.contract.recorded.record import EnvironmentRecord, IndexRecord, LoadGeneratorHost, Node, Record, Task
from fairlap_race.contract.recorded.request_evidence import AFTER, RequestEvidence, SearchAnswer
from fairlap_race.contract.recorded.track_record import TrackCorpus, TrackRecord, TrackTask
from fairlap_race.contract.secret_flags import without_secret

RACED = BenchmarkStatus(
    track="access-logs",
    challenge="default",
    node_settings={"index.codec": "best_compression"},
    races=[
        RaceStatus(name="smoke", id="s", valid=True, elasticsearch_on=["node-9"], load_generator_on="node-9"),
        RaceStatus(
            name="race-1", id="a", valid=True, elasticsearch_on=["node-1", "node-2"], load_generator_on="node-3"
        ),
    ],
    environment=Environment(
        version="9.0.0",
        jvm_flags=["-Xms1g", "-XX:+UseG1GC", "-XX:MaxDirectMemorySize=5", "-Xshare:auto"],
        plugins=["analysis-icu 9.0.0"],
        rally_poll_intervals={"workerWakeup": 1.0},
        track_params='{"bulk_size": 500}',
        corpora=["access-logs/documents.json, 12 bytes, aa, generated"],
        indices=[
            IndexEvidence(name=".ds-logs-app-2026.11.21-000001", shards=1, documents=3),
            IndexEvidence(
                name=".ds-logs-app-2026.11.22-000002", shards=1, documents=4, settings={"index.refresh_interval": "1s"}
            ),
        ],
    ),
)


def test_facts_of_a_race() -> None:
    place = {"version": "9.0.0", "nodes": 1, "index": {"settings": {}}}
    spec = {"elasticsearch": place, "race": {"params": {"bulk_size": 500}}}
    found = facts(benchmark("es", RACED, **spec))
    assert found["spec.elasticsearch.nodes"] == "1" and "spec.elasticsearch.index.settings" not in found
    assert found["ran: machines of Elasticsearch"] == "node-1, node-2"
    assert found["ran: machine of the load generator"] == "node-3"
    assert found["ran: JVM flag -Xms"] == "1g" and found["ran: JVM flag -XX:UseG1GC"] == "on"
    assert found["ran: JVM flag -XX:MaxDirectMemorySize"] == "5"
    assert found["ran: index logs-app (data stream): documents"] == "7"
    assert found["ran: index logs-app (data stream): setting index.refresh_interval"] == "1s"
    assert found["ran: track parameter.bulk_size"] == "500" and found["ran: Rally's wait workerWakeup"] == "1.0"
    assert not any("plugin" in path or "corpora" in path for path in found), "their lines are for people"
    assert found["ran: setting given to the nodes index.codec"] == "best_compression"
    assert (found["ran: track"], found["ran: challenge"]) == ("access-logs", "default")


def test_a_benchmark_that_never_ran_has_what_was_asked_for() -> None:
    assert facts(benchmark("es", None, heap="1g")) == {"spec.heap": "1g"}
    assert facts({}) == {}


def test_facts_are_bounded() -> None:
    assert len(facts(benchmark("es", None, **{f"key{number}": number for number in range(5000)}))) == MOST_FACTS


RECORD = Record(
    environment=EnvironmentRecord(
        build_flavor="default",
        plugins=("analysis-icu 9.0.0",),
        plugin_versions={"analysis-icu": "9.0.0"},
        modules=("lang-painless",),
        cluster_settings={"indices.recovery.max_bytes_per_sec": "40mb"},
        node_settings={"http.type": "netty4"},
        nodes=(Node(name="a", heap_bytes=5, kernel="6.1", jvm_arguments=("-Dfile.encoding=UTF-8", "-Xms5")), Node()),
        load_generator=LoadGeneratorHost(cores=2, cpu_model="Xeon"),
    ),
    track=TrackRecord(
        tasks=(TrackTask(name="search", operation="find", clients=2),),
        corpora=(TrackCorpus("access-logs", "documents.json", 12, "aa", "generated"),),
    ),
    tasks=(
        Task(task="search", fewest_hits=10, most_hits=10, target_throughput=5.0),
        Task(task="drawn", fewest_hits=1, most_hits=9),
    ),
    indices=(
        IndexRecord(name="logs", explicit={"index.codec": "default"}, defaults={"index.mode": ""}, mapping_digest="m"),
        IndexRecord(name="more", settings_digest="d"),
    ),
)


def test_facts_of_a_record() -> None:
    assert record_facts(RECORD) == {
        "ran: build flavour": "default",
        "ran: each node's heap": "5",
        "ran: each node's kernel": "6.1",
        "ran: JVM flag -Dfile.encoding": "UTF-8",
        "ran: load generator's cores": "2",
        "ran: load generator's CPU": "Xeon",
        "ran: task search: plan": "find, 2 clients",
        "ran: task search: target throughput": "5.0",
        "ran: task search: hits": "10",
        "ran: corpora[0]": "access-logs/documents.json, 12 bytes, aa",
        "ran: plugin analysis-icu": "9.0.0",
        "ran: module lang-painless": "there",
        "ran: cluster setting indices.recovery.max_bytes_per_sec": "40mb",
        "ran: node setting http.type": "netty4",
        "ran: index logs: mapping": "m",
        "ran: index logs: setting index.codec": "default",
        "ran: index logs: default index.mode": "",
        "ran: index more: digest of settings": "d",
    }
    assert record_facts(Record()) == {}


def plugged(*lines: str, versions: dict[str, str] | None = None) -> dict[str, str]:
    return listed_facts(Record(environment=EnvironmentRecord(plugins=lines, plugin_versions=versions)))


def test_two_plugins_whose_names_begin_with_the_same_word_are_two_facts() -> None:
    found = plugged("acme one 1.0", "acme two 2.0 b", versions={"acme one": "1.0", "acme two": "2.0 b"})
    assert found == {"ran: plugin acme one": "1.0", "ran: plugin acme two": "2.0 b"}


def test_plugins_of_an_older_runner_are_read_from_their_lines() -> None:
    assert plugged("analysis-icu 9.0.0 (on 1 of 2 nodes)") == {"ran: plugin analysis-icu": "9.0.0 (on 1 of 2 nodes)"}
    assert plugged("analysis-icu 9.0.0", versions={}) == plugged() == {}


def test_where_documents_came_from_is_no_fact_however_long_their_names() -> None:
    def raced(origin: str) -> dict[str, str]:
        corpus = TrackCorpus("n" * 5000, "a, b.json", 12, "aa", origin)
        return listed_facts(Record(track=TrackRecord(corpora=(corpus,) * 200)))

    assert raced("cache") == raced("downloaded") and len(raced("cache")) == 100
    assert raced("cache")["ran: corpora[99]"].endswith("/a, b.json, 12 bytes, aa")


def test_the_largest_heap_of_all_nodes_is_a_fact_where_each_of_them_says_it() -> None:
    def told(*arguments: tuple[str, ...]) -> str | None:
        nodes = tuple(Node(name=str(place), jvm_arguments=of) for place, of in enumerate(arguments))
        found = record_facts(Record(environment=EnvironmentRecord(nodes=nodes)))
        return found.get("ran: each node's JVM flag -Xmx")

    assert told(("-Xmx1g", "-Xmx2g"), ("-Xmx2g",)) == "2g", "the last one counts"
    assert told(("-Xmx2g",), ("-Xmx1g",)) == "1g, 2g"
    assert told(("-Xmx2g",), ()) is None, "a record may have been too large for those of all nodes"


def test_many_tasks_are_one_fact() -> None:
    def planned(last: str) -> Record:
        names = [*(f"task-{number}" for number in range(400)), last]
        return Record(track=TrackRecord(tasks=tuple(TrackTask(name=name) for name in names)))

    one, other = record_facts(planned("a")), record_facts(planned("b"))
    assert list(one) == list(other) == ["ran: task plans' digest"] and one != other


def test_the_table_speaks_of_every_fact() -> None:
    found = {**facts(benchmark("es", RACED)), **facts(benchmark("es", succeeded())), **record_facts(RECORD)}
    assert [path for path in found if row_of(path) is UNKNOWN_TO_THE_TABLE] == []


def test_flags_texts_and_names() -> None:
    assert dict(jvm_flags(["-Xmx1g", "-Xmx2g", "-da", "--add-opens=java.base/java.io=ALL", "-XX:-UseG1GC"])) == {
        "ran: JVM flag -Xmx": "2g",
        "ran: JVM flag -da": "on",
        "ran: JVM flag --add-opens=java.base/java.io=ALL": "on",
        "ran: JVM flag -XX:UseG1GC": "off",
    }
    assert (as_text("a"), as_text(True), as_text({"b": 1})) == ("a", "true", '{"b": 1}')
    assert stable_index("logs") == "logs" and stable_index(".ds-a-b-2026.01.01-000001") == "a-b (data stream)"


def test_an_option_that_is_a_secret_is_no_fact_in_clear() -> None:
    options = ["-Dhttps.proxyPassword=hunter", "-Dfile.encoding=UTF-8"]
    found = facts({"spec": {"elasticsearch": {"jvmOptions": options}}})
    assert found == {
        "spec.elasticsearch.jvmOptions[0]": without_secret(options[0]),
        "spec.elasticsearch.jvmOptions[1]": "-Dfile.encoding=UTF-8",
    }
    assert "hunter" not in str(found)
    git = {"url": "https://me:hun/ter@host/a@b", "revision": "main"}
    assert facts({"spec": {"race": {"track": {"git": git}}}})["spec.race.track.git.url"] == "https://b"
    assert readable(readable({"a": [options[0], 1, None]})) == {"a": [without_secret(options[0]), 1, None]}


def test_which_processors_a_container_had_is_no_fact_of_a_machine() -> None:
    had = MachineEvidence(node="es-0", machine="m-1", cpus="2-3", cpu_numa_nodes="0", exclusive_cpus=True)
    other = had.model_copy(update={"cpus": "8-9", "cpu_numa_nodes": "1"})
    one, two = (facts(benchmark("es", BenchmarkStatus(environment=Environment(machines=[it])))) for it in (had, other))
    assert one == two and one["ran: machines[0].exclusiveCpus"] == "true"


def test_the_same_collector_is_the_same_fact_whatever_java_tells_of_it() -> None:
    """As Elasticsearch 8.11 told of both on the real cluster; other collectors stay as they are."""
    told = {
        "17": ["G1 Young Generation", "G1 Old Generation"],
        "21": ["G1 Young Generation", "G1 Concurrent GC", "G1 Old Generation"],
        "parallel": ["PS MarkSweep", "PS Scavenge"],
    }
    found = {}
    for name, beans in told.items():
        status = RACED.model_copy(update={"environment": Environment(version="9.0.0", gc=beans)})
        known = facts(benchmark("es", status, elasticsearch={"version": "9.0.0"}))
        found[name] = {path: value for path, value in known.items() if path.startswith("ran: gc")}
    assert found["17"] == found["21"] == {"ran: gc[0]": "G1 Young Generation", "ran: gc[1]": "G1 Old Generation"}
    assert found["parallel"] != found["17"]


def test_a_race_bound_to_machines_is_asked_for_the_same_as_one_that_is_not() -> None:
    free = {"spec": {"elasticsearch": {"version": "9.0.0"}, "race": {}}}
    pinned = {"version": "9.0.0", "scheduling": {"nodeSelector": {}, "tolerations": [], "exclusiveNodes": False}}
    alone = {"version": "9.0.0", "scheduling": {"exclusiveNodes": True}}
    assert facts({"spec": {"elasticsearch": pinned, "race": {}}}) == facts(free)
    assert facts({"spec": {"elasticsearch": alone, "race": {}}}) != facts(free)


def test_parameters_that_carry_index_settings_are_told_from_those_that_somebody_wrote() -> None:
    place = {"version": "9.0.0", "index": {"codec": "best_compression"}}
    spec = {"elasticsearch": place, "race": {"params": {"documents": 10}}}
    status = {"environment": {"trackParams": '{"documents": 10, "codec": "best_compression"}'}}
    found = facts({"spec": spec, "status": status})
    assert found["ran: track parameter.documents"] == "10"
    assert found["ran: index settings as track parameter.codec"] == "best_compression"


def test_answers_that_the_data_alone_decides_are_facts() -> None:
    known = SearchAnswer("find", request="a1", hits=7, hits_exact=True, content="c", settled=True)
    assert record_facts(Record(requests=RequestEvidence(answers=(known,)))) == {
        "ran: task find: answer to a1: hits": "7",
        "ran: task find: answer to a1: content": "c",
    }
    unsure = (
        replace(known, settled=False), replace(known, when="before"), replace(known, trouble="HTTP 404"),
        replace(known, timed_out=True), replace(known, request=None),
        replace(known, hits_exact=False, content=None),
    )  # fmt: skip
    assert record_facts(Record(requests=RequestEvidence(answers=unsure))) == {}


def test_two_searches_of_the_same_work_have_the_same_facts() -> None:
    answered = [
        SearchAnswer(task=name, request="1", hits=3, hits_exact=True, settled=True, when=AFTER)
        for name in ("search@probe-1", "search@probe-2")
    ]
    slow, fast = (
        replace(searching_race(capacity), requests=RequestEvidence(answers=tuple(answers)))
        for capacity, answers in ((200.0, answered), (400.0, answered[:1]))
    )
    assert slow.probe_names != fast.probe_names or slow.tasks != fast.tasks
    found = record_facts(slow)
    assert found == record_facts(fast) and found["ran: task bulk: plan"] == "bulk, 2 clients"
    assert found["ran: task search@probe-1: answer to 1: hits"] == "3"


def test_what_requests_over_http_found_is_told_line_by_line() -> None:
    def told(hits: RequestHits | None) -> dict[str, str]:
        found = record_facts(Record(http=HttpRecord(requests=3, hits=hits)))
        return {path: value for path, value in found.items() if "request" in path or path == LINES_READ}

    assert told(None) == {"ran: number of requests": "3"}
    whole, other = told(RequestHits("/n", (7, 0, 7))), told(RequestHits("/n", (7, 0, 8)))
    assert whole["ran: request 2: hits"] == "0" and whole["ran: request 3: hits"] == "7" and len(whole) == 6
    assert whole[LINES_READ] == "3" == whole["ran: number of requests"]
    assert whole["ran: hits of all requests"] != other["ran: hits of all requests"]
    assert "ran: hits of all requests" not in told(RequestHits("/n", (7,), "only the first 1 lines"))
    assert "ran: hits of all requests" not in told(RequestHits("/n", (7, 0))), "an older runner left the others out"
    long = told(RequestHits("/n", (7,), read=3, digest="d"))
    assert (long["ran: hits of all requests"], long[LINES_READ]) == ("d", "3")


def test_what_was_found_is_known_beside_any_number_of_settings() -> None:
    """Of two Benchmarks beside each other it is asked for before any time."""
    indices = tuple(
        IndexRecord(f"i{place}", mapping_digest="m", defaults={"a": 1, "b": 2}) for place in range(MOST_FACTS)
    )
    found = answer_facts(Record(indices=indices, tasks=(Task("search", fewest_hits=7, most_hits=7),)))
    assert (
        len(found) == MOST_FACTS and found["ran: task search: hits"] == "7" and found["ran: index i0: mapping"] == "m"
    )


def test_an_image_is_its_digest_whatever_a_machine_calls_it() -> None:
    images = ["es:9 r/es@sha256:a1", "mirror/es:9 m/es@sha256:a1", "es:9 sha256:c1"]
    found = facts({"status": {"environment": {"images": images, "rallyImage": "race:1 r/race@sha256:b2"}}})
    assert found == {
        "ran: images[0]": "@sha256:a1",
        "ran: loaded images[0]": "sha256:c1",
        "ran: rallyImage": "@sha256:b2",
    }
    assert with_digests(found) == found and with_digests({"ran: java": "21"}) == {"ran: java": "21"}
    two = with_digests({"a": "1", "ran: rallyImage": "x@sha256:2, y@sha256:1, z@sha256:2"})
    assert two == {"a": "1", "ran: rallyImage": "@sha256:1, @sha256:2"}
