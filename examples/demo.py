#!/usr/bin/env python3
"""The demo: install the operator, run the Comparison examples/demo.yaml with live progress, print its verdict.

    make demo                              on a cluster of its own (localkube)
    CLUSTER=current make demo              on the current context of your kubectl, which must have ECK

Exit code 0 with any verdict that the races allow (Inconclusive, too), 1 when a step failed or nothing could be
compared, 130 after Ctrl-C (the Comparison goes on). Uses nothing but the standard library, kubectl and helm, and the
project's own environment (`make venv`) for the report. Run it again at any time.
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
PYTHON = Path(os.environ.get("FAIRLAP_PYTHON", ROOT / ".venv" / "bin" / "python"))
"""has the project installed"""
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


def chart_values() -> list[str]:
    """Return helm arguments: localkube's own images, and the same page cache for each race, or those in HELM_ARGS."""
    if os.environ.get("CLUSTER") == "current":
        return shlex.split(os.environ.get("HELM_ARGS", ""))
    return [*shlex.split(localkube("image-values")), "--set", "pageCache.enabled=true"]


# --- steps -----------------------------------------------------------------------------------------------------


def install(tools: Tools, namespace: str, release: str) -> None:
    """Install or upgrade the operator and wait until it is up."""
    eck = "install ECK first: https://www.elastic.co/docs/deploy-manage/deploy/cloud-on-k8s"
    kinds = ("get", "crd", "elasticsearches.elasticsearch.k8s.elastic.co", "-o", "name")
    tools.run("looking for ECK", tools.kubectl, *kinds, cure=eck, quiet=True)
    # Helm installs a CRD but never upgrades one.
    crds = ("apply", "--server-side", "--force-conflicts", "-f", str(CHART / "crds"))
    tools.run("the CRDs", tools.kubectl, *crds)
    tools.run(
        "the operator's chart",
        *(tools.helm, "upgrade", "--install", release, str(CHART)),
        *("--namespace", namespace, "--create-namespace", "--skip-crds", "--wait", "--timeout", "3m"),
        *chart_values(),
        cure=f"see why its pod does not start: kubectl -n {namespace} describe pod -l app.kubernetes.io/name=fairlap\n"
        f"and what it says: kubectl -n {namespace} logs deployment/{release}",
    )


def start(tools: Tools, namespace: str, manifests: Path, *, keep: bool) -> list[str]:
    """Apply the Comparisons, after deleting earlier ones of the same names unless `keep`; return their names."""
    files = ("-n", namespace, "-f", str(manifests))
    if not keep:
        what = "removing the Comparison of an earlier demo"
        # Foreground: its Benchmarks have the same names as those to come.
        delete = ("delete", *files, "--ignore-not-found", "--cascade=foreground", "--wait", "--timeout=180s")
        tools.run(what, tools.kubectl, *delete, cure=f"kubectl -n {namespace} describe cmp,bm", quiet=True)
    applied = tools.run("applying the Comparison", tools.kubectl, "apply", *files, "-o", "name", quiet=True)
    names = [line.partition("/")[2] for line in applied.split() if line.startswith("comparison.")]
    if not names:
        raise DemoError(f"{manifests} holds no Comparison")
    log(f"Comparison {', '.join(names)} is in namespace {namespace}")
    return names


def follow(tools: Tools, namespace: str, names: Sequence[str], deadline: float) -> list[dict[str, Any]]:
    """Show progress until every Comparison ended; return them in the order of `names`. Raises DemoError."""
    screen = Screen(sys.stdout, names)
    seen: dict[str, dict[str, Any]] = {}
    for comparison in changes(tools, namespace, deadline):
        if comparison is not None and report.name(comparison) in names:
            seen[report.name(comparison)] = comparison
        screen.show([seen[name] for name in names if name in seen])
        if len(seen) == len(names) and all(report.is_over(each) for each in seen.values()):
            return [seen[name] for name in names]
    raise DemoError(
        "the Comparison did not end in time; it goes on without the demo:\n"
        f"  kubectl -n {namespace} get cmp -w\nRun the demo with --keep to follow the same one, or a longer --minutes."
    )


