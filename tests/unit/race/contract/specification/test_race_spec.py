"""The specification of a race: what the operator writes is what the runner reads, and nothing else is accepted."""

import ast
import inspect
import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairlap_race
from fairlap_race.contract.specification import http_spec, race_spec
from fairlap_race.contract.specification.race_spec import (
    NOT_OVER_HTTP,
    CorporaSpec,
    GitSource,
    IndexSpec,
    MetricsStoreSpec,
    Mode,
    RaceSpec,
    SpecError,
    TargetSpec,
    TrackSource,
    parse_spec,
)

SPEC = {
    "format": 1,
    "mode": "race",
    "namespace": "ns",
    "record": "bm-race-1",
    "raceId": "ns.bm.1234.race-1",
    "track": {"builtin": "log_ingest"},
    "challenge": None,
    "params": {"bulk_size": 100},
    "includeTasks": [],
    "excludeTasks": ["type:search"],
    "clientOptions": {"timeout": 60},
    "telemetry": [],
    "userTags": {"a": 1},
    "index": {"shards": 2, "replicas": None, "codec": "best_compression"},
    "hosts": ["bm-race-1-es-http.ns.svc:9200"],
    "user": "elastic",
    "passwordFile": "/run/fairlap/credentials/elastic",
    "caFile": "/run/fairlap/ca/ca.crt",
    "cores": 1,
    "stallSeconds": 600,
    "timeoutSeconds": 21600,
}


