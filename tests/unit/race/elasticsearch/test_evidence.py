"""What Elasticsearch's answers mean; the answers are those of real servers, cut to what is read."""

import pytest

from fairlap_race.contract.recorded.record import Fresh
from fairlap_race.contract.recorded.track_record import TrackRecord
from fairlap_race.contract.specification.document_plan import DocumentPlan, ExpectedByUser, UncountedTask, WhyUncounted
from fairlap_race.elasticsearch import evidence, ingest
from fairlap_race.elasticsearch.client import ElasticsearchError

NODES = {
    "nodes": {
        "a1": {
            "name": "es-0",
            "version": "8.6.1",
            "build_hash": "180c98",
            "jvm": {
                "version": "17.0.15",
                "vm_name": "OpenJDK 64-Bit Server VM",
                "vm_version": "17.0.15+6",
                "vm_vendor": "Debian",
                "mem": {"heap_max_in_bytes": 536870912},
                "gc_collectors": ["G1 Young Generation", "G1 Old Generation"],
                "input_arguments": ["-Xms512m"],
            },
            "os": {"allocated_processors": 2},
        }
    }
}
MEMBERS = {"nodes": {"a1": {"name": "es-0", "ephemeral_id": "e1"}}}


def node_stats(young=(1, 10), pipelines=None, key="a1"):
    collectors = {
        "young": {"collection_count": young[0], "collection_time_in_millis": young[1]},
        "old": {"collection_count": 0, "collection_time_in_millis": 0},
    }
    return {
        "nodes": {
            key: {
                "jvm": {"gc": {"collectors": collectors}},
                "os": {"mem": {"total_in_bytes": 1 << 30}},
                "ingest": {"pipelines": pipelines or {}},
            }
        }
    }


def test_environment():
    root = {
        "version": {"number": "8.6.1", "build_hash": "180c98", "build_flavor": "default", "lucene_version": "9.4.2"}
    }
    found = evidence.read_environment(root, NODES, node_stats(), MEMBERS)
    assert (found.version, found.build_hash, found.lucene_version) == ("8.6.1", "180c98", "9.4.2")
    node = found.nodes[0]
    assert (node.name, node.ephemeral_id, node.java_version, node.heap_bytes) == ("es-0", "e1", "17.0.15", 536870912)
    assert node.jvm == "OpenJDK 64-Bit Server VM 17.0.15+6" and node.memory_bytes == 1 << 30


@pytest.mark.parametrize(
    "name",
    [
        *("javax.net.ssl.keyStorePassword", "ssl.PASSPHRASE", "oidc.clientSecret", "a.token", "proxy.credentials"),
        *("x.apikey", "x.api-key", "x.API_KEY", "db.passwd"),
    ],
)
def test_a_secret_among_the_flags_is_a_hash_that_differs_where_it_does(name):
    def recorded(value):
        argument = f"-D{name}={value}"
        jvm = {"input_arguments": ["-Xms1g", argument, "-Dfile.encoding=UTF-8", f"-D{name}"]}
        nodes = {"nodes": {"a1": {"name": "es-0", "jvm": jvm}}}
        (node,) = evidence.read_environment({}, nodes, {}, {}).nodes
        first, hidden, *others = node.jvm_arguments
        assert first == "-Xms1g" and others == ["-Dfile.encoding=UTF-8", f"-D{name}"]
        return hidden

    hidden = recorded("Hunter2=x")
    assert hidden == recorded("Hunter2=x") != recorded("Hunter3=x")
    assert hidden.startswith(f"-D{name}=sha256:") and "Hunter2" not in hidden
    assert recorded("\ud800")


def test_environment_without_the_root_page_comes_from_the_nodes():
    found = evidence.read_environment({}, NODES, {}, {})
    assert (found.version, found.build_hash) == ("8.6.1", "180c98")
    assert found.nodes[0].ephemeral_id is None


@pytest.mark.parametrize(
    ("name", "users"),
    [
        ("access-logs", True),
        (".security-7", False),
        (".ds-logs-app-default-2026.01.01-000001", True),
        (".ds-.logs-deprecation.elasticsearch-default-2026.01.01-000001", False),
        (".ds-ilm-history-5-2026.01.01-000001", False),
    ],
)
def test_user_indices(name, users):
    assert evidence.is_user_index(name) is users


