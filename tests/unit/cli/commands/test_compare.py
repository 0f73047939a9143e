"""`fairlap compare` of files, and of Benchmarks of a cluster that is made up."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from searched_races import searching_race
from tests.unit.comparison.judging.test_side_by_side import race_json

from fairlap.cli.commands.compare_command import compare
from fairlap.cli.edge.exits import CliError, UnknownNameError, UsageError
from fairlap.statistics.paired import LARGEST_CHANGE
from fairlap_race.contract.config_maps import packed as packed_texts
from fairlap_race.contract.recorded.http_record import HttpRecord, RequestHits
from fairlap_race.contract.recorded.record import KEY_RECORD, Counts, EnvironmentRecord, Record, Task, Totals
from fairlap_race.contract.recorded.track_record import TrackCorpus, TrackRecord
from fairlap_race.contract.specification.turns import TaskTurns
from fairlap_race.contract.untrusted import MAX_UNPACKED_BYTES
from fairlap_race.contract.watched_machines.resources import ELASTICSEARCH, KEY_RESOURCES, Machine, MachineTable, Usage
from fairlap_race.rally.race_json import rally_numbers


def folder(path: Path, scale: float, count: int = 5) -> str:
    path.mkdir()
    chosen = random.Random(path.name)
    for number in range(count):
        (path / f"race-{number}.json").write_text(json.dumps(race_json(scale, chosen)))
    return f"{path}/"


def no_cluster() -> Any:
    raise AssertionError("files need no cluster")


def printed(capsys: pytest.CaptureFixture[str], one: str, two: str, output: str = "text", **more: Any) -> str:
    connect = more.pop("connect", no_cluster)
    assert compare(connect, one, two, more.pop("in_blocks", False), output) == 0
    return capsys.readouterr().out


def test_folders_of_races(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = folder(tmp_path / "a", 1.0), folder(tmp_path / "b", 1.25)
    lines = printed(capsys, one, two).splitlines()
    assert lines[0] == f"Regressed: {two} against {one}, 5 and 5 races"
    assert lines[1].startswith("* throughput, geometric mean of 2 tasks is 19") and "% lower" in lines[1]
    assert lines[4].startswith("* store size: no difference that matters")
    assert any("it is not known whether Java" in line for line in lines)
    (row,) = (line for line in lines if line.startswith("bulk throughput, ops/s"))
    assert " to -" in row


def test_pairs_in_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = folder(tmp_path / "a", 1.0), folder(tmp_path / "b", 1.0)
    text = printed(capsys, one, two, in_blocks=True)
    assert text.startswith("NoDifference: ") and "5 pairs of races" in text and "not paired" not in text
    with pytest.raises(UsageError, match="are no pairs"):
        printed(capsys, one, f"{two},{tmp_path}/a/race-0.json", in_blocks=True)


def test_the_same_for_machines_and_tickets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = folder(tmp_path / "a", 1.0), folder(tmp_path / "b", 1.25)
    data = json.loads(printed(capsys, one, two, "json"))
    assert data["verdict"] == "Regressed" and data["races"] == [5, 5]
    gate = data["gates"][0]
    assert gate["low"] <= gate["change"] <= gate["high"] < 0 and gate["verdict"] == "Regressed"
    rows = list(csv.DictReader(io.StringIO(printed(capsys, one, two, "csv"))))
    assert (rows[0]["role"], rows[0]["verdict"]) == ("verdict", "Regressed")
    assert float(rows[1]["change"]) == pytest.approx(gate["change"]) and rows[-1]["role"] == "hint"
    text = printed(capsys, one, two, "md")
    assert text.startswith("**Regressed: ") and "<details>" in text and "| bulk throughput, ops/s |" in text


def test_intervals_of_one_column_have_one_confidence_and_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = folder(tmp_path / "a", 1.0), folder(tmp_path / "b", 1.0)
    rows = list(csv.DictReader(io.StringIO(printed(capsys, one, two, "csv"))))
    confidence = {role: {row["confidence"] for row in rows if row["role"] == role} for role in ("verdict", "hint")}
    assert confidence == {"verdict": {""}, "hint": {"0.95"}}
    assert {row["verdict"] for row in rows if row["role"] == "hint"} == {"NoDifference"}
    assert {row["confidence"] for row in rows if row["role"] == "gate"} == {"0.9"}, "of the verdict's own test"
    assert re.search(r"change +95 % interval +q\n", printed(capsys, one, two))
    assert "| change | 95 % interval | q |" in printed(capsys, one, two, "md")
    single = printed(capsys, f"{one}race-0.json", f"{two}race-0.json", "csv")
    assert {row["confidence"] for row in csv.DictReader(io.StringIO(single))} == {""}


@pytest.mark.parametrize("output", ["json", "csv", "text", "md"])
def test_a_number_next_to_nothing_makes_no_infinity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], output: str
) -> None:
    for name, rate in (("a", 5e-324), ("b", 1e300)):
        race = race_json()
        race["results"]["op_metrics"][0]["throughput"]["mean"] = rate
        (tmp_path / f"{name}.json").write_text(json.dumps(race))
    text = printed(capsys, f"{tmp_path}/a.json", f"{tmp_path}/b.json", output)
    assert not re.search(r"\b(inf|nan)", text, re.IGNORECASE)
    if output == "json":
        (hint,) = (each for each in json.loads(text)["hints"] if each["what"] == "bulk throughput")
        assert (hint["baseline"], hint["contender"], hint["change"]) == (5e-324, 1e300, LARGEST_CHANGE)


def test_what_is_not_comparable_is_judged_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = folder(tmp_path / "a", 1.0), folder(tmp_path / "b", 1.25)
    two = f"{two},{tmp_path}/b/race-0.json"
    rows = list(csv.DictReader(io.StringIO(printed(capsys, one, two, "csv"))))
    assert [row["verdict"] for row in rows if row["verdict"]] == ["NotComparable"]
    assert next(row["what"] for row in rows if row["role"] == "obstacle").startswith("one race is given 2 times")
    data = json.loads(printed(capsys, one, two, "json"))
    assert data["verdict"] == "NotComparable" and data["gates"]
    assert not any("verdict" in line for line in (*data["gates"], *data["hints"]))


def test_a_throughput_has_the_unit_of_its_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(6):
        race = race_json(1.0, random.Random(number))
        race["results"]["op_metrics"][0]["throughput"]["unit"] = "docs/s"
        (tmp_path / f"{number}.json").write_text(json.dumps(race))
    one, two = (",".join(f"{tmp_path}/{number}.json" for number in half) for half in ((0, 1, 2), (3, 4, 5)))
    data = json.loads(printed(capsys, one, two, "json"))
    units = {hint["what"]: hint["unit"] for hint in data["hints"]}
    assert units["bulk throughput"] == "docs/s" and units["search throughput"] == "ops/s"
    assert "\nbulk throughput, docs/s " in printed(capsys, one, two)


def test_a_name_of_others_is_no_formula_no_mention_and_no_element(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["=HYPERLINK(1)", "@team", "<img src=x>", "a|b"]
    for variant, scale in (("a", 1.0), ("b", 1.25)):
        (tmp_path / variant).mkdir()
        for number in range(5):
            race = race_json(scale, random.Random(f"{variant}{number}"))
            (measured, *_) = race["results"]["op_metrics"]
            race["results"]["op_metrics"] = [{**measured, "task": name, "operation": name} for name in names]
            race["cluster"]["revision"] = f"@{variant}"
            (tmp_path / variant / f"{number}.json").write_text(json.dumps(race))
    one, two = f"{tmp_path}/a/", f"{tmp_path}/b/"
    whats = [row["what"] for row in csv.DictReader(io.StringIO(printed(capsys, one, two, "csv")))]
    assert not any(what.startswith(("=", "+", "-", "@")) for what in whats) and any("=HYPERLINK" in w for w in whats)
    text = printed(capsys, one, two, "md")
    assert not re.search(r"@(?!\u2060)|(?<!\\)<(?!/?(details|summary)>)", text) and r"\<img src=x\>" in text
    assert r"\u" not in text, "no reader of Markdown makes a character of it"
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {7}


@pytest.mark.parametrize(
    ("one", "two", "repeated"),
    [
        ("a/0.json,a/0.json", "b/0.json,b/0.json", ["a/0.json, a/0.json", "b/0.json, b/0.json"]),
        ("a,a/1.json", "b", ["a/1.json, a/1.json"]),
        ("a", "b,copied.json", ["a/0.json, copied.json"]),
        ("es9", "es9", [f"es9 race-{number}, es9 race-{number}" for number in range(1, 6)]),
    ],
)
def test_one_race_is_not_taken_for_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    one: str, two: str, repeated: list[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name, scale in (("a", 1.0), ("b", 1.25)):
        folder(tmp_path / name, scale)
        for file in (tmp_path / name).iterdir():
            file.rename(file.with_name(file.name.removeprefix("race-")))
    (tmp_path / "copied.json").write_bytes((tmp_path / "a" / "0.json").read_bytes())
    paths = [",".join(f"./{word}" if word in ("a", "b") else word for word in text.split(",")) for text in (one, two)]
    lines = printed(capsys, *paths, connect=lambda: Cluster(es9=1.0)).splitlines()
    assert lines[0].startswith("NotComparable: ")
    said = [f"* one race is given 2 times ({names}): a copy of it is no other race" for names in repeated]
    assert [line for line in lines if line.startswith("* one race")] == said


def test_what_is_not_there_or_no_race(tmp_path: Path) -> None:
    good = folder(tmp_path / "a", 1.0)
    (tmp_path / "no.json").write_text("[]")
    (tmp_path / "empty").mkdir()
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(MAX_UNPACKED_BYTES + 1)
    for two, words in (
        (f"{tmp_path}/no.json", "is no race.json of Rally"),
        (f"{tmp_path}/gone.json", "cannot be read: No such file"),
        (f"{tmp_path}/empty", "has no file that ends in .json"),
        (f"{tmp_path}/huge.json", "huge.json is larger than 32 MiB: no race.json is"),
    ):
        with pytest.raises(UsageError, match=words):
            compare(no_cluster, good, two, False, "text")
    with pytest.raises(UsageError, match="give two"):
        compare(no_cluster, good, ",", False, "text")


def test_a_file_in_a_folder_that_one_may_not_enter_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may enter any, so it is the system that is made to refuse."""
    good, real = folder(tmp_path / "a", 1.0), Path.stat

    def stat(path: Path, **more: Any) -> Any:
        if "locked" in path.parts:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, **more)

    monkeypatch.setattr(Path, "stat", stat)
    with pytest.raises(UsageError, match=r"locked/race\.json cannot be read: Permission denied"):
        compare(no_cluster, good, f"{tmp_path}/locked/race.json", False, "text")


