#!/usr/bin/env python3
"""The demo: install the operator, run examples/version-8-vs-9 with live progress, print both results side by side.

    make demo                              on a cluster of its own (localkube)
    CLUSTER=current make demo              on the current context of your kubectl, which must have ECK

Exit code 0 when every Benchmark succeeded, 1 when one failed or a step did, 130 after Ctrl-C (the Benchmarks go on).
Uses nothing but the standard library, kubectl and helm. Run it again at any time.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TextIO

import demo_report as report

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "charts" / "fairlap"
STAND_IN = (
    "These ran on localkube's stand-in images: the real Elasticsearch server, but with ingest processors of ours and "
    "another JDK build (localkube/README.md). Numbers of Elastic's images come from CLUSTER=current."
)
CLOCK_SECONDS = 1.0
WATCH_BACKOFF_SECONDS = 2.0


class DemoError(Exception):
    """A step failed; the text says which, why, and what to do."""


@dataclass(frozen=True)
class Tools:
    """How to call the cluster's programs."""

    kubectl: str
    helm: str
    environ: dict[str, str]
    hint: str
    """what a user types so that kubectl is found and reaches the cluster; "" when it already does"""

    def run(self, what: str, *argv: str, cure: str = "", quiet: bool = False) -> str:
        """Run a program and return its output; raises DemoError with the end of what it said."""
        done = subprocess.run(argv, env=self.environ, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            words = (done.stderr.strip() or done.stdout.strip())[-3000:]
            raise DemoError(f"{what} failed:\n  {shlex.join(argv)}\n{_indent(words)}{_cure(cure)}")
        if not quiet:
            log(f"{what}: done")
        return done.stdout


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _cure(text: str) -> str:
    return f"\nWhat to do: {text}" if text else ""


_STARTED = time.monotonic()


def log(text: str) -> None:
    """Print a line with the seconds since the start."""
    print(f"[{time.monotonic() - _STARTED:5.0f} s] {text}", flush=True)


# --- which cluster ---------------------------------------------------------------------------------------------


def find_tools() -> Tools:
    """Return the tools of localkube's cluster, or those on PATH with CLUSTER=current."""
    if os.environ.get("CLUSTER") == "current":
        found = {tool: shutil.which(tool) for tool in ("kubectl", "helm")}
        for tool, path in found.items():
            if path is None:
                raise DemoError(f"CLUSTER=current needs {tool} on PATH; install it, or use the demo's own cluster")
        return Tools(str(found["kubectl"]), str(found["helm"]), dict(os.environ), hint="")
    line = localkube("kubeconfig").strip()
    files = [word.removeprefix("KUBECONFIG=") for word in shlex.split(line) if word.startswith("KUBECONFIG=")]
    if not files:
        raise DemoError(f"`python3 -m localkube kubeconfig` names no KUBECONFIG: {line!r}")
    environ = {**os.environ, "KUBECONFIG": files[0]}
    return Tools(localkube("tool", "kubectl").strip(), localkube("tool", "helm").strip(), environ, hint=line)


def localkube(*arguments: str) -> str:
    """Return what `python3 -m localkube ARGUMENTS` prints; raises DemoError."""
    argv = (sys.executable, "-m", "localkube", *arguments)
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DemoError(
            f"`{shlex.join(argv)}` failed:\n{_indent(done.stderr[-3000:])}{_cure('run `make cluster` first')}"
        )
    return done.stdout


def image_values() -> list[str]:
    """Return helm arguments that name the images: localkube's own, or those in HELM_ARGS (may be none)."""
    if os.environ.get("CLUSTER") == "current":
        return shlex.split(os.environ.get("HELM_ARGS", ""))
    return shlex.split(localkube("image-values"))


# --- steps -----------------------------------------------------------------------------------------------------


def install(tools: Tools, namespace: str, release: str) -> None:
    """Install or upgrade the operator and wait until it is up."""
    eck = "install ECK first: https://www.elastic.co/docs/deploy-manage/deploy/cloud-on-k8s"
    kinds = ("get", "crd", "elasticsearches.elasticsearch.k8s.elastic.co", "-o", "name")
    tools.run("looking for ECK", tools.kubectl, *kinds, cure=eck, quiet=True)
    # Helm installs a CRD but never upgrades one.
    crds = ("apply", "--server-side", "--force-conflicts", "-f", str(CHART / "crds"))
    tools.run("the Benchmark CRD", tools.kubectl, *crds)
    tools.run(
        "the operator's chart",
        *(tools.helm, "upgrade", "--install", release, str(CHART)),
        *("--namespace", namespace, "--create-namespace", "--skip-crds", "--wait", "--timeout", "3m"),
        *image_values(),
        cure=f"see why its pod does not start: kubectl -n {namespace} describe pod -l app.kubernetes.io/name=fairlap\n"
        f"and what it says: kubectl -n {namespace} logs deployment/{release}",
    )


def start(tools: Tools, namespace: str, manifests: Path, *, keep: bool) -> list[str]:
    """Apply the Benchmarks, after deleting earlier ones of the same names unless `keep`; return their names."""
    files = ("-n", namespace, "-f", str(manifests))
    if not keep:
        what = "removing the Benchmarks of an earlier demo"
        delete = ("delete", *files, "--ignore-not-found", "--wait", "--timeout=180s")
        tools.run(what, tools.kubectl, *delete, cure=f"kubectl -n {namespace} describe bm", quiet=True)
    applied = tools.run("applying the Benchmarks", tools.kubectl, "apply", *files, "-o", "name", quiet=True)
    names = [line.partition("/")[2] for line in applied.split() if line.startswith("benchmark.")]
    if not names:
        raise DemoError(f"{manifests} holds no Benchmark")
    log(f"Benchmarks {', '.join(names)} are in namespace {namespace}")
    return names


def follow(tools: Tools, namespace: str, names: Sequence[str], deadline: float) -> list[dict[str, Any]]:
    """Show progress until every Benchmark ended; return them in the order of `names`. Raises DemoError."""
    screen = Screen(sys.stdout, names)
    seen: dict[str, dict[str, Any]] = {}
    for benchmark in changes(tools, namespace, deadline):
        if benchmark is not None and report.name(benchmark) in names:
            seen[report.name(benchmark)] = benchmark
        screen.show([seen[name] for name in names if name in seen])
        if len(seen) == len(names) and all(report.ended(b) for b in seen.values()):
            return [seen[name] for name in names]
    raise DemoError(
        "the Benchmarks did not end in time; they go on without the demo:\n"
        f"  kubectl -n {namespace} get bm -w\nRun the demo with --keep to follow the same ones, or a longer --minutes."
    )


def changes(tools: Tools, namespace: str, deadline: float) -> Iterator[dict[str, Any] | None]:
    """Yield each Benchmark that changes, and None about every second, until the deadline.

    One `kubectl get --watch`: asking again and again would take CPU from the race.
    """
    watch = (tools.kubectl, "-n", namespace, "get", "benchmarks.fairlap.dev", "--watch", "-o", "json")
    while time.monotonic() < deadline:
        with subprocess.Popen(watch, env=tools.environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            try:
                yield from _documents(process, deadline)
            finally:
                process.terminate()
        time.sleep(WATCH_BACKOFF_SECONDS)  # the API server ends each watch after a while; then there is another one


def _documents(process: subprocess.Popen[bytes], deadline: float) -> Iterator[dict[str, Any] | None]:
    stream, text, decoder = process.stdout, "", json.JSONDecoder()
    if stream is None:
        return
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while time.monotonic() < deadline:
            if selector.select(CLOCK_SECONDS):
                data = os.read(stream.fileno(), 1 << 16)
                if not data:
                    return
                text += data.decode(errors="replace")
            while text := text.lstrip():
                try:
                    document, end = decoder.raw_decode(text)
                except ValueError:
                    break
                text = text[end:]
                yield from document.get("items", [document])
            yield None


class Screen:
    """The Benchmarks' progress: lines that are redrawn on a terminal, a line for each change elsewhere."""

    def __init__(self, out: TextIO, names: Sequence[str]) -> None:
        self._out = out
        self._drawn = 0
        self._shown: dict[str, str] = dict.fromkeys(names, "")

    def show(self, benchmarks: Sequence[report.Benchmark]) -> None:
        """Show the current state of all Benchmarks."""
        if self._out.isatty():
            self._redraw(benchmarks)
            return
        for benchmark in benchmarks:
            line = report.without_percent(report.progress_line(benchmark))
            if line != self._shown[report.name(benchmark)]:
                self._shown[report.name(benchmark)] = line
                log(line)

    def _redraw(self, benchmarks: Sequence[report.Benchmark]) -> None:
        width = shutil.get_terminal_size().columns
        clock = f"[{time.monotonic() - _STARTED:5.0f} s] "
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        lines = [f"\r\x1b[2K{clock}{report.progress_line(b, width - len(clock))}\n" for b in benchmarks]
        self._out.write(up + "".join(lines))
        self._out.flush()
        self._drawn = len(lines)


# --- the whole -------------------------------------------------------------------------------------------------


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(description="Install the operator, run two Benchmarks, compare their results.")
    parser.add_argument("--namespace", default="fairlap", help="of the operator and the Benchmarks (default: fairlap)")
    parser.add_argument("--release", default="fairlap", help="name of the helm release (default: fairlap)")
    parser.add_argument(
        "--manifests", type=Path, default=ROOT / "examples" / "version-8-vs-9", help="Benchmarks to run"
    )
    parser.add_argument("--minutes", type=float, default=60, help="how long to follow them (default: 60)")
    parser.add_argument("--keep", action="store_true", help="keep Benchmarks of these names that are there already")
    parser.add_argument("--no-install", action="store_true", help="use the operator that is installed")
    return parser.parse_args(argv)


def demo(options: argparse.Namespace) -> int:
    """Run the demo; return the exit code. Raises DemoError."""
    tools = find_tools()
    if not options.no_install:
        install(tools, options.namespace, options.release)
    names = start(tools, options.namespace, options.manifests, keep=options.keep)
    ran = follow(tools, options.namespace, names, time.monotonic() + options.minutes * 60)
    if any(report.has_numbers(benchmark) for benchmark in ran):
        print(f"\nMedian over the races (smallest–largest), read from the statuses:\n\n{report.main_table(ran)}\n")
        for sentence in (report.reading(ran), *report.remarks(ran), STAND_IN if tools.hint else ""):
            if sentence:
                print(f"* {sentence}")
    failed = [benchmark for benchmark in ran if report.phase(benchmark) == "Failed"]
    for benchmark in failed:
        print(f"\n{report.failure(benchmark, options.namespace)}", file=sys.stderr)
    print("\nTry next:")
    if tools.hint:
        print(f"  # first, so that your shell has kubectl for this cluster\n  {tools.hint}")
    print(report.next_commands(ran, options.namespace))
    return 1 if failed else 0


def main() -> NoReturn:
    """Run the demo as a program."""
    try:
        code = demo(arguments())
    except DemoError as error:
        print(f"\n{error}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        print("\nStopped; the Benchmarks go on. Follow them again: python3 examples/demo.py --keep --no-install")
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
