"""Certificates and kubeconfigs of the node, made with openssl and kept between starts."""

import base64
import json
import shutil
from pathlib import Path

from localkube.commands import run
from localkube.settings import API_SERVER, NODE_ADDRESS, NODE_NAME

DAYS = "3650"
CLUSTER = "localkube"

# file name -> (subject, alternative names)
CERTIFICATES = {
    "apiserver": (
        "/CN=kube-apiserver",
        "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,"
        f"DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1,IP:10.96.0.1,IP:{NODE_ADDRESS}",
    ),
    "apiserver-kubelet": ("/O=system:masters/CN=kube-apiserver-kubelet-client", ""),
    "admin": ("/O=system:masters/CN=localkube-admin", ""),
    "controller-manager": ("/CN=system:kube-controller-manager", ""),
    "scheduler": ("/CN=system:kube-scheduler", ""),
    "proxy": ("/CN=system:kube-proxy", ""),
    "kubelet": (f"/O=system:nodes/CN=system:node:{NODE_NAME}", f"DNS:{NODE_NAME},IP:{NODE_ADDRESS}"),
}
KUBECONFIGS = ("admin", "controller-manager", "scheduler", "proxy", "kubelet")


def ensure(folder: Path, log: Path) -> None:
    """Make the authority, the certificates, the service account key and the kubeconfigs, if they are not there yet."""
    if (folder / "complete").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    authority = ["-subj", f"/CN={CLUSTER}-ca", "-keyout", "ca.key", "-out", "ca.crt", "-days", DAYS]
    run(["openssl", "req", "-x509", *key, *authority], cwd=folder, log=log)
    for name, (subject, names) in CERTIFICATES.items():
        _sign(folder, name, subject, names, key, log)
    run(["openssl", "genrsa", "-out", "service-accounts.key", "2048"], cwd=folder, log=log)
    for name in KUBECONFIGS:
        write_private(folder / f"{name}.kubeconfig", kubeconfig(folder, name))
    (folder / "complete").touch()


def _sign(folder: Path, name: str, subject: str, names: str, key: list[str], log: Path) -> None:
    request = ["-subj", subject, "-keyout", f"{name}.key", "-out", f"{name}.csr"]
    run(["openssl", "req", *key, *request], cwd=folder, log=log)
    extensions = "extendedKeyUsage=serverAuth,clientAuth\n" + (f"subjectAltName={names}\n" if names else "")
    (folder / f"{name}.ext").write_text(extensions)
    signing = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", DAYS, "-extfile", f"{name}.ext"]
    run(["openssl", "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *signing], cwd=folder, log=log)


def kubeconfig(folder: Path, name: str) -> str:
    """A kubeconfig (JSON is YAML too) for the holder of a certificate in `folder`."""

    def data(file: str) -> str:
        return base64.b64encode((folder / file).read_bytes()).decode()

    cluster = {"server": API_SERVER, "certificate-authority-data": data("ca.crt")}
    user = {"client-certificate-data": data(f"{name}.crt"), "client-key-data": data(f"{name}.key")}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CLUSTER, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": CLUSTER, "context": {"cluster": CLUSTER, "user": name}}],
        "current-context": CLUSTER,
    }
    return json.dumps(config, indent=2) + "\n"


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    file.touch(mode=0o600)
    file.write_text(text)