def recorded(name: str, race: dict[str, Any], hits: int | None = None) -> Record:
    """Return the record of a race that Rally tells of so, of 400 requests a task."""
    tasks = [
        Task(each["task"], unit="ops/s", samples=Counts(0, 400), rally=rally_numbers(each))
        for each in race["results"]["op_metrics"]
    ]
    tasks[-1] = replace(tasks[-1], fewest_hits=hits, most_hits=hits)
    return Record(race_id=name, tasks=tuple(tasks), totals=Totals(store_bytes=race["results"]["store_size"]))


class Cluster:
    """A cluster with some Benchmarks whose races are all alike but for their scale.

    One that is named old, odd or large has records that cannot be read; large has no race.json either, odd another one.
    """

    def __init__(self, hits: dict[str, int] | None = None, **scales: float) -> None:
        self._scales = scales
        self._hits = hits or {}
        self.invalid: dict[str, set[int]] = {}
        self.changed: dict[str, Callable[[Record], Record]] = {}
        self.used: dict[str, MachineTable] = {}
        self.told: dict[str, dict[str, Any]] = {}
        """by Benchmark what its environment is beside that of all"""

    def benchmark(self, name: str) -> dict[str, Any]:
        invalid = self.invalid.get(name, {6})
        raced = [
            {"name": f"race-{number}", "valid": number not in invalid, "record": f"{name}-race-{number}"}
            for number in range(1, 7)
        ]
        version = "9.0.0" if self._scales[name] == 1 else "8.11.0"
        node = {"node": f"{name}-race-6-es-default-0", "dataBytes": len(name), "memoryToData": 0.5, "heapBytes": 2**30}
        environment = {"version": version, "trackDigest": "sha256:1", "java": "21", "nodeData": [node]}
        environment |= self.told.get(name, {})
        race = {"track": {"builtin": "log_ingest"}, "userTags": {"variant": name}, "requireTasks": [name]}
        place = {"version": version, "scheduling": {"avoidMachines": [name]}}
        spec = {"elasticsearch": place, "race": race, "repetitions": 6, "checkedBy": f"{name}-0a"}
        status = {"phase": "Succeeded", "racesDone": "5/6", "races": raced, "environment": environment}
        return {"metadata": {"name": name}, "spec": spec, "status": status}

    def config_map(self, name: str) -> dict[str, Any] | None:
        benchmark = name.rsplit("-race-", 1)[0]
        if benchmark == "lost":
            return None
        race = race_json(self._scales[benchmark], random.Random(name))
        record = recorded(name, race, self._hits.get(benchmark))
        record = self.changed.get(benchmark, lambda it: it)(record)
        texts = {KEY_RECORD: "[]" if benchmark in ("old", "odd", "large") else record.to_json()}
        if benchmark in self.used:
            texts[KEY_RESOURCES] = self.used[benchmark].to_json()
        if benchmark != "large" and record.http is None:
            texts["race.json"] = "[]" if benchmark == "odd" else json.dumps(race)
        return {"binaryData": packed_texts(texts)}


