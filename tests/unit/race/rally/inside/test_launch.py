"""What Rally's process writes for the runner, from objects shaped like Rally's."""

from types import SimpleNamespace

import pytest

from fairlap_race.rally.inside.launch import Observer, _ShorterSleep
from fairlap_race.rally.live_files import SAMPLES, actor_pids, pid_file, read_state
from fairlap_race.rally.samples import tally, task_record

TASK = SimpleNamespace(
    name="bulk",
    operation=SimpleNamespace(name="bulk-op", type="bulk"),
    clients=4,
    target_throughput=SimpleNamespace(value=10.0, unit="ops/s"),
)


class Task(SimpleNamespace):
    def __hash__(self):
        return hash(self.name)


def sample(kind=1, meta=None, ops=100, start=5.0, at=1000.0):
    task = Task(**vars(TASK))
    return SimpleNamespace(
        task=task,
        sample_type=kind,
        request_meta_data=meta if meta is not None else {"success": True},
        total_ops=ops,
        total_ops_unit="docs",
        absolute_time=at,
        request_start=start,
        service_time=0.25,
        processing_time=0.3,
        latency=0.25,
        percent_completed=0.5,
        client_id=0,
    )


def test_samples_are_read_back(tmp_path):
    observer = Observer(tmp_path)
    failed = {"success": False, "success-count": 60, "http-status": 429, "error-description": "queue\nis full"}
    observer.samples([sample(kind=0), sample(), sample(meta=failed, at=999.5)])
    observer.samples([])
    observer.samples([sample()])
    with (tmp_path / SAMPLES).open() as lines:
        (found,) = tally(lines)
    assert found.samples == [1, 3] and found.errors == [0, 1]
    assert found.units_done == 260 and found.unit == "docs"
    assert found.first_error == "HTTP 429: queue\nis full"
    assert found.about["clients"] == 4 and found.about["target"] == 10.0
    assert found.first_wallclock == 999.5


@pytest.mark.parametrize(
    ("target", "schedule", "own"),
    [
        (None, "deterministic", False), (None, "poisson", False), (None, None, False), (None, "daily", True),
        (SimpleNamespace(value=5.0), "daily", False),
    ],
)  # fmt: skip
def test_which_tasks_send_by_a_plan_of_the_tracks_own(tmp_path, target, schedule, own):
    """As Rally's scheduler.run_unthrottled has it."""
    one = sample()
    one.task.target_throughput, one.task.schedule = target, schedule
    Observer(tmp_path).samples([one])
    (found,) = tally((tmp_path / SAMPLES).read_text().splitlines(keepends=True))
    assert found.has_own_schedule is own


def test_the_warm_up_that_a_track_plans_by_the_clock_is_kept_of_what_ends_by_it(tmp_path):
    for number, (period, target, kept) in enumerate(
        ((30, None, 10), (None, None, None), (30, TASK.target_throughput, None))
    ):
        one, folder = sample(), tmp_path / str(number)
        folder.mkdir()
        one.task.warmup_time_period, one.task.time_period, one.task.target_throughput = 10, period, target
        Observer(folder).samples([one])
        (found,) = tally((folder / SAMPLES).read_text().splitlines(keepends=True))
        assert task_record(found, None).planned_warmup_seconds == kept


def test_the_fewest_and_the_most_hits_of_searches_are_kept(tmp_path):
    observer = Observer(tmp_path)
    metas = [{"success": True, "hits": hits} for hits in (7, 7, 3, 5, 9, None)]
    observer.samples([sample(meta=meta) for meta in (*metas, {"success": False, "hits": 1})])
    text = (tmp_path / SAMPLES).read_text()
    (found,) = tally(text.splitlines(keepends=True))
    assert found.hits == [7, 3, 9] and found.samples == [0, 7]
    record = task_record(found, None)
    assert (record.fewest_hits, record.most_hits) == (3, 9)


