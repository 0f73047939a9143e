"""kubectl in one namespace, as the scripts call it."""

import json
import subprocess
from typing import Any

Json = dict[str, Any]


class Kubectl:
    """kubectl in one namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

    def __call__(self, *arguments: str, given: str | None = None) -> str:
        """Return what kubectl prints; raises CalledProcessError."""
        return self.attempt(*arguments, given=given, check=True).stdout

    def attempt(
        self, *arguments: str, given: str | None = None, check: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Return how kubectl ended and what it printed."""
        argv = ["kubectl", "-n", self.namespace, *arguments]
        return subprocess.run(argv, input=given, check=check, capture_output=True, text=True)

    def apply(self, *manifests: Json) -> None:
        """Apply manifests in order."""
        # A List, since kubectl 1.32 takes no `---` between documents of JSON.
        self("apply", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))

    def get(self, *arguments: str) -> Json:
        """Return what `kubectl get -o json` says, {} when it is not there."""
        text = self("get", *arguments, "-o", "json", "--ignore-not-found")
        found: Json = json.loads(text) if text.strip() else {}
        return found