def test_an_index_with_a_dot_that_the_race_names_is_its_own():
    plan = DocumentPlan((UncountedTask("bulk", ".ended", WhyUncounted.ENDED_BY_TIME, 9),), ExpectedByUser({".said": 1}))
    mine = evidence.owned_by(TrackRecord(expected_documents={".docs": 9, ".stream": 9, "t": 9}, documents=plan))
    named = ("t", "other", ".docs", ".ended", ".said", ".ds-.stream-2026.01.01-000001")
    assert all(map(mine, named))
    assert not any(
        map(mine, (".security-7", ".docs-2", ".ds-.other-2026.01.01-000001", ".ds-ilm-history-5-2026.01.01-000001"))
    )
    assert not evidence.owned_by(TrackRecord())(".docs")


def test_indexing_before_the_race():
    assert evidence.read_indexing({"_all": {"primaries": {}}}) == 0
    assert evidence.read_indexing({"_all": {"primaries": {"indexing": {"index_time_in_millis": 7}}}}) == 7
    assert evidence.read_indexing({}) is None


def nodes_with(*codecs):
    return {"nodes": {str(i): {"settings": {"index.codec": codec} if codec else {}} for i, codec in enumerate(codecs)}}


def test_codec_of_an_index():
    settings = {"a": {"settings": {"index.codec": "best_compression"}}, "b": {"settings": {}}}
    assert evidence.effective_codec("a", settings, nodes_with(None)) == "best_compression"
    assert evidence.effective_codec("b", settings, nodes_with(None, None)) == "default"
    assert evidence.effective_codec("b", settings, nodes_with("best_compression")) == "best_compression"
    assert evidence.effective_codec("b", settings, nodes_with("best_compression", None)) is None


def test_index():
    settings = {"a": {"settings": {"index.number_of_shards": "2", "index.number_of_replicas": "1"}}}
    stats = {"indices": {"a": {"primaries": {"store": {"size_in_bytes": 5}}, "total": {"store": {"size_in_bytes": 9}}}}}
    found = evidence.read_index("a", settings, nodes_with(None), {"indices": {"a": {"status": "green"}}}, stats, 100)
    assert (found.shards, found.replicas, found.codec, found.health) == (2, 1, "default", "green")
    assert (found.documents, found.primary_bytes, found.store_bytes) == (100, 5, 9)
    assert evidence.read_index("z", {}, {}, {}, {}, None).shards is None
    stream = evidence.read_index(".ds-logs-app-default-2026.01.01-000001", {}, {}, {}, {}, None)
    assert stream.data_stream == "logs-app-default"


def pipeline(count, millis=0, failed=0):
    return {"count": count, "time_in_millis": millis, "failed": failed}


def test_pipelines_count_what_the_race_did():
    before = node_stats(pipelines={"old": pipeline(5), "idle": pipeline(3), "again": pipeline(9)})
    after = node_stats(
        pipelines={"old": pipeline(7, 3, 1), "idle": pipeline(3), "new": pipeline(0), "again": pipeline(4)}
    )
    found = {it.name: it for it in ingest.read_pipelines(before, after)}
    assert set(found) == {"old", "new", "again"}
    assert (found["old"].count, found["old"].time_millis, found["old"].failed) == (2, 3, 1)
    assert found["again"].count == 4


def test_restarts():
    assert evidence.restarted({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "9", "d": "4"}) == ("b", "c")


def test_totals():
    stats = {
        "indices": {
            "a": {
                "primaries": {"segments": {"count": 2}, "indexing": {"index_time_in_millis": 40}},
                "total": {"store": {"size_in_bytes": 9}},
            },
            ".system": {"total": {"store": {"size_in_bytes": 1000}}},
        }
    }
    found = evidence.read_totals(["a"], stats, node_stats((1, 10)), node_stats((4, 25)))
    assert (found.store_bytes, found.segments, found.indexing_millis) == (9, 2, 40)
    assert (found.young_gc_count, found.young_gc_millis, found.old_gc_count) == (3, 15, 0)
    assert found.dataset_bytes is None
    restarted = evidence.read_totals(["a"], stats, node_stats(key="other"), node_stats())
    assert restarted.young_gc_count is None


def test_nothing_is_guessed_from_empty_answers():
    found = evidence.read_environment({}, {}, {}, {})
    assert found.version is None and found.nodes == ()
    assert ingest.read_pipelines({}, {}) == ()
    assert Fresh().user_indices == ()


