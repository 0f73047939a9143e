"""A real control plane for tests: etcd, kube-apiserver with RBAC, and the controllers that collect garbage.

No kubelet, scheduler or Job controller: their part is played by `fakes`. Everything listens on loopback ports of its
own and keeps its files in one temporary folder; each program ends by its process id.
"""

import contextlib
import ctypes
import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from .tools import ROOT, tool

Json = dict[str, Any]
PREFIX = "fairlap-api-"
START_SECONDS = 240.0
_PORTS = range(12000, 30000)
ELASTICSEARCHES = "elasticsearches.elasticsearch.k8s.elastic.co"
# The Job controller is left out on purpose: the tests bring one that can misbehave.
WRITES = ["create", "update", "patch", "delete"]
# What the operators write, so that tests can count it: they are the only service accounts that call by themselves.
AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Metadata",
            "userGroups": ["system:serviceaccounts"],
            "verbs": ["create", "update", "patch", "delete"],
        },
        {"level": "None"},
    ],
}
STRICT = "fieldValidation=Strict"
"""as kubectl asks for: a field that the schema does not know is refused"""
CLUSTER_SCOPED = {"ClusterRole", "ClusterRoleBinding", "Node", "Namespace"}
CLUSTER_SCOPED |= {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "persistentvolumeclaim-protection-controller",
    "serviceaccount-controller",
)


