"""What node stats say, and what they leave out."""

import pytest

from fairlap_race.elasticsearch.node_stats import DISK_NOTE, PROCESS_NOTE, node_samples, volumes

COLLECTORS = {
    "young": {"collection_count": 7, "collection_time_in_millis": 91},
    "old": {"collection_count": 0, "collection_time_in_millis": 0},
}
NODE = {
    "name": "bm-race-1-es-default-0",
    "indices": {"merges": {"current": 2, "total": 9}},
    "jvm": {"mem": {"heap_used_in_bytes": 123}, "gc": {"collectors": COLLECTORS}},
    "process": {"cpu": {"total_in_millis": 4200}},
    "os": {
        "cgroup": {
            "cpuacct": {"usage_nanos": 4_500_000_000},
            "cpu": {
                "cfs_period_micros": 100_000,
                "cfs_quota_micros": 150_000,
                "stat": {
                    "number_of_elapsed_periods": 50,
                    "number_of_times_throttled": 3,
                    "time_throttled_nanos": 2_000_000_000,
                },
            },
            "memory": {"limit_in_bytes": "2147483648", "usage_in_bytes": "1000000"},
        }
    },
    "fs": {
        "io_stats": {"total": {"read_operations": 5, "write_operations": 6, "read_kilobytes": 7, "write_kilobytes": 8}}
    },
}


def test_a_whole_answer():
    (sample,) = node_samples({"nodes": {"x1": NODE}}).values()
    assert sample.values == {
        "cpu_seconds": 4.5, "throttled_periods": 3, "throttled_seconds": 2.0, "memory_bytes": 1e6, "heap_bytes": 123,
        "young_gc_count": 7, "young_gc_millis": 91, "old_gc_count": 0, "old_gc_millis": 0,
        "merges_running": 2, "merges_ended": 9,
        "disk_reads": 5, "disk_writes": 6, "disk_read_bytes": 7168, "disk_write_bytes": 8192,
    }  # fmt: skip
    assert (sample.cpu_limit, sample.memory_limit_bytes) == (1.5, 2147483648)
    assert sample.notes == (DISK_NOTE,)


@pytest.mark.parametrize(
    ("process_millis", "used", "throttled", "seconds"),
    [
        (4200, 4_500_000, 2_000_000, (4.5, 2.0)),  # microseconds of control groups v2, from 7.16 to 8.8
        (4200, 4_500_000_000, 2_000_000_000, (4.5, 2.0)),
        (4200, 4_100_000_000, 0, (4.1, 0.0)),  # the process is told from a moment later
        (0, 0, 0, (0.0, 0.0)),
        (None, 4_500_000_000, 7, (4.5, 7e-9)),
    ],
)
def test_microseconds_that_are_called_nanoseconds(process_millis, used, throttled, seconds):
    cgroup = {"cpuacct": {"usage_nanos": used}, "cpu": {"stat": {"time_throttled_nanos": throttled}}}
    node = {"process": {"cpu": {"total_in_millis": process_millis}}, "os": {"cgroup": cgroup}}
    values = node_samples({"nodes": {"x1": node}})["x1"].values
    assert (values["cpu_seconds"], values["throttled_seconds"]) == pytest.approx(seconds)


def test_what_is_not_there_is_absent():
    samples = node_samples({"nodes": {"x1": {"process": {"cpu": {"total_in_millis": 10}}, "os": {"cgroup": {}}}}})
    assert samples["x1"].values == {"cpu_seconds": 0.01}
    assert samples["x1"].notes == (PROCESS_NOTE,)
    unlimited = {"os": {"cgroup": {"cpu": {"cfs_quota_micros": -1, "cfs_period_micros": 100000},
                                   "memory": {"limit_in_bytes": "max", "usage_in_bytes": "5"}}}}  # fmt: skip
    sample = node_samples({"nodes": {"x1": unlimited}})["x1"]
    assert sample.cpu_limit is None and sample.memory_limit_bytes is None
    huge = {"os": {"cgroup": {"memory": {"limit_in_bytes": "9223372036854771712"}}}}
    assert node_samples({"nodes": {"x1": huge}})["x1"].memory_limit_bytes is None
    assert node_samples(None) == {} and node_samples({"nodes": {"x1": None}})["x1"].values == {}


def test_minus_one_is_unknown():
    assert node_samples({"nodes": {"x1": {"process": {"cpu": {"total_in_millis": -1}}}}})["x1"].values == {}


def test_volumes():
    data = {"path": "/data/nodes/0", "mount": "/data (/dev/vda)", "type": "ext4", "total_in_bytes": 10,
            "available_in_bytes": 4}  # fmt: skip
    (found,) = volumes({"nodes": {"x1": {"name": "es-0", "fs": {"data": [data]}}}})
    assert (found.node, found.mount, found.type) == ("es-0", "/data (/dev/vda)", "ext4")
    assert (found.total_bytes, found.available_bytes) == (10, 4)
    assert volumes({"nodes": {"x1": {"fs": {}}}}) == ()