def test_benchmarks(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster(es8=1.2, es9=1.0)
    text = printed(capsys, "es8", "es9", connect=lambda: cluster)
    assert text.startswith("Improved: es9 against es8, 5 and 5 races\n")
    assert "* spec.elasticsearch.version: 8.11.0 → 9.0.0" in text and "* ran: version: 8.11.0 → 9.0.0" in text
    assert (
        "nodeData" not in text
        and "userTags" not in text
        and "repetitions" not in text
        and "checkedBy" not in text
        and "it is not known whether Java" not in text
    )


def with_own_rates(record: Record) -> Record:
    return replace(record, tasks=tuple(replace(task, rate=1000.0) for task in record.tasks))


def test_what_is_compared_is_the_rate_of_the_measured_time_and_beside_files_that_of_rally(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster = Cluster(es8=1.2, es9=1.0, old=1.0)
    cluster.changed = dict.fromkeys(("es8", "es9"), with_own_rates)
    alike = printed(capsys, "es8", "es9", connect=lambda: cluster)
    assert re.search(r"throughput, geometric mean .*no difference", alike), "Rally alone tells one"
    mixed = printed(capsys, "es8", "old", connect=lambda: cluster)
    assert "not every race has it by the same source: throughput" in mixed and "throughput, geometric" not in mixed
    file = tmp_path / "race.json"
    file.write_text(json.dumps(race_json(1.0, random.Random("file"))))
    assert "throughput, geometric mean" in printed(capsys, "es8", str(file), connect=lambda: cluster)


def test_answers_come_before_speed(capsys: pytest.CaptureFixture[str]) -> None:
    """One that finds nothing is fast."""
    same = Cluster({"es8": 10, "es9": 10}, es8=1.2, es9=1.0)
    assert printed(capsys, "es8", "es9", connect=lambda: same).startswith("Improved: ")
    other = Cluster({"es8": 10, "es9": 0}, es8=1.2, es9=1.0)
    text = printed(capsys, "es8", "es9", connect=lambda: other)
    assert text.startswith("NotComparable: ") and "* ran: task search: hits is not the same: 10 and 0" in text


def test_documents_and_plugins_are_those_of_the_records_and_no_lines_of_the_status(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def raced(digest: str, origin: str, plugins: dict[str, str]) -> Callable[[Record], Record]:
        track = TrackRecord(corpora=(TrackCorpus("logs", "a, b.json", 12, digest, origin),))
        return lambda it: replace(it, track=track, environment=EnvironmentRecord(plugin_versions=plugins))

    cluster = Cluster(es8=1.0, es9=1.0)
    cluster.told = {"es8": {"corpora": ["x, generated"], "plugins": ["acme 1"]}, "es9": {"corpora": ["y, cache"]}}
    cluster.changed = {"es8": raced("aa", "generated", {"acme": "1"}), "es9": raced("aa", "cache", {"acme": "1"})}
    assert "corpora" not in (text := printed(capsys, "es8", "es9", connect=lambda: cluster)) and "acme" not in text
    cluster.changed["es9"] = raced("bb", "generated", {"acme": "2"})
    text = printed(capsys, "es8", "es9", connect=lambda: cluster)
    assert text.startswith("NotComparable: ") and "* ran: plugin acme: 1 → 2" in text
    assert "* ran: corpora[0] is not the same: logs/a, b.json, 12 bytes, aa and logs/a, b.json, 12 bytes, bb" in text


def test_a_heap_that_java_tells_otherwise_is_no_difference_where_its_flag_is_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cluster = Cluster(a1=1.0, a2=1.0, b1=1.0)
    for name, heap in (("a1", 1029177344), ("a2", 1030225920), ("b1", 1037959168)):
        cluster.told[name] = {"heapBytes": heap, "jvmFlags": ["-Xms1g", "-Xmx1g"]}
    assert "heapBytes" not in printed(capsys, "a1,a2", "b1", connect=lambda: cluster)
    for each in cluster.told.values():
        each["jvmFlags"] = []
    assert "heapBytes is not the same in the races of one variant" in printed(
        capsys, "a1,a2", "b1", connect=lambda: cluster
    )


def test_one_variant_may_be_several_benchmarks(capsys: pytest.CaptureFixture[str]) -> None:
    """Names of nodes and what they held are others in each, and are no difference."""
    cluster = Cluster(a1=1.0, a2=1.0, b1=1.0, b22=1.0)
    text = printed(capsys, "a1,a2", "b1,b22", connect=lambda: cluster, in_blocks=True)
    assert text.startswith("NoDifference: b1,b22 against a1,a2, 10 pairs of races\n") and "Not the same" not in text


def test_what_one_folder_raced_alone_is_named_as_the_command_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = folder(tmp_path / "a", 1.0), folder(tmp_path / "b", 1.0)
    for path in (tmp_path / "b").iterdir():
        race = json.loads(path.read_text())
        race["results"]["op_metrics"].pop()
        path.write_text(json.dumps(race))
    text = printed(capsys, one, two)
    assert text.startswith("NotComparable: ") and f"* search was raced by {one} alone: give both" in text


def test_what_the_files_lack_is_named_as_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = folder(tmp_path / "a", 1.0), folder(tmp_path / "b", 1.0)
    path = tmp_path / "b" / "race-0.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "challenge": None, "cluster": {"revision": "abc"}}))
    (line,) = [line for line in printed(capsys, one, two).splitlines() if line.startswith("* unknown, since not every")]
    assert line.endswith("was the same): track revision, challenge, pipeline, car, Elasticsearch, flavour")
    assert "unknown, since" not in printed(capsys, "es8", "es9", connect=lambda: Cluster(es8=1.0, es9=1.0))


@pytest.mark.parametrize("kind", ["folder", "file", ""])
@pytest.mark.parametrize("there_is_a_cluster", [True, False])
def test_a_path_that_is_taken_for_a_benchmark_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, there_is_a_cluster: bool
) -> None:
    class Empty:
        def benchmark(self, name: str) -> dict[str, Any]:
            raise UnknownNameError(f"there is no Benchmark {name}")

    def connect() -> Any:
        if there_is_a_cluster:
            return Empty()
        raise CliError("no cluster: it is gone")

    monkeypatch.chdir(tmp_path)
    if kind == "folder":
        Path("before").mkdir()
    elif kind == "file":
        Path("before").write_text("{}")
    with pytest.raises(CliError) as raised:
        compare(connect, "before", "after", False, "text")
    failure = "there is no Benchmark before" if there_is_a_cluster else "no cluster: it is gone"
    assert str(raised.value) == failure + (f"; before is a {kind} here, too: write ./before" if kind else "")
    with pytest.raises(CliError, match=r"^(there is no Benchmark x+|no cluster: it is gone)$"):
        compare(connect, "x" * 5000, "after", False, "text")


def test_tasks_that_rally_does_not_report_are_no_difference_beside_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = Cluster(es9=1.0)
    more = Task("refresh", samples=Counts(0, 3), rally=rally_numbers({"task": "refresh"}))
    cluster.changed = {"es9": lambda record: replace(record, tasks=(*record.tasks, more))}
    text = printed(capsys, "es9", folder(tmp_path / "a", 1.0), connect=lambda: cluster)
    assert text.startswith("NoDifference: ")


def test_a_benchmark_beside_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster(es9=1.0)
    text = printed(capsys, "es9", folder(tmp_path / "a", 1.0), connect=lambda: cluster)
    assert text.startswith("NoDifference: ") and "it is not known whether Java" in text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lost", "the record of lost race-1 is gone: there is no ConfigMap lost-race-1"),
        ("odd", "odd race-1 is no race.json of Rally with results"),
        ("large", "the record of large race-1 has no race.json.gz, nor a record.json that can be read"),
    ],
)
def test_a_record_that_is_gone(name: str, words: str) -> None:
    cluster: Any = Cluster(es9=1.0, lost=1.0, large=1.0, odd=1.0)
    with pytest.raises(CliError, match=words):
        compare(lambda: cluster, "es9", name, False, "text")


