"""The table of a report."""

from fairlap.results.machine_table import header, rows
from fairlap_race.contract.watched_machines.resources import Machine, MachineTable, TaskUsage, Usage


def test_rows_have_units_and_say_what_is_unknown() -> None:
    usage = Usage(60, 12, cpu_mean_cores=1.234, disk_read_bytes=3 * 1024**3, disk_write_bytes=12.0, disk_reads=12345.0,
                  io_waiting_share=0.055, young_gc_millis=7.0)  # fmt: skip
    node = Machine("bm-race-1-es-default-0", "elasticsearch", race=usage, tasks=(TaskUsage("bulk", None, Usage(5)),))
    first, second = rows(MachineTable(machines=(node,)), "bm-race-1")
    shown = dict(zip(header(), first, strict=True))
    assert (shown["machine"], shown["span"], shown["CPU mean"]) == ("es-default-0", "race", "1.23")
    assert (shown["disk read"], shown["disk written"], shown["reads"]) == ("3.0 GiB", "12 B", "12,345")
    assert (shown["for disk"], shown["GC ms"], shown["heap peak"]) == ("5.5 %", "7", "-")
    assert second[:3] == ["es-default-0", "bulk", "5.0"] and set(second[3:]) == {"-"}
