"""Control groups of both versions, as the kernel writes them."""

from fairlap_race.linux import cgroup


def write(root, **files):
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_version_2(tmp_path):
    write(
        tmp_path,
        **{
            "cgroup.controllers": "cpu memory",
            "cpu.stat": "usage_usec 1500000\nuser_usec 1\nnr_periods 9\nnr_throttled 3\nthrottled_usec 250000\n",
            "cpu.max": "150000 100000\n",
            "memory.max": "1073741824\n",
            "memory.events": "low 0\noom 1\noom_kill 1\n",
        },
    )
    assert cgroup.read_usage(5.0, tmp_path) == cgroup.CgroupUsage(5.0, 1.5, 3, 0.25, 1)
    assert cgroup.read_limits(tmp_path) == cgroup.Limits(1.5, 1 << 30)


def test_version_2_without_limits(tmp_path):
    write(tmp_path, **{"cgroup.controllers": "", "cpu.max": "max 100000\n", "memory.max": "max\n"})
    assert cgroup.read_limits(tmp_path) == cgroup.Limits(None, None)


def test_version_1(tmp_path):
    write(
        tmp_path,
        **{
            "cpu__cpu.stat": "nr_periods 100\nnr_throttled 7\nthrottled_time 2000000000\n",
            "cpuacct__cpuacct.usage": "3000000000\n",
            "cpu__cpu.cfs_quota_us": "200000\n",
            "cpu__cpu.cfs_period_us": "100000\n",
            "memory__memory.limit_in_bytes": "9223372036854771712\n",
            "memory__memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
        },
    )
    assert cgroup.read_usage(1.0, tmp_path) == cgroup.CgroupUsage(1.0, 3.0, 7, 2.0, 0)
    assert cgroup.read_limits(tmp_path) == cgroup.Limits(2.0, None)


def test_nothing_there(tmp_path):
    assert cgroup.read_usage(1.0, tmp_path) == cgroup.CgroupUsage(1.0)
    assert cgroup.read_limits(tmp_path) == cgroup.Limits()