def test_a_record_from_before_is_compared_by_its_race_json(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "old", "es9", connect=lambda: Cluster(old=1.2, es9=1.0))
    assert text.startswith("Improved: es9 against old, 5 and 5 races\n")


def used(wrote: float, disk: str = "prometheus") -> MachineTable:
    """Return what two nodes did: half of the bytes each."""
    usage = Usage(seconds=60.0, memory_peak_bytes=1e9, disk_write_bytes=wrote / 2)
    node = Machine(role=ELASTICSEARCH, sources={"memory": "nodeStats", "disk": disk}, race=usage)
    return MachineTable(machines=(replace(node, name="a"), replace(node, name="b")))


def test_what_it_costs_is_beside_how_fast_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the question: memory and what was written, as hints."""
    cluster = Cluster(a=1.0, b=1.0)
    cluster.used = {"a": used(1e6), "b": used(3e6)}
    lines = printed(capsys, "a", "b", connect=lambda: cluster).splitlines()
    assert lines[0].startswith("NoDifference: "), "no gate decides by it unless it is declared in a Comparison"
    (row,) = [line for line in lines if "bytes written to disk" in line]
    assert "1,000,000" in row and "3,000,000" in row and any("peak of memory" in line for line in lines)
    assert "the whole device" not in "".join(lines)


def test_bytes_of_a_device_are_told_as_such_and_are_not_put_beside_those_of_containers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cluster = Cluster(a=1.0, b=1.0)
    cluster.used = {"a": used(1e6, "nodeStats"), "b": used(3e6, "nodeStats")}
    assert "bytes written to disk are of the whole device" in printed(capsys, "a", "b", connect=lambda: cluster)
    cluster.used["b"] = used(3e6)
    text = printed(capsys, "a", "b", connect=lambda: cluster)
    assert "3,000,000" not in text and "peak of memory" in text
    assert "not every race has it by the same source: bytes written to disk" in text


def over_http(record: Record, requests: int = 2, hits: tuple[int | None, ...] = (3, 4)) -> Record:
    """Return a record as a race over HTTP leaves it: one task, and no store."""
    of_http = HttpRecord(k6_version="1.0.0", requests=requests, hits=RequestHits("/hits", hits))
    return replace(record, tasks=(replace(record.tasks[0], task="requests"),), totals=Totals(), http=of_http)


def test_benchmarks_over_http(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without Rally there never is a race.json."""
    cluster: Any = Cluster(g1=1.0, g2=1.3)
    cluster.changed = dict.fromkeys(("g1", "g2"), over_http)
    text = printed(capsys, "g1", "g2", connect=lambda: cluster)
    assert text.startswith("Regressed: g2 against g1, 5 and 5 races\n") and "requests service time p99, ms" in text
    files = folder(tmp_path / "a", 1.0)
    with pytest.raises(CliError, match="g1 race-1 was raced over HTTP: "):
        compare(lambda: cluster, "g1", files, False, "text")


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"requests": 3}, "* ran: number of requests is not the same: 2 and 3"),
        ({"hits": (3, 5)}, "* ran: request 2: hits is not the same: 4 and 5"),
    ],
)
def test_other_requests_over_http_are_another_question(
    capsys: pytest.CaptureFixture[str], other: dict[str, Any], sentence: str
) -> None:
    cluster = Cluster(g1=1.0, g2=1.3)
    cluster.changed = {"g1": over_http, "g2": lambda record: over_http(record, **other)}
    lines = printed(capsys, "g1", "g2", connect=lambda: cluster).splitlines()
    assert lines[0].startswith("NotComparable: ") and sentence in lines


