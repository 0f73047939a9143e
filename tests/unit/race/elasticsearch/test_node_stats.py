"""What node stats and control groups of both versions say, and what they leave out."""

from fairlap_race.elasticsearch.node_stats import (
    DISK_NOTE,
    PRESSURE_NOTE,
    PROCESS_NOTE,
    node_samples,
    own_sample,
    volumes,
)

COLLECTORS = {
    "young": {"collection_count": 7, "collection_time_in_millis": 91},
    "old": {"collection_count": 0, "collection_time_in_millis": 0},
}
NODE = {
    "name": "bm-race-1-es-default-0",
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
        "disk_reads": 5, "disk_writes": 6, "disk_read_bytes": 7168, "disk_write_bytes": 8192,
    }  # fmt: skip
    assert (sample.cpu_limit, sample.memory_limit_bytes) == (1.5, 2147483648)
    assert sample.notes == (DISK_NOTE,)


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


def write(root, **files):
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier
    lo:  999       1    0    0    0     0          0         0      999       1    0    0    0     0       0          0
  eth0: 1000      10    0    0    0     0          0         0     2000      20    0    0    0     0       0          0
"""


def test_version_2(tmp_path):
    write(
        tmp_path,
        **{
            "cgroup.controllers": "cpu memory io",
            "cpu.stat": "usage_usec 1500000\nnr_periods 9\nnr_throttled 3\nthrottled_usec 250000\n",
            "memory.stat": "anon 5\nfile 700\ninactive_file 300\npgfault 1000\npgmajfault 10\n",
            "memory.current": "1000\n",
            "io.stat": "254:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n8:0 rbytes=1 wbytes=2 rios=3 wios=4\n",
            "cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=5000000\n",
            "io.pressure": "some avg10=1.00 avg60=0.00 avg300=0.00 total=2000000\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n",
            "proc__net__dev": DEV,
        },
    )
    sample = own_sample(tmp_path, tmp_path / "proc")
    assert sample.notes == () and sample.values == {
        "cpu_seconds": 1.5, "throttled_periods": 3, "throttled_seconds": 0.25, "faults": 1000, "major_faults": 10,
        "memory_bytes": 1000, "working_set_bytes": 700, "page_cache_bytes": 700, "disk_read_bytes": 11,
        "disk_write_bytes": 22, "disk_reads": 4, "disk_writes": 6, "cpu_waiting": 5.0, "io_waiting": 2.0,
        "io_stalled": 1.0, "network_received_bytes": 1000, "network_sent_bytes": 2000,
    }  # fmt: skip


def test_version_1(tmp_path):
    write(
        tmp_path,
        **{
            "cpu__cpu.stat": "nr_periods 100\nnr_throttled 7\nthrottled_time 2000000000\n",
            "cpuacct__cpuacct.usage": "3000000000\n",
            "memory__memory.usage_in_bytes": "1000\n",
            "memory__memory.stat": "cache 1\ntotal_cache 600\ntotal_inactive_file 1200\ntotal_pgfault 50\n"
            "total_pgmajfault 4\n",
            "blkio__blkio.throttle.io_serviced": "254:0 Read 3\n254:0 Write 4\n254:0 Total 7\nTotal 7\n",
            "blkio__blkio.throttle.io_service_bytes": "Total 0\n",
            "proc__pressure__cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n",
        },
    )
    sample = own_sample(tmp_path, tmp_path / "proc")
    assert sample.notes == (PRESSURE_NOTE,) and sample.values == {
        "cpu_seconds": 3.0, "throttled_periods": 7, "throttled_seconds": 2.0, "faults": 50, "major_faults": 4,
        "memory_bytes": 1000, "working_set_bytes": 0, "page_cache_bytes": 600,
        "disk_reads": 3, "disk_writes": 4, "cpu_waiting": 2.0,  # no device: the kernel does not count the bytes
    }  # fmt: skip


def test_nothing_there(tmp_path):
    assert own_sample(tmp_path, tmp_path).values == {}


def test_volumes():
    data = {"path": "/data/nodes/0", "mount": "/data (/dev/vda)", "type": "ext4", "total_in_bytes": 10,
            "available_in_bytes": 4}  # fmt: skip
    (found,) = volumes({"nodes": {"x1": {"name": "es-0", "fs": {"data": [data]}}}})
    assert (found.node, found.mount, found.type) == ("es-0", "/data (/dev/vda)", "ext4")
    assert (found.total_bytes, found.available_bytes) == (10, 4)
    assert volumes({"nodes": {"x1": {"fs": {}}}}) == ()