class Answering:
    """A cluster of one index that forbids what begins with one of `forbidden`."""

    def __init__(self, *forbidden):
        self.forbidden = forbidden

    def get(self, path, timeout=None):
        if path.startswith(self.forbidden or ("nothing",)):
            raise ElasticsearchError("it is forbidden", status=403)
        if path.startswith("/logs/_settings"):
            return {"logs": {"settings": {"index.uuid": "u", "index.a": "b"}, "defaults": {"index.codec": "default"}}}
        if path.startswith("/_all/_settings"):
            return {"logs": {"settings": {}}}
        if path.startswith("/_cluster/settings"):
            return {"persistent": {"a.b": "1"}, "transient": {}}
        if path.startswith("/_nodes/settings"):
            return {"nodes": {"a": {"settings": {"node.name": "a", "http.type": "netty4"}}}}
        if path.startswith("/logs/_mapping"):
            return {"logs": {"mappings": {"properties": {}}}}
        return [] if path.startswith("/_cat") else {}

    def post(self, path, timeout=None):
        return {}


def test_what_a_user_may_not_see_is_not_known_and_ends_no_race():
    allowed, forbidden = Answering(), Answering("/_cluster/settings", "/_nodes/settings?flat", "/logs/_mapping")
    found = evidence.before(allowed).environment
    assert (found.cluster_settings, found.node_settings) == ({"a.b": "1"}, {"http.type": "netty4"})
    start = evidence.before(Answering("/_cluster/settings"))
    assert start.environment.cluster_settings is None
    assert evidence.before(forbidden).environment.node_settings is None
    (index,) = evidence.after(allowed, start, ["index.codec"]).indices
    assert index.explicit == {"index.a": "b"} and index.settings == {"index.codec": "default"}
    assert set(index.defaults) == {"index.codec", "index.mapping.source.mode"} and index.mapping_digest
    (index,) = evidence.after(Answering("/logs/_mapping"), start, ["index.codec"]).indices
    assert index.settings == {"index.codec": "default"} and index.mapping_digest is None
    (index,) = evidence.after(Answering("/logs/_mapping"), start, ["index.mapping.source.mode"]).indices
    assert index.settings == {} and index.settings_digest is None
    (index,) = evidence.after(Answering("/logs/_settings"), start, ["index.codec"]).indices
    assert index.settings == {} and index.settings_digest is None


class WithMany(Answering):
    """A cluster of sixty indices."""

    NAMES = tuple(f"logs-{number:02}" for number in range(60))

    def get(self, path, timeout=None):
        if path.startswith("/_all/_settings"):
            return {name: {"settings": {}} for name in self.NAMES}
        if path.endswith("include_defaults=true"):
            return {path.split("/")[1]: {"settings": {"index.a": "b"}, "defaults": {"index.c": "d"}}}
        return super().get(path, timeout)


def test_of_many_indices_only_the_first_have_their_settings_one_by_one():
    found = evidence.after(WithMany(), evidence.before(Answering())).indices
    assert [it.name for it in found if it.explicit] == [*WithMany.NAMES[:50]]
    assert [it.name for it in found if it.defaults] == [*WithMany.NAMES[:5]]
    assert len({it.settings_digest for it in found}) == 1 and found[59].settings_digest


class WithStream(Answering):
    """The same with a data stream whose failure store has three documents, and one of which nobody may know."""

    FAILED = (".fs-app-2026.01.01-000001", ".fs-shut-2026.01.01-000001")

    def get(self, path, timeout=None):
        if path.startswith("/_all/_settings"):
            return {name: {"settings": {}} for name in ("logs", ".ds-app-2026.01.01-000001", *self.FAILED)}
        if path.startswith("/_all/_alias"):
            return {"logs": {"aliases": {"all": {}}}}
        if path == f"/{self.FAILED[0]}/_count":
            return {"count": 3, "_shards": {"failed": 0}}
        return super().get(path, timeout)


def test_failure_stores_are_counted_apart_from_the_indices():
    cluster = WithStream(f"/{WithStream.FAILED[1]}", "/_data_stream")
    found = evidence.after(cluster, evidence.before(Answering()))
    assert [(it.name, it.data_stream, it.aliases) for it in found.indices] == [
        (".ds-app-2026.01.01-000001", "app", ()), ("logs", None, ("all",)),
    ]  # fmt: skip
    assert found.failure_stores == {"app": 3}


