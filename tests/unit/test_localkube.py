"""The pure parts of localkube: cache keys, settings of builds, the guard for other people's clusters."""

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from localkube import (
    buildah,
    cache,
    cgroups,
    components,
    current,
    golang,
    images,
    java,
    node,
    packages,
    processes,
    step_reports,
)
from localkube.__main__ import build, full_disk, kubeconfig
from localkube.settings import CHECKOUT, Paths, paths_from

from fairlap_race.contract.rally_releases import RELEASES


def artifact(inputs: dict[str, str], fill: str = "") -> cache.Artifact:
    def build(folder: Path, log: Path) -> None:
        (folder / "content").write_text(fill)
        if fill == "broken":
            raise step_reports.StepFailedError("no luck", hint="try again", log=log)

    return cache.Artifact("thing", inputs, "Thing", build)


def test_key_changes_with_every_input() -> None:
    keys = {artifact(inputs).key for inputs in ({}, {"a": "1"}, {"a": "2"}, {"a": "1", "b": "1"})}
    assert len(keys) == 4
    assert artifact({"a": "1", "b": "2"}).key == artifact({"b": "2", "a": "1"}).key


def test_digest_sees_names_contents_and_modes_but_no_caches(tmp_path: Path) -> None:
    file = tmp_path / "pkg" / "a.py"
    file.parent.mkdir()
    file.write_text("1")
    seen = [cache.digest_of([tmp_path], tmp_path)]
    (tmp_path / "pkg" / "__pycache__").mkdir()
    (tmp_path / "pkg" / "__pycache__" / "a.pyc").write_text("x")
    assert cache.digest_of([tmp_path], tmp_path) == seen[0]
    file.write_text("2")
    seen.append(cache.digest_of([tmp_path], tmp_path))
    file.chmod(0o755)
    seen.append(cache.digest_of([tmp_path], tmp_path))
    file.rename(file.with_name("b.py"))
    seen.append(cache.digest_of([tmp_path], tmp_path))
    assert len(set(seen)) == 4


def test_finished_artifact_is_not_built_again(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    first = cache.obtain(artifact({"a": "1"}, "one"), paths)
    assert cache.obtain(artifact({"a": "1"}, "two"), paths) == first
    assert (first / "content").read_text() == "one"


def test_interrupted_build_is_never_taken_for_a_finished_one(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    with pytest.raises(step_reports.StepFailedError) as failure:
        cache.obtain(artifact({"a": "1"}, "broken"), paths)
    assert failure.value.step == "Thing"
    assert (cache.obtain(artifact({"a": "1"}, "whole"), paths) / "content").read_text() == "whole"
    assert [folder.name for folder in paths.built.iterdir()] == [f"thing-{artifact({'a': '1'}).key}"]


def test_failure_names_step_log_and_cure(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("".join(f"line {number}\n" for number in range(100)))
    error = step_reports.StepFailedError("it broke", hint="mend it", log=log)
    error.step = "Building"
    text = step_reports.explain(error)
    assert all(part in text for part in ("FAILED: Building", "it broke", "line 99", "What to do: mend it"))
    assert "line 50" not in text


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (60, "1 min 0 s"), (385, "6 min 25 s")])
def test_duration(seconds: float, text: str) -> None:
    assert step_reports.duration(seconds) == text


@pytest.mark.parametrize(
    "name", ["kind-kind", "k3d-x", "minikube", "localkube", "team-test", "dev_eu", "CI-3", "a.e2e"]
)
def test_context_that_says_it_is_for_tests(name: str) -> None:
    assert current.is_for_tests(name)


@pytest.mark.parametrize("name", ["prod", "devops", "latest", "mankind", "eu-1", "test-prod", "live-test", ""])
def test_context_that_does_not(name: str) -> None:
    assert not current.is_for_tests(name)


def test_context_allowed_by_name_only() -> None:
    assert current.is_for_tests("prod", allowed="prod")
    assert not current.is_for_tests("kind", allowed="prod")


def test_cache_folder_is_chosen_by_the_environment() -> None:
    assert paths_from({"FAIRLAP_CACHE": "/x"}).cache == Path("/x")
    assert paths_from({}).cache == Path("~/.cache/fairlap").expanduser()


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("go version go1.19.8 linux/amd64", (1, 19, 8)),
        ("go version go1.26 linux/amd64", (1, 26)),
        ("go version go1.26.0-custom linux/amd64", (1, 26, 0)),
        ("command not found", (0,)),
    ],
)
def test_go_version(said: str, version: tuple[int, ...]) -> None:
    assert golang.version_of(said) == version