def test_measured_searches_that_were_answered_in_part_are_counted(tmp_path):
    """As in Rally's runner with detailed-results; of its pages Rally reads no shards."""
    late, failed = {"timed_out": True}, {"timed_out": False, "shards": {"total": 5, "failed": 4}}
    whole = {"success": True, "timed_out": False, "shards": {"total": 5, "failed": 0}}
    metas = [late, {**late, **failed, "timed_out": True}, failed, whole, {"shards": 5}, {"shards": {"failed": None}}]
    observer = Observer(tmp_path)
    observer.samples([sample(meta=meta) for meta in metas])
    observer.samples([sample(kind=0, meta=late), sample(meta={**late, "success": False})])
    with (tmp_path / SAMPLES).open() as lines:
        record = task_record(tally(lines)[0], None)
    assert (record.timed_out, record.shards_failed) == (2, 2) and record.samples.normal == 7
    with (tmp_path / SAMPLES).open() as lines:
        record = task_record(tally(line for line in lines if line[0] != "?")[0], None)
    assert (record.timed_out, record.shards_failed) == (None, None), "nothing was read of it"


def driver(step, recent=(), steps=3):
    return SimpleNamespace(
        current_step=step,
        number_of_steps=steps,
        tasks_per_join_point=[[TASK]] * steps,
        most_recent_sample_per_client=dict(enumerate(recent)),
    )


def test_state(tmp_path):
    observer = Observer(tmp_path)
    assert read_state(tmp_path) is None
    observer.state(driver(-1), False)
    assert (read_state(tmp_path).step, read_state(tmp_path).steps) == (0, 3)
    eternal = sample()
    eternal.percent_completed = None
    observer.samples([sample(at=1234.5)])
    observer.state(driver(1, (sample(), eternal)), False)
    state = read_state(tmp_path)
    assert (state.step, state.tasks, state.percent, state.samples) == (2, ("bulk",), 50, 1)
    assert state.first_request_at == 1234.5
    observer.state(driver(1), True)
    assert read_state(tmp_path).percent == 100


def test_actor_pids(tmp_path):
    assert actor_pids(tmp_path) == {}
    pid_file(tmp_path, "driver").write_text("12")
    pid_file(tmp_path, "benchmark").write_text("")
    assert actor_pids(tmp_path) == {"driver": 12}


def test_the_waits_of_the_shutdown(tmp_path):
    answers = iter([True, False])
    time = _ShorterSleep(tmp_path / "shutdown", lambda: next(answers))
    assert time.monotonic() > 0
    time.sleep(0.01)
    assert (tmp_path / "shutdown").exists()
    before = time.monotonic()
    time.sleep(30)
    assert time.monotonic() - before < 2


def test_bulks_that_were_sent_again_say_what_was_lost(tmp_path):
    """As in Rally's runner: a success with fewer documents taken than sent."""
    lost = {"success": True, "success-count": 98, "error-count": 3, "retry-count": 1, "retried": True}
    taken = {"success": True, "success-count": 100.0, "error-count": 2, "retry-count": 2, "retried": True}
    failed = {"success": False, "success-count": 60, "error-count": 40, "retry-count": 1}
    Observer(tmp_path).samples([sample(meta=meta) for meta in (lost, taken, failed, {"success": True})])
    with (tmp_path / SAMPLES).open() as lines:
        (found,) = tally(lines)
    trouble = task_record(found, None).bulk_trouble
    assert trouble is not None
    assert (trouble.retried, trouble.retries, trouble.item_errors, trouble.lost) == (3, 4, 45, 2)
    assert found.units_done == 98 + 100 + 60 + 100 and found.errors == [0, 1]


def test_a_bulk_without_trouble_says_nothing_of_it(tmp_path):
    Observer(tmp_path).samples([sample(), sample(meta={"success": True, "success-count": 100, "error-count": 0})])
    with (tmp_path / SAMPLES).open() as lines:
        (found,) = tally(lines)
    assert task_record(found, None).bulk_trouble is None
