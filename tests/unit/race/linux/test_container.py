"""What control groups of both versions, pressure and network say of this container, and what they leave out."""

from fairlap_race.linux.container import PRESSURE_NOTE, read_container


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
    sample = read_container(tmp_path, tmp_path / "proc")
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
    sample = read_container(tmp_path, tmp_path / "proc")
    assert sample.notes == (PRESSURE_NOTE,) and sample.values == {
        "cpu_seconds": 3.0, "throttled_periods": 7, "throttled_seconds": 2.0, "faults": 50, "major_faults": 4,
        "memory_bytes": 1000, "working_set_bytes": 0, "page_cache_bytes": 600,
        "disk_reads": 3, "disk_writes": 4, "cpu_waiting": 2.0,  # no device: the kernel does not count the bytes
    }  # fmt: skip


def test_nothing_there(tmp_path):
    assert read_container(tmp_path, tmp_path).values == {}