def test_failure_stores_of_others_are_none_of_a_guests():
    found = evidence.after(WithStream(), evidence.before(Answering()), is_of_the_race=lambda name: name == "logs")
    assert [it.name for it in found.indices] == ["logs"] and found.failure_stores == {}


class WithClosed(Answering):
    """The same with an index that is closed: Elasticsearch answers as its IndexNameExpressionResolver has it."""

    def get(self, path, timeout=None):
        if path.startswith("/_stats") and "expand_wildcards=all" in path and "ignore_unavailable=true" not in path:
            raise ElasticsearchError("it is closed", status=400, answer="index_closed_exception")
        if path.startswith("/_cluster/state/metadata"):
            return {"metadata": {"indices": {"logs": {"state": "open"}, "shut": {"state": "close"}}}}
        if path.startswith("/_all/_settings"):
            return {name: {"settings": {}} for name in ("logs", "shut")}
        if path.startswith("/logs/_count"):
            return {"count": 7, "_shards": {"failed": 0}}
        if path.startswith("/shut/_count"):
            raise ElasticsearchError("it is closed", status=400, answer="index_closed_exception")
        return super().get(path, timeout)

    def post(self, path, timeout=None):
        if path.startswith("/shut/"):
            raise ElasticsearchError("it is closed", status=400, answer="index_closed_exception")
        return super().post(path, timeout)


def test_a_closed_index_ends_no_race_and_is_not_counted():
    start = evidence.before(WithClosed())
    assert start.fresh.user_indices == ("logs", "shut")
    found = evidence.after(WithClosed(), start)
    assert [(it.name, it.documents, it.closed) for it in found.indices] == [("logs", 7, False), ("shut", None, True)]


class Counting(Answering):
    """The same with an answer to `_count`, an exception is raised, and the health of its index."""

    def __init__(self, answer, health="green"):
        super().__init__()
        self.answer, self.health, self.counted = answer, health, 0

    def get(self, path, timeout=None):
        if path.startswith("/_cluster/health"):
            return {"indices": {"logs": {"status": self.health}}}
        if path.startswith("/logs/_count"):
            self.counted += 1
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer
        return super().get(path, timeout)


def counted(number, failed=0):
    return {"count": number, "_shards": {"total": 2, "failed": failed}}


def refused(status):
    return ElasticsearchError("GET /logs/_count: no", status)


@pytest.mark.parametrize("answer", [counted(5, failed=1), *map(refused, (None, 200, 429, 500, 502, 503))])
def test_a_count_that_may_be_had_later_is_asked_for_again(answer):
    start = evidence.before(Answering())
    for health in ("green", "yellow"):
        with pytest.raises(ElasticsearchError, match="GET /logs/_count"):
            evidence.after(Counting(answer, health), start)
    red = Counting(answer, "red")
    (index,) = evidence.after(red, start).indices
    assert (index.documents, index.health, red.counted) == (None, "red", 0)


@pytest.mark.parametrize(
    ("answer", "documents"),
    [(counted(7), 7), (counted(0), 0), ({}, None), ([], None), *((refused(it), None) for it in (400, 403, 404))],
)
def test_a_count_that_is_refused_ends_no_race(answer, documents):
    (index,) = evidence.after(Counting(answer), evidence.before(Answering())).indices
    assert index.documents == documents and not index.closed


@pytest.mark.parametrize(
    ("roles", "held"),
    [
        (None, True),
        (["master", "data", "ingest"], True),
        (["data_content", "data_hot"], True),
        (["data_warm"], True),
        ([], False),  # it coordinates alone
        (["master"], False),
        (["ml", "remote_cluster_client"], False),
        (["data_frozen"], False),
    ],
)
def test_which_nodes_copies_can_be_placed_on(roles, held):
    told = {"name": "es-1"} if roles is None else {"name": "es-1", "roles": roles}
    found = evidence.read_environment({}, {"nodes": {"a": {"name": "es-0", "roles": ["data"]}, "b": told}}, {}, {})
    assert [it.name for it in found.data_nodes] == (["es-0", "es-1"] if held else ["es-0"])
    alone = evidence.read_environment({}, {"nodes": {"b": told}}, {}, {})
    assert len(alone.data_nodes) == 1, "where none says that it holds data, nothing is known"
