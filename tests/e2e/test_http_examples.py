"""The examples of HTTP targets: an engine, requests that hit, and what its cache tells, at a reduced size."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from kube import ROOT, Namespace, run

pytestmark = [pytest.mark.e2e, pytest.mark.long]
CLIENTS, HOSTS = ROOT / "examples" / "groonga-clients", ROOT / "examples" / "groonga-hosts"
ENGINES = ROOT / "examples" / "elasticsearch-vs-groonga"


@pytest.fixture(scope="module")
def engine(namespace: Namespace) -> Iterator[Namespace]:
    """The namespace, on a node that has the image of Groonga."""
    subprocess.run([sys.executable, "-m", "localkube", "example-image", "groonga"], cwd=ROOT, check=True, timeout=900)
    yield namespace
    for folder in (CLIENTS, HOSTS, ENGINES):
        namespace.attempt("delete", "-f", str(folder), "--ignore-not-found", "--wait=false")


def started(namespace: Namespace, folder: Any, name: str) -> None:
    # Fewer pages are the same first ones, so the searches hit as well.
    engine = (folder / "1-groonga.yaml").read_text().replace('"100000"', '"5000"')
    namespace.kubectl("apply", "-f", "-", "-f", str(folder / "2-requests.yaml"), given=engine)
    namespace.kubectl("rollout", "status", f"statefulset/{name}", "--timeout=300s", seconds=320)


def manifest(path: Any) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return found


def test_clients_are_swept_and_half_of_the_searches_hit_the_cache(engine: Namespace) -> None:
    started(engine, CLIENTS, "groonga")
    made = manifest(CLIENTS / "3-benchmark.yaml")
    sweep = {"clientsRange": {"from": 1, "to": 3}, "duration": "6s", "interval": "1s"}
    made["spec"]["race"]["sweep"] |= sweep
    engine.apply(made)
    status = engine.until_over("groonga-clients")
    assert status["phase"] == "Succeeded", json.dumps(status, indent=1)
    rows = status["results"]["sweep"]["rows"]
    assert [row["clients"] for row in rows] == [1, 2, 3] and all(row["samples"] > 100 for row in rows)
    (probe,) = status["results"]["probes"]
    assert probe["value"]["median"] == pytest.approx(50, abs=5)
    command = [sys.executable, "-m", "fairlap.cli", "results", "groonga-clients", "-n", engine.name, "-o"]
    lines = list(csv.DictReader(io.StringIO(run(*command, "drnbench").stdout)))
    assert [int(line["n_clients"]) for line in lines] == [1, 2, 3]
    assert [float(line["200"]) for line in lines] == [100, 100, 100]
    assert [float(line["queries_per_second"]) for line in lines] == [
        pytest.approx(row["throughput"]["median"], rel=0.02) for row in rows
    ]
    assert run(*command, "svg").stdout.startswith("<svg")
    assert status["environment"]["httpHosts"] == ["groonga-0.groonga:10041 (Groonga/13.0.0)"]


def test_too_few_different_searches_do_not_count(engine: Namespace) -> None:
    started(engine, CLIENTS, "groonga")
    (requests,) = yaml.safe_load_all((CLIENTS / "2-requests.yaml").read_text())
    lines = requests["data"]["requests.ndjson"].splitlines()[:60]
    requests["metadata"]["name"], requests["data"] = "few", {"requests.ndjson": "\n".join(lines)}
    made = manifest(CLIENTS / "3-benchmark.yaml")
    made["metadata"]["name"] = "few-searches"
    race = made["spec"]["race"]
    del race["sweep"]
    race["requests"]["configMap"]["name"], race["load"] = "few", {**race["load"], "duration": "6s", "warmup": "2s"}
    engine.apply(requests, made)
    status = engine.until_over("few-searches")
    assert (status["phase"], status["reason"]) == ("Failed", "ConditionNotMet"), json.dumps(status, indent=1)
    assert "race.probes cache_hit_rate is 9" in status["message"] and "between 45 and 55" in status["message"]


def test_the_requests_are_those_that_the_engine_itself_gives(engine: Namespace) -> None:
    """As the README says: titles from its own answers, and a search for each."""
    started(engine, CLIENTS, "groonga")
    path = "/d/select?table=Pages&output_columns=title&limit=200"
    service = f"/api/v1/namespaces/{engine.name}/pods/groonga-0:10041/proxy"
    answers = engine.kubectl("get", "--raw", f"{service}{path}")
    wanted = (
        "/d/select?table=Pages&match_columns=title%7C%7Ctext&query={term}&sort_keys=title&drilldown=category"
        "&limit=10&output_columns=_key,snippet_html(title),snippet_html(text),category"
    )
    argv = [
        sys.executable,
        "-m",
        "fairlap.cli",
        "requests",
        "from-search-results",
        "-",
        "--words",
        "--most",
        "200",
        "--field",
        "title",
        "--path",
        wanted,
    ]
    made = subprocess.run(argv, input=answers, capture_output=True, text=True, check=True, timeout=240).stdout
    (requests,) = yaml.safe_load_all((CLIENTS / "2-requests.yaml").read_text())
    assert made.splitlines() == requests["data"]["requests.ndjson"].splitlines()


def test_hosts_are_the_axis_of_a_comparison(engine: Namespace) -> None:
    started(engine, HOSTS, "groongas")
    made = manifest(HOSTS / "3-comparison.yaml")
    spec = made["spec"]
    spec["template"]["race"]["load"] |= {"duration": "6s", "warmup": "2s"}
    spec["variants"], spec["calibrate"] = spec["variants"][:2], False
    spec["design"] |= {"blocks": 2, "disturbed": "Count"}  # other tests race on the same machine
    engine.apply(made)
    name = "comparison/groonga-hosts"
    engine.kubectl("wait", name, "--for=jsonpath={.status.completionTime}", "--timeout=900s", seconds=920)
    status = engine.get("comparison", "groonga-hosts")["status"]
    assert status["phase"] == "Complete" and status["verdict"] != "NotComparable", json.dumps(status, indent=1)
    fair = next(it for it in status["conditions"] if it["type"] == "Fair")
    assert fair["status"] == "True", fair
    (two,) = status["contenders"]
    assert two["gates"][0]["change"] > 20, two  # each server has a fifth of a CPU


def test_two_engines_are_asked_what_finds_the_same(engine: Namespace) -> None:
    engines = (ENGINES / "1-engines.yaml").read_text().replace('"100000"', '"5000"')
    engine.kubectl("apply", "-f", "-", "-f", str(ENGINES / "2-requests.yaml"), given=engines)
    engine.kubectl("wait", "--for=condition=Complete", "job/pages-to-elasticsearch", "--timeout=400s", seconds=420)
    made = manifest(ENGINES / "3-comparison.yaml")
    spec = made["spec"]
    spec["template"]["race"]["load"] |= {"duration": "8s", "warmup": "3s"}
    spec["design"] |= {"blocks": 2, "disturbed": "Count"}
    spec["calibrate"] = False
    engine.apply(made)
    engine.kubectl(
        "wait", "comparison/engines", "--for=jsonpath={.status.completionTime}", "--timeout=900s", seconds=920
    )
    status = engine.get("comparison", "engines")["status"]
    assert status["phase"] == "Complete" and status["verdict"] != "NotComparable", json.dumps(status, indent=1)
    fair = next(it for it in status["conditions"] if it["type"] == "Fair")
    assert fair["status"] == "True", fair
    (contender,) = status["contenders"]
    assert [gate["metric"] for gate in contender["gates"]] == ["throughput", "serviceTimeP50"]
