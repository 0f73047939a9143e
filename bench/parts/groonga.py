"""Manifests of a Groonga to send requests to over HTTP, and of the requests, from the examples' own."""

from pathlib import Path

import yaml

from parts.kubectl import Json
from parts.throwaway import LABEL

EXAMPLE = Path(__file__).parents[2] / "examples" / "groonga-clients"
PORT = 10041


def engine(name: str, bench: str, cpu: str) -> list[Json]:
    """Return Service and StatefulSet of the example's Groonga under another name; `cpu`: its request and limit."""
    service, pods = yaml.safe_load_all((EXAMPLE / "1-groonga.yaml").read_text(encoding="utf-8"))
    app = {"app": name}
    for each in (service, pods):
        each["metadata"] = {"name": name, "labels": {LABEL: bench}}
    service["spec"]["selector"] = app
    pods["spec"] |= {"serviceName": name, "selector": {"matchLabels": app}}
    pods["spec"]["template"]["metadata"]["labels"] = app
    resources = pods["spec"]["template"]["spec"]["containers"][0]["resources"]
    for each in resources.values():
        each["cpu"] = cpu
    return [service, pods]


def host(name: str) -> str:
    """Return where it answers."""
    return f"http://{name}-0.{name}:{PORT}"


def requests(name: str, bench: str) -> Json:
    """Return the ConfigMap of the example's 200 searches under another name."""
    found: Json = yaml.safe_load((EXAMPLE / "2-requests.yaml").read_text(encoding="utf-8"))
    return {**found, "metadata": {"name": name, "labels": {LABEL: bench}}}