def test_many_requests_that_find_something_else_are_told_shortly(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster(g1=1.0, g2=1.0)
    cluster.changed = {
        "g1": lambda record: over_http(record, 100, (1,) * 100),
        "g2": lambda record: over_http(record, 100, (2,) * 100),
    }
    text = printed(capsys, "g1", "g2", "json", connect=lambda: cluster)
    obstacles = json.loads(text)["obstacles"]
    assert len(obstacles) == 31 and obstacles[-1] == "and 71 more of these"


def test_of_a_benchmark_the_requests_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """Rally gives p99 from 100 requests on, and p99.9 from 1,000: 400 are enough for p99, which no file proves."""

    def counted(requests: int) -> Callable[[Record], Record]:
        return lambda record: replace(
            record, tasks=tuple(replace(task, samples=Counts(0, requests)) for task in record.tasks)
        )

    cluster = Cluster(es8=1.0, es9=1.0)
    text = printed(capsys, "es8", "es9", connect=lambda: cluster)
    assert "* service time p99, geometric mean of 2 tasks" in text
    cluster.changed = {"es8": counted(367)}
    text = printed(capsys, "es8", "es9", connect=lambda: cluster)
    assert "service time p99, geometric mean" not in text
    assert "p99 of bulk, search decides nothing: it needs 368 requests, and not every race had as many" in text


def test_of_races_in_turn_no_throughput_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """It is that of all of them together."""
    cluster = Cluster(es8=1.0, es9=1.3)
    cluster.changed = dict.fromkeys(
        ("es8", "es9"),
        lambda record: replace(
            record, tasks=tuple(replace(task, turns=TaskTurns(task.task, in_turn=400)) for task in record.tasks)
        ),
    )
    text = printed(capsys, "es8", "es9", connect=lambda: cluster)
    assert (
        text.startswith("Regressed: ") and "* throughput, geometric mean" not in text and "bulk throughput," not in text
    )
    assert "throughput of bulk, search decides nothing: not every race has a number above 0 of it" in text


def test_of_races_that_look_for_their_capacity_it_alone_decides(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster(es8=1.0, es9=1.0)
    cluster.changed = {
        "es8": lambda record: replace(searching_race(300.0), race_id=record.race_id),
        "es9": lambda record: replace(searching_race(600.0), race_id=record.race_id),
    }
    found = json.loads(printed(capsys, "es8", "es9", "json", connect=lambda: cluster))
    assert [gate["what"] for gate in found["gates"]] == ["capacity of search"] and found["verdict"] == "Improved"
    assert not [line for line in found["hints"] if "probe" in line["what"]]


def test_beside_files_a_benchmark_needs_a_race_json(tmp_path: Path) -> None:
    files = folder(tmp_path / "a", 1.0)
    cluster: Any = Cluster(es9=1.0, large=1.0)
    with pytest.raises(CliError, match="of large race-1 has no race"):
        compare(lambda: cluster, "large", files, False, "text")


def test_pairs_are_races_of_the_same_name(capsys: pytest.CaptureFixture[str]) -> None:
    """What the other has no valid race for is left out: the next one's hour was another one."""
    cluster: Any = Cluster(es8=1.0, es9=1.0)
    cluster.invalid = {"es8": {2}, "es9": {5, 6}}
    text = printed(capsys, "es8", "es9", connect=lambda: cluster, in_blocks=True)
    assert text.startswith("NoDifference: es9 against es8, 3 pairs of races\n")
    alone = "es8 race-5, es8 race-6, es9 race-2"
    assert f"* left out, since the other has no valid race of that name: {alone}" in text
    cluster.invalid = {"es8": {1, 2, 3}, "es9": {4, 5, 6}}
    with pytest.raises(UsageError, match=r"no two valid races have the same name \(es8 race-4, "):
        compare(lambda: cluster, "es8", "es9", True, "text")


@pytest.mark.parametrize(("all_tell", "verdict"), [(True, "NoDifference"), (False, "Inconclusive")])
def test_files_are_paired_in_the_order_of_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], all_tell: bool, verdict: str
) -> None:
    """Rally names the folder of a race by lot; the machine is slower from race to race, by far."""
    for variant in "ab":
        names = random.Random(variant).sample(range(100), 5)
        for hour, name in enumerate(names):
            race = race_json(1.5**hour, random.Random(f"{variant}{hour}"))
            if all_tell or hour:
                race["race-timestamp"] = f"20260101T0{hour}0000Z"
            path = tmp_path / variant / f"{name:02d}" / "race.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(race))
    text = printed(capsys, f"{tmp_path}/a/", f"{tmp_path}/b/", in_blocks=True)
    assert text.startswith(f"{verdict}: ")