def test_pip_settings_are_lent_with_the_builds_own_certificates() -> None:
    listed = (
        ":env:.cert='/etc/x.crt'\n:env:.find-links='/opt/wheels https://w'\nglobal.index-url='https://mirror/simple'"
    )
    text, folders = buildah.pip_configuration(listed, "/lent/ca.crt")
    lines = text.splitlines()
    assert lines.count("[global]") == 1
    assert {"cert = /lent/ca.crt", "index-url = https://mirror/simple", "find-links = /opt/wheels https://w"} <= set(
        lines
    )
    assert folders == ["/opt/wheels"]


def test_only_debians_archives_are_lent() -> None:
    targets = (
        "http://m/debian/|bookworm|main|Debian\nhttps://other/|x|main|Other\nhttp://m/debian/|bookworm|main|Debian\n"
    )
    assert buildah.apt_sources(targets) == ["deb http://m/debian/ bookworm main"]


def test_process_is_known_by_its_start_time() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    start = processes.start_of(child.pid)
    assert start is not None
    processes.Process(child.pid, start + 1).kill()  # somebody else's process with the same id
    assert child.poll() is None
    ours = processes.Process(child.pid, start)
    assert ours.alive()
    ours.kill()
    child.wait(10)
    assert not ours.alive()


def test_waiting_has_an_end() -> None:
    began = time.monotonic()
    assert not processes.wait_until(lambda: False, 0.2)
    assert time.monotonic() - began < 2