class ControlPlane:
    """One running control plane; `kubeconfig(token)` gives access to it."""

    def __init__(self) -> None:
        sweep()
        # The owner is in the name: several test runs that begin at once must not take each other for remains.
        self.folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self.admin_token = secrets.token_hex(16)
        self._kcm_token = secrets.token_hex(16)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.port = free_port()
        self.server = f"https://127.0.0.1:{self.port}"
        self.ca = self.folder / "pki" / "apiserver.crt"
        self.admin = self.folder / "admin.kubeconfig"
        self.audit = self.folder / "audit.log"

    def start(self) -> None:
        """Start everything and install the CRDs; raises RuntimeError with the end of the log that explains why not."""
        try:
            self._start_etcd()
            self._start_apiserver()
            self.write_kubeconfig(self.admin, self.admin_token)
            self._install_crds()
            # After the CRDs: the garbage collector learns of kinds that come later only after half a minute.
            self._start_controllers()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End every process that `start` started and remove its files."""
        for process in reversed(self._processes):
            process.terminate()
        for process in reversed(self._processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def write_kubeconfig(self, path: Path, token: str, namespace: str = "default") -> Path:
        """Write a kubeconfig for the bearer of `token`, readable by the owner alone."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "fairlap-api-tests",
            "clusters": [
                {"name": "c", "cluster": {"server": self.server, "certificate-authority": str(self.ca)}},
            ],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [
                {"name": "fairlap-api-tests", "context": {"cluster": "c", "user": "u", "namespace": namespace}},
            ],
        }
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config))
        return path

    def kubectl(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run kubectl as an administrator; the caller looks at returncode, stdout and stderr."""
        return subprocess.run(
            [tool("kubectl"), f"--kubeconfig={self.admin}", f"--cache-dir={self.folder}/kubectl", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def post(self, path: str, body: Json) -> Json:
        """Send an object as an administrator: what kubectl takes a quarter of a second of CPU for. Raises HTTPError."""
        return self._send("POST", path, body, "application/json")

    def _send(self, method: str, path: str, body: Json, kind: str) -> Json:
        headers = {"Content-Type": kind, "Authorization": f"Bearer {self.admin_token}"}
        data = json.dumps(body).encode()
        request = urllib.request.Request(f"{self.server}{path}", data, headers, method=method)  # noqa: S310
        context = ssl.create_default_context(cafile=self.ca)
        with urllib.request.urlopen(request, timeout=300, context=context) as answer:  # noqa: S310
            found: Json = json.load(answer)
            return found

    def create(self, manifest: Json) -> None:
        """Create an object as `kubectl create` does; raises AssertionError with the API server's words."""
        if words := self._refusal("POST", f"{collection_of(manifest)}?{STRICT}", manifest):
            raise AssertionError(words)

    def apply(self, manifest: Json) -> None:
        """Create an object, or make the one of its name this one, as `kubectl apply --server-side --force-conflicts`.

        Raises AssertionError with the API server's words.
        """
        path = f"{collection_of(manifest)}/{manifest['metadata']['name']}?fieldManager=tests&force=true&{STRICT}"
        if words := self._refusal("PATCH", path, manifest, "application/apply-patch+yaml"):
            raise AssertionError(words)

    def refusal(self, manifest: Json) -> str:
        """Return why the API server would not create an object; "" when it would."""
        return self._refusal("POST", f"{collection_of(manifest)}?dryRun=All&{STRICT}", manifest)

    def _refusal(self, method: str, path: str, manifest: Json, kind: str = "application/json") -> str:
        try:
            self._send(method, path, manifest, kind)
        except urllib.error.HTTPError as error:
            words = error.read().decode()
            return str(json.loads(words)["message"]) if words.startswith("{") else f"{error}: {path}"
        return ""

    def _start_etcd(self) -> None:
        self._etcd_port, peer = free_port(), free_port()
        client, peers = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{peer}"
        command = [tool("etcd"), f"--data-dir={self.folder}/etcd", "--unsafe-no-fsync=true"]
        command += [f"--listen-client-urls={client}", f"--advertise-client-urls={client}"]
        command += [f"--listen-peer-urls={peers}", f"--initial-advertise-peer-urls={peers}"]
        command += [f"--initial-cluster=default={peers}", "--log-level=warn"]
        self._run("etcd", command)
        self._await("etcd", f"{client}/health")

    def _start_apiserver(self) -> None:
        self.ca.parent.mkdir()
        key, tokens = self.folder / "pki" / "sa.key", self.folder / "tokens.csv"
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
        # The garbage collector may delete every kind; in a real cluster it has a role of its own for that.
        users = ((self.admin_token, "admin"), (self._kcm_token, "system:kube-controller-manager"))
        tokens.write_text("".join(f'{token},{user},{user},"system:masters"\n' for token, user in users))
        tokens.chmod(0o600)
        policy = self.folder / "audit.yaml"
        policy.write_text(yaml.safe_dump(AUDIT))
        command = [tool("kube-apiserver"), f"--etcd-servers=http://127.0.0.1:{self._etcd_port}"]
        command += ["--bind-address=127.0.0.1", f"--secure-port={self.port}", f"--cert-dir={self.ca.parent}"]
        command += ["--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none"]
        command += ["--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=RBAC", "--anonymous-auth=true"]
        command += [f"--token-auth-file={tokens}", "--service-account-issuer=https://kubernetes.default.svc"]
        command += [f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}"]
        # As OpenShift has it: setting blockOwnerDeletion needs the right to update the owner's finalizers.
        command += ["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"]
        command += ["--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000", "--profiling=false"]
        command += [
            "--allow-privileged=true"
        ]  # as nearly everywhere; Pod Security levels forbid it where it is not wanted
        command += [f"--audit-policy-file={policy}", f"--audit-log-path={self.audit}"]
        self._apiserver = command
        self.start_apiserver()

    def start_apiserver(self) -> None:
        """Start kube-apiserver, or start it again after `kill_apiserver`, and wait until it is ready."""
        self._run("kube-apiserver", self._apiserver)
        self._await("kube-apiserver", f"{self.server}/readyz")

    def kill_apiserver(self) -> None:
        """End kube-apiserver as a machine that fails does."""
        (process,) = (p for p in self._processes if str(p.args[0]).endswith("kube-apiserver"))  # type: ignore[index]
        self._processes.remove(process)
        process.kill()
        process.wait()

    def writes(self, account: str, namespace: str) -> list[Json]:
        """Return the audit log's entries about what a service account wrote in a namespace, in order."""
        found = []
        for line in self.audit.read_text().splitlines() if self.audit.exists() else ():
            entry = json.loads(line)
            about, by = entry.get("objectRef", {}), entry["user"]["username"]
            if about.get("namespace") == namespace and by.endswith(f":{account}") and "impersonatedUser" not in entry:
                found.append(entry)
        return sorted(found, key=lambda entry: entry["requestReceivedTimestamp"])

    def compact(self) -> int:
        """Let etcd forget every older version; return the revision from which on it still knows them."""

        def etcd(path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
            url, data = f"http://127.0.0.1:{self._etcd_port}/v3/kv/{path}", json.dumps(body).encode()
            with urllib.request.urlopen(url, data=data, timeout=60) as answer:
                found: dict[str, dict[str, str]] = json.load(answer)
                return found

        revision = int(etcd("range", {"key": "AA=="})["header"]["revision"])
        etcd("compaction", {"revision": str(revision), "physical": True})
        return revision

    def _start_controllers(self) -> None:
        config = self.write_kubeconfig(self.folder / "kcm.kubeconfig", self._kcm_token)
        command = [tool("kube-controller-manager"), f"--kubeconfig={config}", "--leader-elect=false"]
        command += [f"--controllers={','.join(CONTROLLERS)}", "--use-service-account-credentials=false"]
        command += ["--kube-api-qps=1000", "--kube-api-burst=2000", "--bind-address=127.0.0.1"]
        port = free_port()
        command += [f"--secure-port={port}", "--authorization-always-allow-paths=/healthz", "--profiling=false"]
        self._run("kube-controller-manager", command)
        self._await("kube-controller-manager", f"https://127.0.0.1:{port}/healthz", verified=False)

    def start_scheduler(self, name: str) -> None:
        """Start kube-scheduler for the pods whose schedulerName is `name`, and for no others; ends with `stop`."""
        kubeconfig = self.write_kubeconfig(self.folder / "scheduler.kubeconfig", self._kcm_token)
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "leaderElection": {"leaderElect": False},
            "profiles": [{"schedulerName": name}],
        }
        (self.folder / "scheduler.yaml").write_text(yaml.safe_dump(config))
        port = free_port()
        command = [tool("kube-scheduler"), f"--config={self.folder}/scheduler.yaml", "--bind-address=127.0.0.1"]
        command += [f"--secure-port={port}", "--authorization-always-allow-paths=/healthz,/readyz"]
        self._run("kube-scheduler", command)
        self._await("kube-scheduler", f"https://127.0.0.1:{port}/healthz", verified=False)

    def _install_crds(self) -> None:
        # ECK's other kinds are of no use here, and the API server takes seconds to describe them all.
        documents = Path(tool("eck-crds")).read_text().split("\n---\n")
        (elasticsearch,) = (text for text in documents if f"\n  name: {ELASTICSEARCHES}\n" in text)
        done = self.kubectl("create", f"--filename={ROOT / 'crds'}", "--filename=-", stdin=elasticsearch)
        if done.returncode:
            raise RuntimeError(f"the CRDs were not accepted: {done.stderr}")
        done = self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=240s")
        if done.returncode:
            raise RuntimeError(f"the CRDs were not established: {done.stderr}")

    def _run(self, name: str, command: Sequence[str]) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, "GOGC": "400"},  # a sixth less CPU time for some memory, which is there
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509  # no threads have been started here yet
            )
        self._processes.append(process)
        with (self.folder / "pids").open("a") as pids:
            pids.write(f"{process.pid}\n")

    def _await(self, name: str, url: str, *, verified: bool = True) -> None:
        until = time.monotonic() + START_SECONDS
        while not self._answers(url, verified=verified):
            process = self._processes[-1]
            if process.poll() is not None or time.monotonic() > until:
                log = (self.folder / f"{name}.log").read_text(errors="replace")[-3000:]
                raise RuntimeError(f"{name} did not start (exit code {process.returncode}):\n{log}")
            time.sleep(0.1)

    def _answers(self, url: str, *, verified: bool) -> bool:
        try:
            # Inside: the server writes its certificate while it starts, and half a file is no certificate yet.
            context = self._context(verified=verified) if url.startswith("https") else None
            with urllib.request.urlopen(url, timeout=10, context=context) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def _context(self, *, verified: bool) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca if verified else None)
        if not verified:
            # The controller manager makes a certificate for itself alone; only "it is up" is read from it.
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def collection_of(manifest: Json) -> str:
    """Return the API server's path of all objects of a manifest's kind, in its namespace or else in "default"."""
    version, kind = manifest["apiVersion"], manifest["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = manifest["metadata"].get("namespace", "default")
    place = "" if kind in CLUSTER_SCOPED else f"/namespaces/{namespace}"
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}es" if kind.endswith(("s", "ch")) else f"{kind}s"
    return f"{root}{place}/{plural.lower()}"


def die_with_parent() -> None:
    """Ask Linux to end this process when its parent dies, so that a killed test run leaves nothing running."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def sweep() -> None:
    """Remove what test runs that were killed left behind: their processes by id, then their folders."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if Path(f"/proc/{folder.name.removeprefix(PREFIX).partition('-')[0]}").exists():
            continue
        pids = folder / "pids"
        for pid in pids.read_text().split() if pids.exists() else ():
            command = Path(f"/proc/{pid}/cmdline")
            # A process id may have been given to somebody else since.
            if command.exists() and str(folder).encode() in command.read_bytes():
                os.kill(int(pid), signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """Return a TCP port of loopback that nobody listens on.

    Not one that the kernel gives to whoever connects: it would be taken by the time that a server asks for it.
    """
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


def as_json(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    """Return kubectl's JSON answer; raises AssertionError with its words when it failed."""
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer
