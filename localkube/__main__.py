"""`python3 -m localkube COMMAND`, from the checkout's root."""

import argparse
import contextlib
import functools
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from localkube import addons, cache, current, golang, images, java, node, packages, processes
from localkube.settings import HOST_LINK, Paths, paths_from
from localkube.step_reports import StepFailedError, duration, explain, print_line, step

KUBERNETES_PROGRAMS = golang.KUBERNETES.links
LOW_WATERMARK_PERCENT = 85
"""Elasticsearch's default of cluster.routing.allocation.disk.watermark.low."""


def up(paths: Paths) -> None:
    """Bring the cluster up; quick when it already is."""
    if current.chosen():
        current.check(paths)
        return
    _require_root()
    began = time.monotonic()
    wanted = _build_what_is_missing(paths)
    if not (node.process(paths) and addons.ready(paths, node_only=True)):
        with step("Removing what an earlier node left"):
            node.stop(paths)
        with step("Starting the node", 10):
            node.start(paths)
    with step("Images into the node"):
        node.import_images(wanted, paths)
    _forget_superseded(paths)
    if not addons.ready(paths):
        with step("CoreDNS, volumes, ECK, Prometheus", 25):
            addons.apply(node.layout(paths), paths)
            addons.wait(paths)
    print_line(f"The cluster is ready ({duration(time.monotonic() - began)}). To talk to it:")
    print_line(f"  {_export(paths)}")
    if warning := full_disk(os.statvfs(paths.cache), paths):
        print_line(warning)


def build(paths: Paths) -> None:
    """Build what the cluster needs, and start nothing."""
    if current.chosen():
        current.check(paths)
        return
    _require_root()
    began = time.monotonic()
    count = len(_build_what_is_missing(paths))
    print_line(f"What the cluster needs is built, {count} images among it ({duration(time.monotonic() - began)}).")


def _build_what_is_missing(paths: Paths) -> list[images.Image]:
    """Bring the node's programs and images into the cache; returns the images."""
    with step("Debian packages"):
        packages.ensure(packages.PROGRAMS, paths)
    cache.obtain(packages.node_programs(), paths)
    golang.obtain_all(paths)
    wanted = images.everything(paths)
    for image in wanted:
        image.file(paths)
    return wanted


def full_disk(disk: os.statvfs_result, paths: Paths) -> str:
    """Return a warning when Elasticsearch's volumes, on the cache's disk, would be above its default watermarks."""
    used = 100 - 100 * disk.f_bavail / disk.f_blocks
    if used < LOW_WATERMARK_PERCENT:
        return ""
    return (
        f"The disk of {paths.cache} is {used:.0f} % full. Elasticsearch puts no replica on a disk that is "
        f"{LOW_WATERMARK_PERCENT} % full, and from 90 % on no shard at all: free space, or move the cache to another "
        "disk with FAIRLAP_CACHE."
    )


def down(paths: Paths) -> None:
    """End the cluster and leave nothing of it behind but the cache."""
    if current.chosen():
        print_line("CLUSTER=current: that cluster is yours; nothing to end.")
        return
    _require_root()
    with step("Ending the node"):
        node.stop(paths)


def status(paths: Paths) -> None:
    """Say what runs; ends with code 1 when the cluster is not ready."""
    first = node.process(paths)
    if not first:
        print_line("The node is not running: python3 -m localkube up")
        raise SystemExit(1)
    namespace = processes.pid_namespace(first.pid)
    count = len(processes.members(namespace)) if namespace else 0
    print_line(f"The node runs: process {first.pid}, {count} processes, link {HOST_LINK}, logs in {paths.node / 'log'}")
    print_line(addons.kubectl(paths, "get", "nodes,pods", "-A"))
    if not addons.ready(paths):
        print_line("Not everything is ready.")
        raise SystemExit(1)


def _export(paths: Paths) -> str:
    """A line for a shell, by which kubectl talks to the cluster; where there is no kubectl, ours is put on the PATH."""
    line = f"export KUBECONFIG={shlex.quote(str(paths.kubeconfig))}"
    ours = golang.built_program(golang.KUBERNETES, "kubectl", paths)
    if shutil.which("kubectl") or ours is None:
        return line
    return f'{line} PATH="$PATH":{shlex.quote(str(ours.parent))}'


def kubeconfig(paths: Paths) -> None:
    """Print the line that lets kubectl talk to the cluster, for `eval "$(make kubeconfig)"`."""
    if current.chosen():
        chosen = os.environ.get("KUBECONFIG") or str(Path("~/.kube/config").expanduser())
        print_line(f"export KUBECONFIG={shlex.quote(chosen)}")
        return
    if not paths.kubeconfig.exists():
        raise StepFailedError("there is no cluster yet", hint="start it: python3 -m localkube up")
    print_line(_export(paths))


