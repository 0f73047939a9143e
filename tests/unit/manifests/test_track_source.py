"""Each source of a track and of requests that the API takes has its words, and is told to the runner."""

import re
from typing import Any

import pytest

from fairlap.api.crd import BENCHMARK, crd
from fairlap.api.spec import BenchmarkSpec
from fairlap.manifests.track_source import mounts, requests_source, track_source
from fairlap.plan.basis.steps import config_map_key, track_words
from fairlap.settings import Settings
from fairlap_race.contract.specification.race_spec import TRACK_MOUNT, TrackSource

SETTINGS = Settings(race_image="race")
GIT = {"url": "https://git.example/tracks.git", "revision": "main", "path": "mine"}
TRACKS: dict[str, Any] = {
    "builtin": "log_ingest", "configMap": {"name": "mine"}, "name": "geonames", "git": GIT,
    "volume": {"claimName": "mine"},
}  # fmt: skip
REQUESTS: dict[str, Any] = {"configMap": {"name": "mine"}, "volume": {"claimName": "mine"}, "git": GIT}


def sources(part: str) -> set[str]:
    """Return the fields of which exactly one is to be given, as the schema's rule has them."""
    (version,) = crd(BENCHMARK)["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    rules = spec["properties"]["race"]["properties"][part]["x-kubernetes-validations"]
    (one,) = [each["rule"] for each in rules if "exactly one source" in each["message"]]
    return set(re.findall(r"has\(self\.(\w+)\)", one))


def test_each_source_is_tried_here() -> None:
    assert (sources("track"), sources("requests")) == (set(TRACKS), set(REQUESTS))


@pytest.mark.parametrize("source", TRACKS)
def test_each_source_of_a_track_has_its_words_and_its_way_to_the_runner(source: str) -> None:
    race = BenchmarkSpec.model_validate({
        "elasticsearch": {"version": "9.0.0"}, "race": {"track": {source: TRACKS[source]}},
    }).race  # fmt: skip
    assert track_words(race)
    told = track_source(race.track, SETTINGS, "")
    assert told != TrackSource() and (told == TrackSource(path=TRACK_MOUNT)) is (source in ("configMap", "volume"))
    assert bool(mounts(race).volumes) is (told.path is not None)
    assert bool(config_map_key(race)) is (source == "configMap")


@pytest.mark.parametrize("source", REQUESTS)
def test_each_source_of_requests_has_its_way_to_the_runner(source: str) -> None:
    race = BenchmarkSpec.model_validate({
        "elasticsearch": {"version": "9.0.0"},
        "race": {"track": {"builtin": "replay"}, "requests": {source: REQUESTS[source]}},
    }).race  # fmt: skip
    told = requests_source(race.requests, "")
    assert told and bool(told.git) is (source == "git") and bool(mounts(race).volumes) is (told.path is not None)
    assert bool(config_map_key(race)) is (source == "configMap")
