"""What says that a machine was disturbed, and what does not."""

import math
import random
from collections.abc import Collection
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.message_form import looks_like

from fairlap.results.disturbance import (
    STEAL_SHARE,
    Disturbance,
    DisturbanceKind,
    disturbances,
    reading_tasks,
    remarks,
    stolen_share,
)
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record, Task
from fairlap_race.contract.watched_machines.canary_margins import CANARY_RATIO
from fairlap_race.contract.watched_machines.machine_watch import Canary, MachineWatch, Stall, WatchedSpan
from fairlap_race.contract.watched_machines.resources import (
    ELASTICSEARCH,
    LOAD_GENERATOR,
    Machine,
    MachineTable,
    TaskUsage,
    Usage,
    merged,
)
from fairlap_race.runner.watching.canary import lower_quartile
from fairlap_race.runner.watching.watched_use import with_use

NUMBER = st.floats(allow_nan=False, allow_infinity=False)
MAYBE = st.none() | NUMBER
QUIET = WatchedSpan(
    "search", 30.0, steal_share=0.01, processors=2.0, busy_cores=1.7, own_cores=0.5, elasticsearch_cores=1.0
)
CANARY = Canary("2026-01-01T00:00:00.000Z", 0.01, 0.02, 0.001)


def table(span: WatchedSpan = QUIET, before: Canary | None = CANARY, after: Canary | None = CANARY) -> MachineTable:
    return MachineTable(race_id="r", watch=MachineWatch(before, after, tasks=(span,)))


def disturbed(
    raced: MachineTable,
    elasticsearch: Collection[str] = ("a",),
    rally: str = "a",
    reading: Collection[str] = (),
    unread: Collection[str] = (),
    **how: bool,
) -> list[Disturbance]:
    assert raced.watch is not None
    return disturbances(raced.watch, elasticsearch, rally, reading, unread, **how)


def said(raced: MachineTable, elasticsearch: tuple[str, ...] = ("a",), rally: str = "a") -> str:
    remarked = list(remarks(disturbed(raced, elasticsearch, rally)))
    assert len(remarked) <= 1 and all(it.reason is Reason.MACHINE_DISTURBED for it in remarked)
    return remarked[0].text if remarked else ""


@pytest.mark.parametrize(
    ("raced", "words"),
    [
        (table(), ""),
        (table(replace(QUIET, steal_share=0.051)), "the hypervisor took 5.1 % of its processors' time in task search"),
        (table(replace(QUIET, steal_share=0.3, seconds=4.9)), ""),
        (table(replace(QUIET, steal_share=0.02, processors=64.0, busy_cores=30.0, own_cores=28.0)), ""),
        (
            table(replace(QUIET, steal_share=0.02, processors=64.0)),
            "took 43 % of the time in which its processors were",
        ),
        (table(replace(QUIET, steal_share=0.0015, processors=64.0)), ""),
        (table(replace(QUIET, busy_cores=2.0)), ""),
        (table(replace(QUIET, busy_cores=2.1)), "beside Rally and Elasticsearch something else used 0.6 cores"),
        (table(replace(QUIET, busy_cores=4.0, processors=64.0, steal_share=0.0)), ""),
        (table(replace(QUIET, busy_cores=None, steal_share=None)), ""),
        (table(replace(QUIET, busy_cores=9.0, own_cores=None)), ""),
        (table(replace(QUIET, busy_cores=9.0, elasticsearch_cores=None)), ""),
        (table(after=replace(CANARY, cpu_seconds=0.0126)), "hashing, took 10 ms before the race and 12.6 ms after"),
        (table(after=replace(CANARY, cpu_seconds=0.0124)), ""),
        (table(before=replace(CANARY, memory_seconds=0.03)), "reading memory, took 30 ms before the race and 20 ms"),
        (table(after=replace(CANARY, disk_seconds=0.0059)), ""),
        (table(after=replace(CANARY, disk_seconds=0.0061)), "writing to its disk"),
        (table(before=None), ""),
        (table(after=replace(CANARY, cpu_seconds=-1.0, memory_seconds=0.0)), ""),
    ],
)
def test_each_disturbance_and_its_quiet_neighbour(raced: MachineTable, words: str) -> None:
    found = said(raced)
    assert words in found and bool(words) == bool(found)