def test_spec_is_read():
    spec = parse_spec(json.dumps(SPEC))
    assert spec.mode is Mode.RACE and not spec.test_mode
    assert spec.track == TrackSource(builtin="log_ingest")
    assert spec.index.shards == 2 and spec.index.replicas is None
    assert parse_spec(json.dumps({**SPEC, "mode": "smoke"})).test_mode


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"format": 2}, "format"),
        ({"mode": "fast"}, "mode"),
        ({"surprise": 1}, "surprise"),
        ({"track": {"builtin": "a", "path": "/b"}}, "track"),
        ({"track": {"builtin": "../etc"}}, "track"),
        ({"track": {"builtin": "replay"}}, "requests: the builtin track replay needs them"),
        ({"requests": {"path": "/a"}}, "requests: the builtin track replay needs them, and no other"),
        ({"track": {"builtin": "replay"}, "requests": {}}, "requests: must have exactly one of path and git"),
        ({"track": {"builtin": "replay"}, "requests": {"path": "/a", "file": "../b"}}, "requests.file"),
        ({"raceId": "a/b"}, "raceId"),
        ({"hosts": []}, "hosts"),
        ({"hosts": ["no-port"]}, "hosts"),
        ({"includeTasks": ["a"]}, "includeTasks"),
        ({"requireTasks": ["a"]}, "requireTasks"),
        ({"excludeTasks": [1]}, "excludeTasks"),
        ({"index": {"shards": 0}}, "shards"),
        ({"index": {"colour": 1}}, "colour"),
        ({"cores": True}, "cores"),
        ({"downSampling": 0}, "downSampling"),
        ({"stallSeconds": 0}, "stallSeconds"),
        ({"mostWarmupSeconds": 0}, "mostWarmupSeconds"),
        ({"canarySeconds": -1}, "canarySeconds: must be a number of seconds from 0 to 60"),
        ({"canarySeconds": 61}, "canarySeconds"),
        ({"apiKeyFile": "/a"}, "apiKeyFile, passwordFile"),
        ({"metricsStore": {"hosts": []}}, "metricsStore.hosts"),
        ({"metricsStore": {}}, "metricsStore"),
        ({"metricsStore": {"hosts": ["no-port"]}}, "metricsStore.hosts: 'no-port' needs a port"),
        ({"metricsStore": {"hosts": ["h:1"], "apiKeyFile": "/a", "passwordFile": "/b"}}, "metricsStore.apiKeyFile"),
        ({"certificateFile": "/a"}, "certificateFile, certificateKeyFile"),
        ({"allowedErrors": {"bulk": 1.5}}, "allowedErrors.bulk"),
        ({"allowedErrors": {"bulk": "1 %"}}, "allowedErrors.bulk"),
        ({"params": []}, "params"),
        ({"sweep": {"steps": [{"name": "a@1", "clients": 1}]}}, "sweep.task: must not be empty"),
        ({"sweep": {"task": "a"}}, "sweep.steps: must have 1 to 200 steps, not 0"),
        ({"sweep": {"task": "a", "steps": [{"name": "a@1"}]}}, "exactly one of clients and targetThroughput"),
        ({"sweep": {"task": "a", "steps": [{"name": "a@0", "clients": 0}]}}, "above 0"),
        ({"sweep": {"task": "a", "steps": [{"name": "b", "clients": 1}] * 2}}, "a name of its own"),
        (
            {"sweep": {"task": "a", "steps": [{"name": "b", "clients": 1}], "durationSeconds": 0}},
            "sweep.durationSeconds",
        ),
        ({"mode": "smoke", "sweep": {"task": "a", "steps": [{"name": "b", "clients": 1}]}}, "not smoke"),
    ],
)
def test_a_wrong_spec_names_its_field(change, named):
    with pytest.raises(SpecError, match=named):
        parse_spec(json.dumps({**SPEC, **change}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"index": {"shards": "2"}}, "index.shards: must be a whole number"),
        ({"index": {"shards": 0}}, "index.shards: must be a whole number of at least 1"),
        ({"index": {"colour": 1}}, "index.colour: unknown field; there are: shards, replicas, codec, sourceMode, "
         "settings"),
        ({"index": None}, "index: must be an object"),
        ({"excludeTasks": ["a", 1]}, "excludeTasks[1]: must be a text"),
        ({"excludeTasks": ["a", ""]}, "excludeTasks[1]: must not be empty"),
        ({"excludeTasks": "a"}, "excludeTasks: must be a list"),
        ({"mode": "check", "requireTasks": [""]}, "requireTasks[0]: must not be empty"),
        ({"requireTasks": ["a"]}, "requireTasks: the check alone looks at them, not race"),
        ({"mode": "check", "racedAgain": [""]}, "racedAgain[0]: must not be empty"),
        ({"racedAgain": ["a"]}, "racedAgain: the check alone looks at them, not race"),
        ({"mode": "fast"}, "mode: must be one of probe, check, smoke, race, not 'fast'"),
        ({"track": {"git": {"url": "https://x"}}}, "track.git.revision: is missing"),
        ({"track": {"git": {"url": "", "revision": "x"}}}, "track.git.url: must not be empty"),
        ({"track": {}}, "track: must have exactly one of builtin, path and git"),
        ({"namespace": None}, "namespace: must be a text"),
        ({"corpora": {"path": "/c", "maxBytes": 0}}, "corpora.maxBytes: must be a whole number of at least 1"),
        ({"corpora": {"path": ""}}, "corpora.path: must not be empty"),
        ({"tls": "yes"}, "tls: must be true or false"),
        ({"timeoutSeconds": True}, "timeoutSeconds: must be a number"),
        ({"timeoutSeconds": float("inf")}, "timeoutSeconds: must be a number"),
        ({"target": {"remove": "later"}}, "target.remove: must be always, onSuccess or never, not 'later'"),
    ],
)  # fmt: skip
def test_the_message_has_the_path_of_the_value(change, message):
    with pytest.raises(SpecError) as caught:
        parse_spec(json.dumps({**SPEC, **change}))
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["mode", "namespace", "record", "raceId"])
def test_what_is_needed_is_named(name):
    with pytest.raises(SpecError, match=f"^{name}: is missing$"):
        parse_spec(json.dumps({key: value for key, value in SPEC.items() if key != name}))


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "3", "null", "{}"])
def test_what_is_no_specification(text):
    with pytest.raises(SpecError):
        parse_spec(text)


