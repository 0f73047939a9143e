"""When the load generator was the bottleneck of its race."""

from fairlap_race.linux import cgroup
from fairlap_race.runner.watching.load_generator import judge_load_generator


def judge(cpu=1.0, throttled=0.0, busiest=0.1, may_use=1.0):
    start = cgroup.CgroupUsage(0.0, 0.0, 0, 0.0, 0)
    return judge_load_generator(start, cgroup.CgroupUsage(10.0, cpu, 4, throttled, 0), may_use, busiest)


def test_saturation():
    assert not judge().saturated
    assert judge(cpu=8.5).saturated and "85 %" in judge(cpu=8.5).why
    assert "80.03 %" in judge(cpu=8.003).why, "more than 80 % of it saturates it"
    assert judge(throttled=0.5).saturated and "throttled" in judge(throttled=0.5).why
    assert judge(busiest=0.95, may_use=4.0).saturated
    assert judge(cpu=4.0).cpu_share == 0.4


def test_unknown_is_not_saturated():
    found = judge_load_generator(cgroup.CgroupUsage(0.0), cgroup.CgroupUsage(10.0), 1.0, None)
    assert not found.saturated and found.cpu_seconds is None and found.cpu_share is None