def changes(tools: Tools, namespace: str, deadline: float) -> Iterator[dict[str, Any] | None]:
    """Yield each Comparison that changes, and None about every second, until the deadline.

    One `kubectl get --watch`: asking again and again would take CPU from the race.
    """
    watch = (tools.kubectl, "-n", namespace, "get", "comparisons.fairlap.dev", "--watch", "-o", "json")
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
    """The Comparisons' progress: lines that are redrawn on a terminal, a line for each change elsewhere."""

    def __init__(self, out: TextIO, names: Sequence[str]) -> None:
        self._out = out
        self._drawn = 0
        self._shown: dict[str, str] = dict.fromkeys(names, "")

    def show(self, comparisons: Sequence[report.Comparison]) -> None:
        """Show the current state of all Comparisons."""
        if self._out.isatty():
            self._redraw(comparisons)
            return
        for comparison in comparisons:
            line = report.without_percent(report.progress_line(comparison))
            if line != self._shown[report.name(comparison)]:
                self._shown[report.name(comparison)] = line
                log(line)

    def _redraw(self, comparisons: Sequence[report.Comparison]) -> None:
        width = shutil.get_terminal_size().columns
        clock = f"[{time.monotonic() - _STARTED:5.0f} s] "
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        lines = [f"\r\x1b[2K{clock}{report.progress_line(each, width - len(clock))}\n" for each in comparisons]
        self._out.write(up + "".join(lines))
        self._out.flush()
        self._drawn = len(lines)


# --- the whole -------------------------------------------------------------------------------------------------


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(description="Install the operator, run a Comparison, print its verdict.")
    parser.add_argument("--namespace", default="fairlap", help="of the operator and the Comparison (default: fairlap)")
    parser.add_argument("--release", default="fairlap", help="name of the helm release (default: fairlap)")
    parser.add_argument(
        "--manifests", type=Path, default=ROOT / "examples" / "demo.yaml", help="Comparison to run (default: demo.yaml)"
    )
    parser.add_argument(
        "--report",
        type=Path,
        default=ROOT / "demo-report.html",
        help="where the report goes (default: demo-report.html)",
    )
    parser.add_argument("--minutes", type=float, default=60, help="how long to follow them (default: 60)")
    parser.add_argument("--keep", action="store_true", help="keep a Comparison of this name that is there already")
    parser.add_argument("--no-install", action="store_true", help="use the operator that is installed")
    return parser.parse_args(argv)


def demo(options: argparse.Namespace) -> int:
    """Run the demo; return the exit code. Raises DemoError."""
    tools = find_tools()
    if not options.no_install:
        install(tools, options.namespace, options.release)
    names = start(tools, options.namespace, options.manifests, keep=options.keep)
    ran = follow(tools, options.namespace, names, time.monotonic() + options.minutes * 60)
    for comparison in ran:
        print(f"\n{report.verdict(comparison)}")
    if tools.hint:
        print(f"* {STAND_IN}")
    print(f"\n{save_report(tools, options.namespace, names[-1], options.report)}")
    without = [comparison for comparison in ran if not report.compared(comparison)]
    for comparison in without:
        print(f"\n{report.failure(comparison, options.namespace)}", file=sys.stderr)
    print("\nTry next:")
    if tools.hint:
        print(f"  # first, so that your shell has kubectl for this cluster\n  {tools.hint}")
    print(report.next_commands(ran, options.namespace))
    return 1 if without else 0


def save_report(tools: Tools, namespace: str, name: str, path: Path) -> str:
    """Write the Comparison's HTML report to `path`; return a sentence with the path, or with how to make it."""
    command = ("report", name, "-n", namespace, "--output", str(path))
    by_hand = f"make venv && .venv/bin/fairlap {shlex.join(command)}"
    if not PYTHON.exists():
        return f"The whole of it, as one HTML file: {by_hand}"
    argv = (str(PYTHON), "-m", "fairlap.cli", *command)
    done = subprocess.run(argv, env=tools.environ, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"The report was not written: {done.stderr.strip()}\nBy hand: {by_hand}"
    return f"The whole of it, as one HTML file: {path.resolve()}"


def main() -> NoReturn:
    """Run the demo as a program."""
    try:
        code = demo(arguments())
    except DemoError as error:
        print(f"\n{error}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        print("\nStopped; the Comparison goes on. Follow it again: python3 examples/demo.py --keep --no-install")
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