@pytest.mark.parametrize(
    ("counts", "in_blocks", "words"),
    [
        ((1, 1), False, "1 race each"), ((5, 1), False, "5 races and 1 race"), ((1, 3), False, "1 race and 3 races"),
        ((1, 1), True, "1 pair of races"),
    ],
)  # fmt: skip
def test_counts_have_their_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], counts: tuple[int, int], in_blocks: bool, words: str
) -> None:
    one, two = (folder(tmp_path / name, 1.0, count) for name, count in zip("ab", counts, strict=True))
    text = printed(capsys, one, two, in_blocks=in_blocks)
    assert text.splitlines()[0].endswith(f", {words}") and f" times the baseline's, in {words}\n" in text


@pytest.mark.parametrize(
    ("scale", "times"), [(1.25, "1.25"), (1000.0, "1,000"), (1 / 1024, "0.0009766"), (1e-9, "1e-09")]
)
def test_how_many_times_it_is_never_reads_as_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scale: float, times: str
) -> None:
    race = race_json(1.0, random.Random("a"))
    for name, size in (("a", 1e15), ("b", 1e15 * scale)):
        (tmp_path / name).mkdir()
        race["results"]["store_size"] = size
        (tmp_path / name / "race.json").write_text(json.dumps(race))
    text = printed(capsys, f"{tmp_path}/a/", f"{tmp_path}/b/")
    assert f"* store size: {times} times the baseline's, in 1 race each\n" in text
