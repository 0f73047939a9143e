"""What Rally is given: the right arguments, and no secret anywhere but in one private file."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from fairlap_race.contract.specification.race_spec import (
    OPERATORS_CLIENT_OPTIONS,
    IndexSpec,
    Mode,
    RaceSpec,
    SpecError,
    TrackSource,
)
from fairlap_race.rally.config import Files, client_options, rally_argv, rally_env, write_files
from fairlap_race.track.load import ContradictionError, Request, track_params

PASSWORD = 'p%a$s,w:o"rd{}'  # noqa: S105
SPEC = RaceSpec(
    mode=Mode.RACE,
    namespace="ns",
    record="bm-race-1",
    race_id="ns.bm.1.race-1",
    track=TrackSource(path=Path("/track")),
    challenge="default",
    include_tasks=("bulk", "type:search"),
    user_tags={"round": 1, "date": "2026-01-01T00:00:00Z"},
    telemetry=("disk-usage-stats",),
    hosts=("es-http.ns.svc:9200",),
    ca_file=Path("/ca/ca.crt"),
)


def test_the_password_is_in_one_private_file_only(tmp_path):
    files = Files(tmp_path)
    write_files(SPEC, files, {"a": 1}, PASSWORD, 2)
    holders = [path for path in tmp_path.rglob("*") if path.is_file() and "w:o" in path.read_text()]
    assert holders == [files.config / "client.json"]
    assert stat.S_IMODE(holders[0].stat().st_mode) == 0o600
    assert json.loads(holders[0].read_text())["default"]["basic_auth_password"] == PASSWORD
    assert PASSWORD not in " ".join(rally_argv(SPEC, files, tmp_path / "t"))
    assert PASSWORD not in json.dumps(rally_env(files, {"PATH": "/bin"}))


def test_a_looser_file_is_replaced(tmp_path):
    files = Files(tmp_path)
    files.config.mkdir()
    (files.config / "client.json").write_text("old")
    (files.config / "client.json").chmod(0o644)
    write_files(SPEC, files, {}, PASSWORD, 1)
    assert stat.S_IMODE((files.config / "client.json").stat().st_mode) == 0o600


def test_client_options():
    options = client_options(SPEC, PASSWORD)
    assert options["timeout"] == 240 and options["max_retries"] == 0
    assert options["use_ssl"] is True and options["verify_certs"] is True and options["ca_certs"] == "/ca/ca.crt"
    mine = client_options(replace(SPEC, client_options={"timeout": 5, "http_compress": True}), None)
    assert mine["timeout"] == 5 and mine["http_compress"] is True and "basic_auth_user" not in mine


def test_an_api_key_and_a_certificate(tmp_path):
    files = SPEC.ca_file.parent / "tls.crt", SPEC.ca_file.parent / "tls.key"
    told = replace(SPEC, certificate_file=files[0], certificate_key_file=files[1])
    write_files(told, Files(tmp_path), {}, None, 1, "aWQ6a2V5")
    options = json.loads((tmp_path / "config/client.json").read_text())["default"]
    assert options["api_key"] == "aWQ6a2V5" and "basic_auth_user" not in options
    assert (options["client_cert"], options["client_key"]) == ("/ca/tls.crt", "/ca/tls.key")
    assert options["use_ssl"] is True and options["verify_certs"] is True
    holders = [path for path in tmp_path.rglob("*") if path.is_file() and "aWQ6a2V5" in path.read_text()]
    assert holders == [tmp_path / "config/client.json"] and stat.S_IMODE(holders[0].stat().st_mode) == 0o600


def test_a_key_for_each_client_needs_a_password():
    spec = replace(SPEC, client_options={"create_api_key_per_client": True})
    assert client_options(spec, PASSWORD)["create_api_key_per_client"] is True
    with pytest.raises(SpecError, match="create_api_key_per_client: Rally makes such keys with user and password"):
        client_options(spec, None, "aWQ6a2V5")


@pytest.mark.parametrize("name", sorted(OPERATORS_CLIENT_OPTIONS))
def test_tls_and_credentials_are_not_client_options(name):
    with pytest.raises(SpecError, match=name):
        client_options(replace(SPEC, client_options={name: False}), PASSWORD)


def test_arguments(tmp_path):
    argv = rally_argv(SPEC, Files(tmp_path), tmp_path / "tracks" / "t")
    for wanted in ("--on-error=abort", "--enable-assertions", "--offline", "--pipeline=benchmark-only"):
        assert wanted in argv
    assert "--test-mode" not in argv and f"--include-tasks={tmp_path}/config/include.json" in argv
    # Rally refuses to start when it finds its own name in another Python process's arguments.
    assert not any("esrally" in argument for argument in argv)
    smoke = rally_argv(replace(SPEC, mode=Mode.SMOKE), Files(tmp_path), tmp_path)
    assert "--test-mode" in smoke and "--enable-assertions" not in smoke, "assertions are of all the documents"


def test_environment(tmp_path):
    env = rally_env(Files(tmp_path), {"PATH": "/bin", "FAIRLAP_RACE_SPEC": "{}", "KUBERNETES_SERVICE_HOST": "x"})
    assert env["THESPIAN_BASE_IPADDR"] == "127.0.0.1" and env["RALLY_RUNNING_IN_DOCKER"] == "true"
    assert env["RALLY_HOME"] == str(tmp_path) and env["PATH"] == "/bin"
    assert "FAIRLAP_RACE_SPEC" not in env and "KUBERNETES_SERVICE_HOST" not in env


def test_files_that_rally_reads(tmp_path):
    files = Files(tmp_path)
    write_files(SPEC, files, {"number_of_shards": 2}, None, 3)
    assert json.loads((files.config / "hosts.json").read_text()) == {"default": ["es-http.ns.svc:9200"]}
    assert json.loads((files.config / "params.json").read_text()) == {"number_of_shards": 2}
    assert json.loads((files.config / "tags.json").read_text())["round"] == 1
    assert "available.cores = 3" in (tmp_path / ".rally" / "rally.ini").read_text()


REQUEST = Request(index=IndexSpec(shards=2, replicas=0, codec="best_compression"), params={"bulk_size": 5})
ALL = ("bulk_size", "codec", "error_level", "number_of_replicas", "number_of_shards")


def test_index_settings_become_the_tracks_parameters():
    params, passed_as = track_params(REQUEST, ALL)
    assert params == {
        "bulk_size": 5,
        "number_of_shards": 2,
        "number_of_replicas": 0,
        "codec": "best_compression",
        "error_level": "",
    }
    assert all(passed_as.values())


def test_what_the_track_does_not_expose_is_not_passed():
    params, passed_as = track_params(REQUEST, ("bulk_size",))
    assert params == {"bulk_size": 5}
    assert set(passed_as.values()) == {""} and len(passed_as) == 3


def test_a_users_own_error_level_stays():
    assert track_params(replace(REQUEST, params={"error_level": "non-fatal"}), ALL)[0]["error_level"] == "non-fatal"


@pytest.mark.parametrize("params", [{"number_of_shards": 3}, {"codec": "default"}, {"number_of_replicas": 1}])
def test_contradictions(params):
    with pytest.raises(ContradictionError):
        track_params(replace(REQUEST, params=params), ALL)


def test_the_same_value_twice_is_no_contradiction():
    assert track_params(replace(REQUEST, params={"number_of_shards": "2"}), ALL)[0]["number_of_shards"] == 2