@pytest.mark.parametrize(
    ("tasks", "race", "words"),
    [
        ((4.0, 3.0), (9.0, 0.2), "the hypervisor took 20 % of its processors' time in the race"),
        ((), (9.0, 0.2), "the hypervisor took 20 % of its processors' time in the race"),
        ((4.0,), (4.9, 0.2), ""),
        ((4.0,), (9.0, 0.05), ""),
        ((4.0,), (9.0, None), ""),
        ((4.0, 5.0), (9.0, 0.2), ""),
    ],
    ids=["all short", "no task", "a short race", "little", "unknown", "one is long enough"],
)
def test_of_tasks_that_are_all_short_the_race_is_judged_for_steal(
    tasks: tuple[float, ...], race: tuple[float, float | None], words: str
) -> None:
    found = table()
    assert found.watch is not None
    spans = tuple(replace(QUIET, seconds=seconds) for seconds in tasks)
    whole = WatchedSpan("", race[0], steal_share=race[1], processors=2.0, busy_cores=2.0)
    said_of = said(replace(found, watch=replace(found.watch, race=whole, tasks=spans)))
    assert words in said_of and bool(words) == bool(said_of)


def stalled(seconds: float, collected: float = 0.0, task: str = "search") -> MachineTable:
    found = table()
    assert found.watch is not None
    return replace(found, watch=replace(found.watch, stalls=(Stall("", task, seconds, collected),)))


def test_over_http_the_load_generator_alone_may_have_stood_still() -> None:
    (found,) = remarks(disturbed(stalled(3.0), (), over_http=True))
    assert "disturbed: it stood still for 3.0 s or more in task search" in found.text
    (found,) = remarks(disturbed(table(replace(QUIET, steal_share=0.2)), (), over_http=True))
    assert "the hypervisor took 20 %" in found.text


@pytest.mark.parametrize(
    ("raced", "words"),
    [
        (stalled(0.9), ""),
        (stalled(3.0), "it or Elasticsearch stood still for 3.0 s or more in task search"),
        (stalled(3.0, collected=0.4), "for 3.0 s or more in task search, 0.4 s of it to collect garbage"),
        (stalled(3.0, collected=2.5), ""),
        (stalled(3.0, task=""), ""),
    ],
)
def test_a_time_without_answers(raced: MachineTable, words: str) -> None:
    found = said(raced)
    assert words in found and bool(words) == bool(found)


def written(megabytes: float, read: float = 0.0, share: float = 0.5, merging: bool | None = None) -> MachineTable:
    """A search of 30 s, while the disk was written and read so many MB a second."""
    disk = {"data_written_bytes": 30e6 * megabytes, "data_read_bytes": 30e6 * read}
    return table(replace(QUIET, io_waiting_share=share, own_cores=1.3, merging=merging, **disk))


@pytest.mark.parametrize(
    ("raced", "reading", "elsewhere", "words"),
    [
        (written(20), "search", "a", "waited for its disk 50 % of task search, which only reads, while 20.0 MB"),
        (written(20), "bulk", "a", ""),
        (written(20), "search", "b", ""),
        (written(20, share=0.2), "search", "a", ""),
        (written(0.4), "search", "a", ""),
        (written(20, read=30), "search", "a", ""),
        (written(20, merging=False), "search", "a", "task search, which only reads, while 20.0 MB"),
        (written(20, merging=True), "search", "a", ""),  # what it indexed before
    ],
)
def test_who_writes_while_elasticsearch_reads(raced: MachineTable, reading: str, elsewhere: str, words: str) -> None:
    found = "".join(it.text for it in remarks(disturbed(raced, ["a"], elsewhere, [reading])))
    assert words in found and bool(words) == bool(found)