def test_cgroups_of_version_1_are_made_and_removed(tmp_path: Path) -> None:
    for controller in ("cpu", "cpuset"):
        (tmp_path / controller).mkdir()
        (tmp_path / controller / "cgroup.procs").touch()
    cgroups.create(tmp_path)
    (tmp_path / "cpu" / components.CGROUP / "kubepods" / "pod1").mkdir(parents=True)
    assert cgroups.remove(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["cgroup.procs", "cgroup.procs", "cpu", "cpuset"]


def test_configuration_keeps_everything_in_the_nodes_folders() -> None:
    layout = components.Layout(Path("/s"), Path("/p"), Path("/c"), Path("/k"))
    files = components.files(layout)
    assert all(path.is_relative_to("/s") for path in files)
    kubelet = json.loads(files[Path("/s/kubelet.json")])
    assert kubelet["cgroupRoot"] == f"/{components.CGROUP}"
    assert 'disabled_plugins = ["io.containerd.grpc.v1.cri"]' in files[Path("/s/containerd-images.toml")]
    started = [components.etcd(layout), components.apiserver(layout), *components.followers(layout)]
    assert [component.name for component in started][-2:] == ["kubelet", "kube-proxy"]


def test_our_images_are_named_by_their_sources(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    names = {target: image.name for target, image in images.own(paths).items()}
    assert names["operator"].startswith("localhost/fairlap/operator:")
    assert names["race"].startswith("localhost/fairlap/race:")
    assert not tmp_path.joinpath("built").exists(), "naming an image must not build it"


def test_images_have_official_names_where_manifests_use_them(tmp_path: Path) -> None:
    names = {image.name for image in images.stand_ins(Paths(tmp_path))}
    assert {
        "docker.elastic.co/elasticsearch/elasticsearch:8.11.0",
        "docker.elastic.co/elasticsearch/elasticsearch:9.0.0",
        "docker.elastic.co/elasticsearch/elasticsearch-oss:6.0.0",
        "docker.io/library/eclipse-temurin:17-jre",
        "docker.io/library/eclipse-temurin:21-jre",
    } <= names


def test_superseded_images_are_the_older_ones(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    for number in range(5):
        folder = paths.built / f"image-race-{number}"
        folder.mkdir(parents=True)
        os.utime(folder, (number, number))
    assert [name for name, _ in images.superseded(paths, keep=3)] == [
        "localhost/fairlap/race:1",
        "localhost/fairlap/race:0",
    ]


def test_pinned_requirements_agree_with_the_project() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    pinned = (CHECKOUT / "requirements/operator.txt").read_text().lower().replace("_", "-").split()
    assert [wanted for wanted in project["dependencies"] if wanted.lower() not in pinned] == []
    for line, file in zip(RELEASES, ("race", "race6"), strict=True):
        assert f"esrally=={line.rally}" in (CHECKOUT / f"requirements/{file}.txt").read_text().split()


def test_every_download_is_pinned() -> None:
    pins = java.pins()
    assert all(len(digest) == 64 for digest in pins.values())
    assert set(java.WHEELS.values()) <= set(pins)


def test_node_programs_are_never_installed_on_the_machine() -> None:
    installed = {*packages.PROGRAMS.values(), *packages.BUILD_PROGRAMS.values()}
    assert not installed & set(packages.NODE_PACKAGES)


def test_a_runtime_has_no_link_to_a_file_of_this_machine(tmp_path: Path) -> None:
    root, mine = tmp_path / "root", tmp_path / "cacerts"
    home = root / "usr/lib/jvm/java-17"
    (home / "conf").mkdir(parents=True)
    (root / "etc/java").mkdir(parents=True)
    (root / "etc/java/net.properties").write_text("packaged")
    mine.write_text("this machine's")
    (home / "conf/net.properties").symlink_to("/etc/java/net.properties")
    (home / "conf/near").symlink_to("net.properties")
    (home / "conf/cacerts").symlink_to(mine)
    (home / "conf/src.zip").symlink_to("../nowhere")
    java.settle_links(home, root)
    assert (home / "conf/net.properties").read_text() == (home / "conf/near").read_text() == "packaged"
    assert not (home / "conf/net.properties").is_symlink() and (home / "conf/near").is_symlink()
    assert sorted(path.name for path in (home / "conf").iterdir()) == ["near", "net.properties"]
    assert mine.read_text() == "this machine's"


@pytest.fixture
def cluster(tmp_path: Path) -> Paths:
    """The folders of a cluster that runs, with a program in place of its kubectl."""
    paths = Paths(tmp_path / "the cache")
    bin_folder = cache.folder_of(golang.artifact(golang.KUBERNETES, paths), paths) / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "kubectl").write_text("#!/bin/sh\necho ours $KUBECONFIG\n")
    (bin_folder / "kubectl").chmod(0o755)
    paths.node.mkdir()
    paths.kubeconfig.touch()
    return paths


@pytest.mark.parametrize("own", [False, True])
def test_the_line_of_kubeconfig_finds_a_kubectl(
    own: bool, cluster: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line is evaluated as a user does; a kubectl of the user's own goes before ours."""
    mine = tmp_path / "bin"
    mine.mkdir()
    if own:
        (mine / "kubectl").write_text("#!/bin/sh\necho mine $KUBECONFIG\n")
        (mine / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", str(mine))
    monkeypatch.delenv("CLUSTER", raising=False)
    kubeconfig(cluster)
    line = capsys.readouterr().out.strip()
    assert len(line.splitlines()) == 1 and ("PATH" in line) is not own
    done = subprocess.run(
        ["/bin/bash", "-c", 'eval "$0"; kubectl get bm', line], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{'mine' if own else 'ours'} {cluster.kubeconfig}\n"


@pytest.mark.parametrize(("free", "warned"), [(16, False), (15, True), (0, True)])
def test_a_disk_above_the_watermarks_is_told(free: int, warned: bool) -> None:
    disk = os.statvfs_result((4096, 4096, 100, free + 5, free, 1, 1, 1, 0, 255))
    told = full_disk(disk, Paths(Path("/c")))
    assert (f"/c is {100 - free} % full" in told) if warned else told == ""


@pytest.mark.parametrize(
    ("usable", "system"),
    [([0], {0}), ([0, 1], {0}), ([0, 1, 2], {0}), ([0, 1, 2, 3], {0, 3}), ([4, 5, 6, 7, 8, 9, 10, 11], {4, 9, 10, 11})],
)
def test_the_nodes_own_programs_keep_off_the_processors_that_pods_are_given(
    usable: list[int], system: set[int]
) -> None:
    assert components.system_processors(usable) == system


def test_only_what_starts_no_pods_trades_memory_for_processor_time_and_within_a_bound() -> None:
    layout = components.Layout(Path("/s"), Path("/p"), Path("/c"), Path("/k"))
    told = components.go_environment(components.apiserver(layout))
    assert set(told) == {"GOGC", "GOMEMLIMIT"}
    assert all(components.go_environment(it) == told for it in (components.etcd(layout), *components.followers(layout)))
    assert all(components.go_environment(components.containerd(layout, cri=cri)) == {} for cri in (True, False))


def test_building_makes_programs_and_images_and_starts_no_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[str] = []
    monkeypatch.delenv("CLUSTER", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(packages, "ensure", lambda programs, paths: made.append("packages"))
    monkeypatch.setattr(packages, "node_programs", lambda: artifact({"of": "the node"}, "etcd"))
    monkeypatch.setattr(golang, "obtain_all", lambda paths: made.append("programs"))
    image = images.Image("localhost/thing:1", artifact({"of": "an image"}, "layers"))
    monkeypatch.setattr(images, "everything", lambda paths: [image])
    monkeypatch.setattr(node, "start", lambda paths: pytest.fail("it is not to be started"))
    build(Paths(tmp_path))
    assert made == ["packages", "programs"]
    assert sorted(path.read_text() for path in (tmp_path / "built").glob("*/content")) == ["etcd", "layers"]
    assert "1 images among it" in capsys.readouterr().out


def test_for_a_cluster_that_exists_nothing_is_built_but_its_name_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Paths] = []
    monkeypatch.setenv("CLUSTER", "current")
    monkeypatch.setattr(current, "check", looked.append)
    monkeypatch.setattr(golang, "obtain_all", lambda paths: pytest.fail("it is not to be built"))
    build(Paths(tmp_path))
    assert looked == [Paths(tmp_path)]
