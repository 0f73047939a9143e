"""CLUSTER=current: a cluster that exists already, used only when its context's name says that it is for tests."""

import json
import os
import re
from pathlib import Path

from localkube import golang, packages
from localkube.commands import output
from localkube.settings import Paths
from localkube.step_reports import StepFailedError, print_line

FOR_TESTS = frozenset(
    [
        *("test", "tests", "testing", "e2e", "ci", "kind", "k3d", "minikube", "localkube", "local"),
        *("dev", "development", "sandbox", "playground", "bench"),
    ]
)
NOT_FOR_TESTS = frozenset(["prod", "production", "prd", "live"])
ECK_CRD = "elasticsearches.elasticsearch.k8s.elastic.co"
OVERRIDE = "FAIRLAP_CONTEXT_OK"


def chosen() -> bool:
    """Whether the user asked for the current context's cluster."""
    value = os.environ.get("CLUSTER", "")
    if value not in {"", "local", "current"}:
        raise StepFailedError(f"CLUSTER={value} is unknown", hint="leave it unset for a local cluster, or say current")
    return value == "current"


def is_for_tests(context: str, allowed: str = "") -> bool:
    """Whether a context's name says that its cluster is for tests, or is the one allowed by name."""
    if allowed:
        return context == allowed
    words = set(re.split(r"[^a-z0-9]+", context.lower()))
    return bool(words & FOR_TESTS) and not words & NOT_FOR_TESTS


def kubectl(paths: Paths) -> Path:
    """The user's own kubectl, or ours when there is none."""
    own = packages.find("kubectl")
    return Path(own) if own else golang.program_path(golang.KUBERNETES, "kubectl", paths)


def check(paths: Paths) -> str:
    """The current context's name; raises StepFailedError when it should not or can't be used."""
    program = kubectl(paths)
    context = output(
        [program, "config", "current-context"], hint="choose one: kubectl config use-context NAME, or unset CLUSTER"
    ).strip()
    if not is_for_tests(context, os.environ.get(OVERRIDE, "")):
        raise StepFailedError(
            f"the name of the current context, {context!r}, does not say that it is for tests",
            hint=f"choose another context, or, if benchmarks may run there, start again with {OVERRIDE}={context}",
        )
    found = output(
        [program, "get", "crd", "-o", "json"], hint=f"see that kubectl can reach {context} and may read CRDs"
    )
    names = {item["metadata"]["name"] for item in json.loads(found)["items"]}
    if ECK_CRD not in names:
        raise StepFailedError(f"there is no ECK in {context}", hint="install it with its helm chart, then start again")
    print_line(f"Using the current context {context}; nothing is built or started.")
    return context