def test_in_turn_what_others_used_and_wrote_may_be_the_other_clusters() -> None:
    raced = table(replace(QUIET, busy_cores=2.5, io_waiting_share=0.5, data_written_bytes=600e6, steal_share=0.2))
    alone, in_turn = ([it.kind for it in disturbed(raced, reading=["search"], in_turn=each)] for each in (False, True))
    assert alone == [DisturbanceKind.STEAL, DisturbanceKind.OTHERS, DisturbanceKind.WRITERS]
    assert in_turn == [DisturbanceKind.STEAL]


@pytest.mark.parametrize(
    ("elasticsearch", "rally", "busy", "words"),
    [
        (("a",), "a", 1.9, ""),
        (("b",), "a", 1.1, "beside Rally something else used 0.6 cores of it in task search"),
        (("b",), "a", 0.9, ""),
        (("a", "b"), "a", 9.0, ""),
        ((), "a", 9.0, ""),
        (("b",), "", 9.0, ""),
    ],
)
def test_whose_cpu_time_it_is(elasticsearch: tuple[str, ...], rally: str, busy: float, words: str) -> None:
    found = said(table(replace(QUIET, busy_cores=busy)), elasticsearch, rally)
    assert words in found and bool(words) == bool(found)
    assert not found or looks_like(Reason.MACHINE_DISTURBED.example, found)


@given(
    st.builds(
        WatchedSpan,
        task=st.text(max_size=5),
        seconds=NUMBER,
        steal_share=MAYBE,
        processors=MAYBE,
        busy_cores=MAYBE,
        own_cores=MAYBE,
        elasticsearch_cores=MAYBE,
        data_written_bytes=MAYBE,
        data_read_bytes=MAYBE,
    ),
    st.builds(Canary, cpu_seconds=MAYBE, memory_seconds=MAYBE, disk_seconds=MAYBE),
)
def test_whatever_a_pod_writes_can_be_judged(span: WatchedSpan, canary: Canary) -> None:
    forth, back = said(table(span, after=canary)), said(table(span, before=canary, after=CANARY))
    assert bool(forth) == bool(back), "no direction of time matters"


def machines(own: Usage, *nodes: Usage) -> tuple[Machine, ...]:
    told = [(LOAD_GENERATOR, own), *((ELASTICSEARCH, node) for node in nodes)]
    return tuple(
        Machine(f"{role}-{n}", role, tasks=(TaskUsage("search", usage=it),)) for n, (role, it) in enumerate(told)
    )


def test_what_the_races_own_programs_used_is_known_of_each_node_or_not_at_all() -> None:
    """By the runner's own looks: a cluster too busy to answer is no stranger on its machine."""
    used, node = (
        Usage(30.0, cpu_mean_cores=0.5),
        Usage(30.0, cpu_mean_cores=0.7, disk_write_bytes=5.0, disk_read_bytes=2.0),
    )
    seen = MachineWatch(tasks=(replace(QUIET, own_cores=None, elasticsearch_cores=None), WatchedSpan("other", 9.0)))
    span, other = with_use(seen, machines(used, node, replace(node, disk_write_bytes=7.0)), 2).tasks
    assert (span.own_cores, span.elasticsearch_cores) == (0.5, 1.4)
    assert (span.data_written_bytes, span.data_read_bytes) == (7.0, 2.0)
    assert other == WatchedSpan("other", 9.0)
    for told in (machines(used, node), machines(used), machines(used, node, Usage(30.0))):
        assert with_use(seen, told, 2).tasks[0].elasticsearch_cores is None


def test_what_prometheus_knows_of_the_containers_is_not_who_else_was_there() -> None:
    """Its samples are 10 to 30 s apart, and its disk is the container's alone."""
    own, node = machines(Usage(30.0, cpu_mean_cores=0.5), Usage(30.0, cpu_mean_cores=1.0, disk_write_bytes=6e8))
    watch = with_use(MachineWatch(tasks=(replace(QUIET, io_waiting_share=0.5),)), (own, node), 1)
    coarse = Usage(30.0, cpu_mean_cores=0.1, disk_write_bytes=1.0)
    better = tuple(
        merged(it, replace(it, race=coarse, tasks=(TaskUsage("search", usage=coarse),)), "prometheus")
        for it in (own, node)
    )
    (found,) = remarks(disturbed(MachineTable(race_id="r", machines=better, watch=watch), reading=["search"]))
    assert "20.0 MB a second were written" in found.text and "something else used" not in found.text


