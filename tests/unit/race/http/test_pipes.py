"""Pipes are read while they are written, to the last line, whoever writes slowly or much."""

import threading
import time

from fairlap_race.http.pipes import KeptLog, PipeReader


def test_every_line_of_both_pipes_is_handed_on(tmp_path):
    lines: list[str] = []
    log: list[str] = []
    reader = PipeReader({tmp_path / "lines": lines.append, tmp_path / "log": log.append})

    def write(name: str, count: int) -> None:
        with (tmp_path / name).open("a", encoding="utf-8") as pipe:
            for number in range(count):
                pipe.write(f"{name} {number} {'x' * 50}\n")
                if number % 20_000 == 0:
                    pipe.flush()
                    time.sleep(0.02)

    writers = [threading.Thread(target=write, args=it) for it in (("lines", 60_000), ("log", 3))]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    reader.finish()
    assert [line.split()[1] for line in lines] == [str(number) for number in range(60_000)]
    assert len(log) == 3 and reader.error is None and not (tmp_path / "lines").exists()


def test_after_an_error_all_is_still_read_so_that_nobody_hangs(tmp_path):
    def refuse(_: str) -> None:
        raise ValueError("no")

    reader = PipeReader({tmp_path / "lines": refuse})
    with (tmp_path / "lines").open("a", encoding="utf-8") as pipe:
        for _ in range(100_000):
            pipe.write("x" * 50 + "\n")
    reader.finish()
    assert isinstance(reader.error, ValueError)


def test_a_pipe_that_nobody_writes_to_ends(tmp_path):
    reader = PipeReader({tmp_path / "lines": print})
    reader.finish()
    assert reader.error is None


def test_the_log_keeps_its_beginning_without_failed_requests():
    log = KeptLog()
    for line in ["Request Failed", "", *[f"line {number}" for number in range(300)]]:
        log.add(line)
    assert len(log.lines) == KeptLog.MOST_LINES and log.lines[0] == "line 0"


def test_what_reading_costs_is_known(tmp_path):
    reader = PipeReader({tmp_path / "lines": sorted})
    assert reader.cpu_seconds == 0
    with (tmp_path / "lines").open("a", encoding="utf-8") as pipe:
        for _ in range(50_000):
            pipe.write("x" * 50 + "\n")
    reader.finish()
    assert reader.cpu_seconds > 0.01
