"""A Comparison with real parts: its races, its fairness, its verdict, its report."""

import base64
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kube import Namespace, benchmark, condition, run, until

pytestmark = [pytest.mark.e2e, pytest.mark.longest(2)]
SECONDS = 900
TWO_BLOCKS = {"stop": "fixed", "blocks": 2, "disturbed": "Count"}
"""Other tests race on the same machine: a block that they disturb is as good as any here."""
VERDICTS = {
    "Improved", "ImprovedWithinMargin", "NoDifference", "RegressedWithinMargin", "Regressed", "Inconclusive", "Mixed",
}  # fmt: skip


def comparison(name: str, *variants: dict[str, Any], template: dict[str, Any] | None = None, **spec: Any) -> Any:
    """As small as it goes: two blocks of races of a minute, no race of the baseline against itself."""
    return {
        "apiVersion": "fairlap.dev/v1alpha1",
        "kind": "Comparison",
        "metadata": {"name": name},
        "spec": {
            "template": {**benchmark("template")["spec"], **(template or {})},
            "variants": list(variants),
            "baseline": variants[0]["name"],
            "design": TWO_BLOCKS,
            "calibrate": False,
            **spec,
        },
    }


def fairlap(namespace: Namespace, *words: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "fairlap.cli", *words, "-n", namespace.name, seconds=300)


def over(namespace: Namespace, name: str) -> dict[str, Any]:
    argv = ("wait", "--for=jsonpath={.status.completionTime}", f"cmp/{name}", f"--timeout={3 * SECONDS}s")
    done = namespace.attempt(*argv, seconds=3 * SECONDS + 60)
    status: dict[str, Any] = namespace.get("cmp", name)["status"]
    assert done.returncode == 0, f"{done.stderr} {json.dumps(status, indent=1)[:4000]}"
    return status


def test_two_codecs_are_raced_in_blocks_on_kept_clusters_and_compared(namespace: Namespace, tmp_path: Path) -> None:
    codec = {"elasticsearch": {"index": {"codec": "best_compression"}}}
    design = {**TWO_BLOCKS, "state": "Kept", "tasks": ["search-request", "search-response"]}
    namespace.apply(comparison("codecs", {"name": "default"}, {"name": "best", "patch": codec}, design=design))
    status = over(namespace, "codecs")
    assert status["phase"] == "Complete", status
    assert [condition(status, kind) for kind in ("Accepted", "Fair", "Complete")] == ["True"] * 3, status["conditions"]
    blocks = [block for block in status["blocks"] if block["valid"] and block["number"] > 0]
    assert [block["number"] for block in blocks] == [1, 2]
    assert {tuple(block["order"]) for block in blocks} == {("default", "best"), ("best", "default")}, "balanced"
    (contender,) = status["contenders"]
    assert contender["verdict"] in VERDICTS
    (throughput,) = (gate for gate in contender["gates"] if gate["metric"] == "throughput")
    assert sorted(throughput["tasks"]) == ["search-request", "search-response"], "nothing else was raced"
    assert any("warm" in text for text in status["scope"])
    declared = [each for each in status["differences"] if each["rule"] == "Declared"]
    assert any("codec" in each["what"] for each in declared), status["differences"]
    for block in blocks:
        kept = namespace.get("configmap", block["record"])["binaryData"]["block.json.gz"]
        record = json.loads(gzip.decompress(base64.b64decode(kept)))
        assert len(record["races"]) == 2 and all(race["numbers"] and race["facts"] for race in record["races"])
    namespace.attempt("wait", "--for=delete", "elasticsearch", "--all", "--timeout=120s", seconds=130)
    assert not namespace.items("elasticsearch"), "they go with its end"
    page = tmp_path / "codecs.html"
    done = fairlap(namespace, "report", "codecs", "--output", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "<svg" in text and not re.search(r"""(src|href|action)\s*=\s*["']?\s*(https?:)?//""", text)
    assert fairlap(namespace, "gate", "codecs").returncode in (0, 1, 3)


@pytest.mark.long
def test_two_things_changed_at_once_are_not_comparable(namespace: Namespace) -> None:
    """8.11.0 on Java 17 against 9.0.0 on Java 21: what made the difference, nobody could tell."""
    newer = {"name": "9.0.0", "patch": {"elasticsearch": {"version": "9.0.0", "java": 21}}}
    template = benchmark("template", elasticsearch={"version": "8.11.0", "java": 17})["spec"]
    namespace.apply(comparison("both", {"name": "8.11.0"}, newer, template=template))
    status = over(namespace, "both")
    assert (status["phase"], status["verdict"]) == ("Complete", "NotComparable"), status
    assert condition(status, "Fair") == "False" and condition(status, "GatePassed") == "False"
    begun = [each["metadata"]["name"] for each in namespace.items("bm")]
    assert not [name for name in begun if name.startswith("both-")], "the specs alone show it, so nothing is raced"
    told = json.dumps([each for each in status["differences"] if not each["fair"]])
    assert "version" in told and "java" in told and "17" in told and "21" in told, told


@pytest.mark.long
def test_one_deleted_while_a_block_runs_is_gone_within_two_minutes(namespace: Namespace) -> None:
    codec = {"elasticsearch": {"index": {"codec": "best_compression"}}}
    namespace.apply(comparison("gone", {"name": "default"}, {"name": "best", "patch": codec}))
    until(lambda: namespace.attempt("get", "bm", "gone-1a").returncode == 0, 400, lambda: "block 1 never began")
    namespace.reach("gone-1a", "Racing")
    namespace.kubectl("delete", "cmp", "gone", "--wait=false")

    def left() -> list[str]:
        found = namespace.items("cmp,bm,elasticsearch,job,pod,pvc,serviceaccount,role,rolebinding,secret,configmap")
        names = [f"{each['kind']}/{each['metadata']['name']}" for each in found]
        return [name for name in names if "/gone" in name or "-gone-" in name]

    until(lambda: not left(), 120, lambda: f"two minutes later: {left()}")