def test_each_disturbance_has_its_kind_and_the_remark_joins_their_sentences() -> None:
    slow = replace(CANARY, cpu_seconds=0.02)
    wrote = {"io_waiting_share": 0.5, "data_written_bytes": 600e6}
    span = replace(QUIET, task="a; then b", steal_share=0.2, busy_cores=2.5, **wrote)
    watch = MachineWatch(CANARY, slow, tasks=(span,), stalls=(Stall("", span.task, 3.0, 0.0),))
    found = disturbances(watch, ["a"], "a", [span.task])
    assert [it.kind for it in found] == list(DisturbanceKind)
    (remark,) = remarks(found)
    words = "; ".join(it.sentence for it in found)
    assert remark.text == f"the load generator's machine was disturbed: {words}"


def test_what_disturbs_a_task_that_nobody_reads_disturbs_no_number() -> None:
    busy = replace(QUIET, task="pause-before-search@2", steal_share=0.3, busy_cores=2.5)
    watch = MachineWatch(tasks=(busy, QUIET), stalls=(Stall("", busy.task, 3.0, 0.0),))
    raced = MachineTable(race_id="r", watch=watch)
    assert len(list(remarks(disturbed(raced)))) == 1
    assert not list(remarks(disturbed(raced, unread=[busy.task])))


def test_a_race_of_short_tasks_and_a_long_pause_says_nothing_of_these() -> None:
    pause, short = WatchedSpan("pause", 60.0, steal_share=0.3), WatchedSpan("search", 3.0, steal_share=0.0)
    whole = WatchedSpan("", 63.0, steal_share=0.29)
    raced = MachineTable(race_id="r", watch=MachineWatch(race=whole, tasks=(pause, short)))
    assert not list(remarks(disturbed(raced, unread=[pause.task])))


def test_what_a_table_of_another_shape_says_is_nothing() -> None:
    assert MachineTable.from_json('{"format":1,"raceId":"r","watch":7}') is not None
    read = MachineTable.from_json(table().to_json())
    assert read is not None and read.watch == table().watch


def test_a_quiet_machines_canary_stays_within_its_margin() -> None:
    """Single pieces of work vary by 6 % on a quiet virtual machine, and every tenth is held up for twice its time."""
    rng, alarms, races = random.Random(14), 0, 2000

    def quartile() -> float:
        pieces = [math.exp(abs(rng.gauss(0, 0.06))) * (2 if rng.random() < 0.1 else 1) for _ in range(12)]
        return lower_quartile(pieces) or 0.0

    for _ in range(races):
        alarms += abs(math.log(quartile() / quartile())) > math.log(CANARY_RATIO)
    assert alarms == 0


@pytest.mark.parametrize(
    ("beside", "began", "reads"),
    [("bulk", 10, False), ("bulk", 40, True), ("sleep", 10, True), ("term-search", 10, False), ("search", 10, True)],
)
def test_a_task_beside_one_that_may_write_does_not_only_read(beside: str, began: int, reads: bool) -> None:
    def ran(name: str, kind: str, start: int) -> Task:
        begin, end = (f"2026-01-01T00:00:{at:02d}+00:00" for at in (start, start + 19))
        return Task(task=name, type=kind, started_at=begin, measured_from=begin, ended_at=end)

    record = Record(tasks=(ran("other", beside, began), ran("search", "search", 20)))
    assert ("search" in reading_tasks(record)) == reads


@given(st.sampled_from([1.0, 2.0]), st.floats(0, 1), st.floats(0, 1))
def test_on_one_or_two_processors_it_is_the_share_of_all_time_that_decides(
    processors: float, steal: float, busy: float
) -> None:
    span = replace(QUIET, processors=processors, steal_share=steal, busy_cores=busy * (1 - steal) * processors)
    share = stolen_share(span)
    assert share is not None and (share > STEAL_SHARE) == (steal > STEAL_SHARE)
