"""What k6 is given: an argument list, a plan, an environment, and no secret."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fairlap_race.contract.specification.http_spec import HttpLoad, HttpSpec
from fairlap_race.contract.specification.race_spec import Mode, RaceSpec, RequestsSource
from fairlap_race.http.k6 import (
    SCRIPT,
    K6Files,
    k6_argv,
    k6_env,
    k6_version,
    make_plan,
    path_as_sent,
    requests_before_shift,
    write_plan,
)

LOAD = HttpLoad("c4", 30, 4, None, 5)
HTTP = HttpSpec((LOAD,), timeout_seconds=2.5, headers={"X-A": "b"})
SPEC = RaceSpec(
    Mode.RACE,
    "ns",
    "bm-race-1",
    "id",
    http=HTTP,
    requests=RequestsSource(path=Path("/r")),
    hosts=("one:80", "[::1]:81"),
)


def test_the_plan_says_what_is_sent_and_where_secrets_lie(tmp_path):
    (tmp_path / "password").write_text("hunter2")
    spec = replace(SPEC, user="me", password_file=tmp_path / "password", tls=True)
    plan = make_plan(spec, HTTP, LOAD, Path("/work/requests.json"), 200)
    assert plan["hosts"] == ["https://one:80", "https://[::1]:81"]
    assert (plan["clients"], plan["nanoseconds"]) == (4, None)
    assert (plan["milliseconds"], plan["timeoutMilliseconds"]) == (35_000, 2500)
    assert plan["passwordFile"] == str(tmp_path / "password") and "hunter2" not in json.dumps(plan)
    files = K6Files(tmp_path)
    write_plan(files, plan)
    assert json.loads(files.plan.read_text()) == plan and files.no_certificates.is_dir()


def test_each_of_several_loads_draws_other_requests_and_the_same_ones_in_every_race():
    loads = tuple(replace(LOAD, name=f"requests@{clients}", clients=clients) for clients in (1, 2, 4))
    swept = replace(HTTP, loads=loads)
    seeds = [make_plan(SPEC, swept, load, Path("/r"), 200)["seed"] for load in (*loads, *loads)]
    assert len(set(seeds)) == 3 and seeds[:3] == seeds[3:]
    assert make_plan(SPEC, replace(HTTP, loads=(LOAD,)), LOAD, Path("/r"), 200)["seed"] == HTTP.seed


@pytest.mark.parametrize(
    ("rate", "apart"),
    [
        (200.0, 5_000_000),
        (0.5, 2_000_000_000),
        (0.001, 1_000_000_000_000),
        (1_000_000.0, 1000),
        (33.333, 30_000_300),
        (0.4567, 2_189_621_195),
        (30_000.0, 33_333),
    ],
)
def test_a_rate_becomes_a_whole_number_of_what_k6_counts_in(rate, apart):
    assert make_plan(SPEC, HTTP, replace(LOAD, rate=rate), Path("/r"), 200)["nanoseconds"] == apart


def test_k6_reports_to_nobody_and_listens_nowhere(tmp_path):
    argv = k6_argv(K6Files(tmp_path))
    assert argv[:2] == ["k6", "run"] and argv[-1] == str(SCRIPT) and SCRIPT.is_file()
    assert {"--no-usage-report", "--summary-mode=disabled", "--no-thresholds", "--address="} <= set(argv)
    assert not any("insecure" in it for it in argv)


def test_the_environment_has_the_cluster_ca_alone_and_nothing_of_ours(tmp_path):
    base = {"PATH": "/bin", "FAIRLAP_RACE_SPEC": "x", "KUBERNETES_SERVICE_HOST": "x", "K6_OUT": "cloud",
            "HTTPS_PROXY": "http://proxy", "SSL_CERT_DIR": "/etc/ssl/certs"}  # fmt: skip
    files = K6Files(tmp_path)
    env = k6_env(SPEC, files, base)
    assert env == {"PATH": "/bin", "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path),
                   "K6_AUTO_EXTENSION_RESOLUTION": "false"}  # fmt: skip
    env = k6_env(replace(SPEC, ca_file=Path("/ca/ca.crt")), files, base)
    assert env["SSL_CERT_FILE"] == "/ca/ca.crt" and env["SSL_CERT_DIR"] == str(files.no_certificates)


def test_the_version_is_read_where_there_is_a_k6(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert k6_version() is None
    program = tmp_path / "k6"
    program.write_text("#!/bin/sh\necho 'k6 v1.8.1 (go1.26.8, linux/amd64)'\n")
    program.chmod(0o755)
    assert k6_version() == "1.8.1"


def test_the_script_takes_nothing_from_a_user():
    text = SCRIPT.read_text()
    assert text.count("__ENV") == 1 and "eval" not in text and "insecureSkipTLSVerify: false" in text


@pytest.mark.parametrize(
    ("lines", "senders", "hosts", "after"),
    [
        (200, 1, 2, 200), (200, 3, 2, 200), (200, 4, 2, 50), (3, 1, 2, 6),
        (1, 1, 3, 3), (7, 7, 2, 2), (12, 8, 3, 3), (5, 1, 1, 5),
    ],
)  # fmt: skip
def test_each_host_gets_each_line_and_as_many_requests(lines, senders, hosts, after):
    """As the script chooses: its line is client + number * clients, its host client + number + shift."""
    assert requests_before_shift(lines, senders, hosts) == after
    for client in range(senders):
        counts, seen = Counter(dict.fromkeys(range(hosts), 0)), set()
        for number in range(after * hosts):
            host = (client + number + number // after) % hosts
            seen.add(((client + number * senders) % lines, host))
            counts[host] += 1
            assert max(counts.values()) - min(counts.values()) <= 1
        assert len(set(counts.values())) == 1
        assert len(seen) == len({line for line, _ in seen}) * hosts


def test_the_script_takes_its_hosts_so():
    assert make_plan(SPEC, HTTP, LOAD, Path("/r"), 200)["shiftAfter"] == 50
    assert make_plan(SPEC, HTTP, replace(LOAD, rate=10), Path("/r"), 200)["shiftAfter"] == 200
    text = SCRIPT.read_text()
    assert "Math.floor(number / plan.shiftAfter)" in text and "(client + number + shift) % plan.hosts.length" in text


def test_the_script_times_by_the_clock_that_nobody_sets_and_tells_of_connections():
    """k6's own times are by the wall clock, currentTestRunDuration among them."""
    text = SCRIPT.read_text()
    assert "scenario.progress * plan.milliseconds" in text and "const start = sinceBegin();" in text
    (line,) = re.findall(r"console\.log\(`(.*)`\)", text)
    names = [it.strip("${}") for it in line.split(",")]
    assert names == ["client", "host", "epoch", "start", "took", "around", "status", "code", "number", "opened"]


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("/d/select?q=%7e<|^{}>&b=a/../b%", "/d/select?q=%7e<|^{}>&b=a/../b%"),
        ("/a/../b%2Fc%7e;v=1,(2)!*'[x]", "/a/../b%2Fc%7e;v=1,(2)!*'[x]"),
        ('/<logs-{now/d}>/_search?q={"a"}', '/%3Clogs-%7Bnow/d%7D%3E/_search?q={"a"}'),
        ("/a%2Fb|c", "/a/b%7Cc"),
        ('/x"y^z`(1)', "/x%22y%5Ez%60%281%29"),
        ("/%e4|?", "/%E4%7C?"),
    ],
)
def test_a_path_is_sent_as_go_sends_it(written, sent):
    assert path_as_sent(written) == sent