def _forget_superseded(paths: Paths) -> None:
    """Keep only the newest of the project's own images: every change of a source makes new ones."""
    old = images.superseded(paths)
    if old and node.process(paths):
        node.forget_images([name for name, _ in old], paths)
    for _, folder in old:
        cache.remove_tree(folder)


def build_images(paths: Paths) -> None:
    """Build the project's own images if their sources changed, and bring them into the node when it runs."""
    own = list(images.own(paths).values())
    for image in own:
        image.file(paths)
    if node.process(paths):
        node.import_images(own, paths)
    _forget_superseded(paths)


def example_image(paths: Paths, engine: str) -> None:
    """Build the image of an engine that examples race on, and bring it into the node when it runs."""
    if engine not in images.EXAMPLES:
        raise StepFailedError(f"no engine {engine!r}", hint=f"one of {', '.join(sorted(images.EXAMPLES))}")
    image = images.example(engine, paths)
    image.file(paths)
    if node.process(paths):
        node.import_images([image], paths)
    print_line(image.name)


def image_values(paths: Paths) -> None:
    """Print helm arguments that name the project's own images, built and in the node if it runs."""
    with contextlib.redirect_stdout(sys.stderr):  # a name is only worth something when the node has its image
        build_images(paths)
    words = []
    for value, image in zip(("image", "raceImage", r"raceImages.2\.3"), images.own(paths).values(), strict=True):
        repository, _, tag = image.name.rpartition(":")
        # As text: a tag of digits alone would be a number to helm.
        words += ["--set-string", f"{value}.repository={repository}", "--set-string", f"{value}.tag={tag}"]
    print(shlex.join(words))


def tool(paths: Paths, name: str) -> None:
    """Print the path of a program (or of ECK's CRDs), built when missing."""
    others: dict[str, Callable[[], Path]] = {
        "helm": lambda: golang.program_path(golang.HELM, "helm", paths),
        "k6": lambda: golang.program_path(golang.K6, "k6", paths),
        "eck-crds": lambda: cache.obtain(golang.artifact(golang.ECK, paths), paths) / "all-crds.yaml",
        "eck-chart": lambda: cache.obtain(golang.artifact(golang.ECK, paths), paths) / "chart",
        **{program: functools.partial(_node_program, program, paths) for program in ("etcd", "containerd", "ctr")},
    }
    if name not in others and name not in KUBERNETES_PROGRAMS:
        raise StepFailedError(f"no tool {name!r}", hint=f"one of {', '.join(sorted([*others, *KUBERNETES_PROGRAMS]))}")
    with contextlib.redirect_stdout(sys.stderr):  # only the path goes to standard output
        path = others[name]() if name in others else golang.program_path(golang.KUBERNETES, name, paths)
    print(path)


def _node_program(name: str, paths: Paths) -> Path:
    return cache.obtain(packages.node_programs(), paths) / "bin" / name


def prune(paths: Paths) -> None:
    """Remove cached things that no longer belong to this checkout."""
    wanted = [image.artifact for image in images.everything(paths)]
    wanted += [golang.artifact(program, paths) for program in (*golang.PROGRAMS, golang.K6)]
    wanted += [java.artifact(major, paths) for major in java.MAJORS]
    wanted += [images.k6(paths).artifact, *(images.example(it, paths).artifact for it in images.EXAMPLES)]
    wanted += [packages.node_programs()]
    for name in cache.prune(paths, wanted):
        print_line(f"removed {name}")
    cache.remove_tree(paths.buildah)  # layers of past builds: the images themselves are in the cache
    print_line(f"removed {paths.buildah}")


def _require_root() -> None:
    if os.geteuid() != 0:
        raise StepFailedError("a node of our own needs root", hint="start again with sudo, or use CLUSTER=current")


COMMANDS: dict[str, Callable[[Paths], None]] = {
    "up": up,
    "build": build,
    "down": down,
    "status": status,
    "kubeconfig": kubeconfig,
    "images": build_images,
    "image-values": image_values,
    "prune": prune,
}
WITHOUT_LOCK = {"status", "kubeconfig"}


def main(arguments: list[str]) -> int:
    """Run one command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python3 -m localkube", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, function in COMMANDS.items():
        commands.add_parser(name, help=(function.__doc__ or "").splitlines()[0])
    commands.add_parser("tool", help="print the path of a program, built when missing").add_argument("name")
    commands.add_parser("example-image", help="build the image of an engine that examples race on").add_argument("name")
    options = parser.parse_args(arguments)
    paths = paths_from()
    try:
        with contextlib.nullcontext() if options.command in WITHOUT_LOCK else cache.lock(paths):
            if options.command == "tool":
                tool(paths, options.name)
            elif options.command == "example-image":
                example_image(paths, options.name)
            else:
                COMMANDS[options.command](paths)
    except StepFailedError as error:
        print(explain(error), file=sys.stderr)
        return 1
    except OSError as error:
        print(
            explain(StepFailedError(str(error), hint="is the disk full, or is this not run as root?")), file=sys.stderr
        )
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; start again: what was finished is kept", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
