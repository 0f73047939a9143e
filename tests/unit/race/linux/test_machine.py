"""What the kernel says of the machine."""

from pathlib import Path

from fairlap_race.linux.machine import cpu_model


def test_the_model_of_the_cpu(tmp_path: Path) -> None:
    told = tmp_path / "cpuinfo"
    told.write_text("processor\t: 0\nmodel name\t: Intel(R) Xeon(R) @ 2.80GHz \nprocessor\t: 1\nmodel name\t: other\n")
    assert cpu_model(told) == "Intel(R) Xeon(R) @ 2.80GHz"
    told.write_text("processor\t: 0\nBogoMIPS\t: 50.00\n")
    assert cpu_model(told) is None and cpu_model(tmp_path / "none") is None
