"""The operator as a process of its own, with the rights and the environment that its Helm chart gives it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import yaml
from tests.fixtures.forked_process import ForkedProcess

from .controlplane import ControlPlane, free_port
from .forked import PROGRAM, started
from .tools import ROOT, patience, tool

Json = dict[str, Any]
RELEASE = "fairlap"
# How the API server words a refusal by RBAC, and the short form of a client that drops the words.
RBAC = re.compile(r"cannot \w+ resource|\b403\b|APIForbiddenError")


def render(namespace: str, **values: object) -> list[Json]:
    """Return the chart's manifests for a release in `namespace`; values are given as helm's --set-json takes them."""
    command = [tool("helm"), "template", RELEASE, str(ROOT / "charts" / "fairlap"), "--namespace", namespace]
    command += ["--kube-version=1.34"]  # without a cluster to ask, helm believes in the one it was built for
    for key, value in values.items():
        command += ["--set-json", f"{key.replace('__', '.')}={json.dumps(value)}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"helm template failed: {done.stderr}")
    return [manifest for manifest in yaml.safe_load_all(done.stdout) if manifest]


class Operator:
    """`python -m fairlap` outside a pod; its kubeconfig holds a token of the chart's ServiceAccount."""

    def __init__(self, plane: ControlPlane, namespace: str, **values: object) -> None:
        self.port = free_port()
        self.plane, self.namespace = plane, namespace
        manifests = render(namespace, metrics__port=self.port, **values)
        (deployment,) = (m for m in manifests if m["kind"] == "Deployment")
        pod = deployment["spec"]["template"]["spec"]
        for manifest in manifests:  # some are there already where this is not the first operator
            plane.apply(manifest)
        self.account = account = pod["serviceAccountName"]
        wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        given_out = plane.post(f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token", wanted)
        config = plane.folder / f"operator-{namespace}.kubeconfig"
        plane.write_kubeconfig(config, given_out["status"]["token"], namespace)
        given = {entry["name"]: entry["value"] for entry in pod["containers"][0]["env"] if "value" in entry}
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(plane.folder),
            "PYTHONPATH": str(ROOT / "operator"),  # of this checkout, whatever is installed
            "KUBECONFIG": str(config),
            **given,
        }
        self.command = [sys.executable, *PROGRAM]
        self.log = plane.folder / f"operator-{namespace}.log"
        self.process: ForkedProcess | None = None

    def start(self) -> None:
        """Start the process; does not wait."""
        self.process = started(self.command[1:], self.environment, self.plane.folder, self.log)

    def kill(self) -> None:
        """End the process at once, as a node that fails does."""
        self._end(signal.SIGKILL)

    def stop(self, seconds: float = 15.0) -> int:
        """End the process politely and return its exit code; raises AssertionError when it does not end."""
        return self._end(signal.SIGTERM, seconds)

    def _end(self, how: signal.Signals, seconds: float = 15.0) -> int:
        process, self.process = self.process, None
        if process is None:
            return 0
        process.send_signal(how)
        try:
            return process.wait(patience(seconds))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the operator did not end within {patience(seconds):.0f} s of {how.name}") from None

    @property
    def pid(self) -> int:
        """The process id; the operator must run."""
        assert self.process is not None
        return self.process.pid

    def memory(self, what: str) -> int:
        """Return one of the kernel's figures on the process' memory in bytes: VmRSS is what it has, VmHWM its peak."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith(f"{what}:"))
        return int(line.split()[1]) * 1024

    def lives(self) -> None:
        """Fail with the end of its log if the process has ended by itself."""
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError(f"the operator ended with {self.process.returncode}:\n{self.log.read_text()[-3000:]}")

    def revive(self) -> None:
        """Start it again, as Kubernetes does, if it has ended because it could not renew its lease (exit code 1)."""
        if self.process is not None and self.process.poll() == 1:
            self.start()

    def refused(self) -> list[str]:
        """Return the log's lines about requests that its Role does not allow: there must be none."""
        return [line for line in self.log.read_text().splitlines() if RBAC.search(line)]

    def answer(self, path: str) -> tuple[int, str]:
        """Return status and text of what its own server answers; 0 when it does not."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def wait_ready(self, seconds: float = 20.0, path: str = "/readyz") -> None:
        """Wait until it says that it is ready; one that waits for its lease is not, but says ok under /healthz."""
        end = time.monotonic() + patience(seconds)
        while True:
            self.lives()
            if self.answer(path)[0] == 200:
                return
            assert time.monotonic() < end, (
                f"not ready within {patience(seconds):.0f} s:\n{self.log.read_text()[-3000:]}"
            )
            time.sleep(0.1)