word = st.text("abcäöü-_.0", min_size=1, max_size=8).filter(lambda text: not text.startswith("."))
path = word.map(lambda name: Path("/") / name)
words = st.lists(word, max_size=3).map(tuple)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(st.text(max_size=5), json_values, max_size=3)
whole = st.integers(1, 2**40)
seconds = st.floats(0.001, 1e9)
maybe = st.none()
tracks = (
    st.builds(TrackSource, builtin=word)
    | st.builds(TrackSource, path=path)
    | st.builds(TrackSource, git=st.builds(GitSource, word, word, st.text("ab/", max_size=4), maybe | path))
)
removals = st.sampled_from(["always", "onSuccess", "never"])
specs = st.builds(
    RaceSpec,
    mode=st.sampled_from(Mode),
    namespace=word,
    record=word,
    race_id=word,
    track=tracks,
    corpora=maybe | st.builds(CorporaSpec, path, maybe | whole),
    offline=st.booleans(),
    challenge=maybe | word,
    params=objects,
    include_tasks=words,
    allowed_errors=st.dictionaries(word, st.floats(0.001, 0.999), max_size=3),
    client_options=objects,
    telemetry=words,
    telemetry_params=objects,
    down_sampling=whole,
    user_tags=objects,
    index=st.builds(IndexSpec, maybe | whole, maybe | st.integers(0, 9), maybe | word, maybe | word, objects),
    hosts=st.lists(word.map(lambda name: f"{name}:9200"), min_size=1, max_size=3).map(tuple),
    tls=st.booleans(),
    user=word,
    user_file=maybe | path,
    password_file=maybe | path,
    ca_file=maybe | path,
    target=maybe
    | st.builds(
        TargetSpec,
        maybe | word,
        maybe | word,
        maybe | word,
        st.booleans(),
        st.sampled_from(["always", "onSuccess", "never"]),
        st.booleans(),
    ),
    metrics_store=maybe
    | st.builds(
        MetricsStoreSpec,
        st.lists(word.map(lambda name: f"{name}:9200"), min_size=1, max_size=3).map(tuple),
        st.booleans(),
        word,
        maybe | path,
        maybe | path,
        maybe,
        maybe | path,
        maybe | word,
        maybe | word,
    ),
    most_warmup_seconds=maybe | seconds,
    canary_seconds=st.floats(0, 60),
    cores=maybe | whole,
    stall_seconds=seconds,
    timeout_seconds=seconds,
)


checks = st.builds(
    lambda spec, names: replace(spec, mode=Mode.CHECK, require_tasks=names, raced_again=names), specs, words
)


@given(specs | checks)
def test_what_is_written_is_what_is_read(spec):
    assert parse_spec(spec.to_json()) == spec


@given(st.dictionaries(st.sampled_from(sorted(SPEC)), json_values))
def test_reading_raises_nothing_else(change):
    try:
        parse_spec(json.dumps({**SPEC, **change}))
    except SpecError as error:
        assert str(error)


RUNNER = Path(fairlap_race.__file__).parent
OVER_HTTP = {
    *("mode", "namespace", "record", "race_id", "format", "http", "requests", "require_tasks", "sweep", "samples"),
    *("allowed_errors", "probes", "hosts", "tls", "user", "user_file", "password_file", "api_key_file", "ca_file"),
    *("certificate_file", "certificate_key_file", "target", "canary_seconds", "stall_seconds", "timeout_seconds"),
}
"""Fields that a race over HTTP has a use for."""


def test_every_field_has_a_use_over_http_or_is_refused_there():
    assert {each.name for each in fields(RaceSpec)} == OVER_HTTP | NOT_OVER_HTTP
    assert not OVER_HTTP & NOT_OVER_HTTP


def test_every_field_is_read_by_the_runner():
    files = [file for file in RUNNER.rglob("*.py") if file.name not in ("race_spec.py", "http_spec.py")]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    written = {
        (name, each.name)
        for module in (race_spec, http_spec)
        for name, found in inspect.getmembers(module, is_dataclass)
        if found.__module__ == module.__name__
        for each in fields(found)
    }
    assert len(written) > 60
    assert {(name, field) for name, field in written if field not in read} == set()
