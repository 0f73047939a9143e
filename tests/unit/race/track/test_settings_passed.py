"""How index settings reach a track, by the conventions of Elastic's tracks."""

import pytest

from fairlap_race.contract.index_settings import by_full_name
from fairlap_race.contract.specification.race_spec import IndexSpec
from fairlap_race.track.settings_passed import ContradictionError, TrackSettings, asked, passed

EVERYTHING = IndexSpec(
    shards=2, replicas=1, codec="best_compression", source_mode="synthetic", settings={"refresh_interval": "30s"}
)
NONE = TrackSettings()
NYC = {"index.codec": "best_compression", "index.refresh_interval": "30s", "index.translog.flush_threshold_size": "4g"}


def through(index: IndexSpec, track: TrackSettings = NONE, **params):
    return passed(index, params, ("index_settings",), track)[0]["index_settings"]


def test_everything_that_was_asked_for_has_its_full_name():
    assert asked(EVERYTHING) == {
        "index.number_of_shards": 2,
        "index.number_of_replicas": 1,
        "index.codec": "best_compression",
        "index.mapping.source.mode": "synthetic",
        "index.refresh_interval": "30s",
    }
    assert asked(IndexSpec()) == {}


@pytest.mark.parametrize(
    ("exposed", "expected"),
    [
        (
            ("number_of_shards", "number_of_replicas", "codec", "source_mode", "index_settings"),
            {"number_of_shards": 2, "number_of_replicas": 1, "codec": "best_compression", "source_mode": "synthetic",
             "index_settings": {"index.refresh_interval": "30s"}},
        ),
        (
            ("number_of_shards", "mapping_source_mode", "refresh_interval"),
            {"number_of_shards": 2, "mapping_source_mode": "synthetic", "refresh_interval": "30s"},
        ),
        (
            ("index_settings",),
            {"index_settings": {"index.number_of_shards": 2, "index.number_of_replicas": 1,
                                "index.codec": "best_compression", "index.mapping.source.mode": "synthetic",
                                "index.refresh_interval": "30s"}},
        ),
        ((), {}),
    ],
)  # fmt: skip
def test_a_parameter_of_its_own_goes_before_index_settings(exposed, expected):
    params, carriers = passed(EVERYTHING, {}, exposed, TrackSettings())
    assert params == expected
    assert set(carriers) == set(asked(EVERYTHING))
    assert set(carriers.values()) - {""} == set(expected)


@pytest.mark.parametrize(("mode", "enabled"), [("disabled", False), ("stored", True)])
def test_an_older_track_can_only_switch_the_source_off(mode, enabled):
    params, carriers = passed(IndexSpec(source_mode=mode), {}, ("source_enabled",), TrackSettings())
    assert params == {"source_enabled": enabled}
    assert carriers == {"index.mapping.source.mode": "source_enabled"}


def test_synthetic_source_cannot_be_had_by_switching_it_off():
    params, carriers = passed(IndexSpec(source_mode="synthetic"), {}, ("source_enabled",), TrackSettings())
    assert params == {} and carriers == {"index.mapping.source.mode": ""}


def test_settings_that_the_track_has_instead_of_index_settings_are_kept():
    kept = through(IndexSpec(codec="default"), TrackSettings(create=[{}, NYC, NYC]))
    assert kept == {**NYC, "index.codec": "default"}


def test_of_different_settings_none_is_taken():
    two = TrackSettings(create=[NYC, {"index.codec": "default"}])
    assert through(IndexSpec(codec="default"), two) == {"index.codec": "default"}


def test_a_users_index_settings_are_kept():
    index = IndexSpec(codec="best_compression")
    track = TrackSettings(create=[NYC])
    users = {"index.refresh_interval": "5s"}
    assert through(index, track, index_settings=users) == {**users, "index.codec": "best_compression"}


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        ([{"codec": "default"}], {"codec": "best_compression"}),
        ([{"index.codec": "default"}], {"index.codec": "best_compression"}),
        (
            [{"index": {"codec": "default", "sort": {"field": "a"}}}] * 2,
            {"index": {"codec": "best_compression", "sort.field": "a"}},
        ),
        ([{"index": {"number_of_shards": 1}}], {"index.codec": "best_compression"}),
        ([{"index": {"codec": "default"}}, {}], {"index.codec": "best_compression"}),
        ([], {"index.codec": "best_compression"}),
    ],
)
def test_the_spelling_of_the_track_is_kept(bodies, expected):
    assert through(IndexSpec(codec="best_compression"), TrackSettings(bodies=bodies)) == expected


def test_nested_settings_stay_nested():
    own = TrackSettings(create=[{"index": {"codec": "default", "refresh_interval": "30s"}}])
    found = through(IndexSpec(codec="best_compression"), own)
    assert found == {"index": {"codec": "best_compression", "refresh_interval": "30s"}}


@pytest.mark.parametrize(
    ("index", "params"),
    [
        (IndexSpec(shards=2), {"number_of_shards": 3}),
        (IndexSpec(source_mode="stored"), {"source_enabled": False}),
        (IndexSpec(codec="default"), {"index_settings": {"index": {"codec": "best_compression"}}}),
        (IndexSpec(codec="default"), {"index_settings": {"codec": "best_compression"}}),
        (IndexSpec(codec="default"), {"index_settings": "best_compression"}),
    ],
)
def test_a_users_parameter_that_says_something_else_is_a_contradiction(index, params):
    exposed = ("number_of_shards", "source_enabled", "index_settings")
    with pytest.raises(ContradictionError, match=r"race\.params"):
        passed(index, params, exposed, TrackSettings())


def test_the_same_value_in_another_type_is_none():
    assert passed(IndexSpec(shards=2), {"number_of_shards": "2"}, ("number_of_shards",), TrackSettings())[0] == {
        "number_of_shards": 2
    }
    assert through(IndexSpec(codec="default"), index_settings={"codec": "default"}) == {"codec": "default"}


def test_flat_names_are_full():
    assert by_full_name({"codec": 1, "index": {"sort": {"field": [2]}}, "index.b": 3}) == {
        "index.codec": 1,
        "index.sort.field": [2],
        "index.b": 3,
    }
