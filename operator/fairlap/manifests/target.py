"""What a race on an existing cluster is given: its hosts, and its secrets as files."""

from fairlap.api.base import Json
from fairlap.api.spec import BenchmarkSpec, Target
from fairlap.plan.verdict.existing_cluster import removal

CREDENTIALS = "/run/fairlap/credentials"
CA = "/run/fairlap/ca"


def told(spec: BenchmarkSpec, target: Target, step: str) -> Json:
    """Return what the runner is told of the target: names of secrets, never their content."""
    credentials, ca = target.credentials_secret, target.ca_secret
    return {
        "hosts": [host.partition("://")[2] for host in target.hosts],
        "tls": target.hosts[0].startswith("https://"),
        "userFile": f"{CREDENTIALS}/username" if credentials else None,
        "passwordFile": f"{CREDENTIALS}/password" if credentials else None,
        "caFile": f"{CA}/ca.crt" if ca else None,
        "target": {
            "credentialsSecret": credentials.name if credentials else None,
            "caSecret": ca.name if ca else None,
            "overwrite": target.overwrite,
            "remove": removal(spec, step),
        },
    }


def volumes(target: Target) -> list[tuple[Json, str]]:
    """Return the volumes of the target's secrets with the paths they are mounted at.

    Optional, so that the pod starts without them and the runner can say in a sentence which Secret or key is missing.
    """
    found: list[tuple[Json, str]] = []
    if target.credentials_secret:
        found.append((_secret("credentials", target.credentials_secret.name, "username", "password"), CREDENTIALS))
    if target.ca_secret:
        found.append((_secret("ca", target.ca_secret.name, "ca.crt"), CA))
    return found


def _secret(volume: str, name: str, *keys: str) -> Json:
    items = [{"key": key, "path": key} for key in keys]
    return {
        "name": volume,
        "secret": {"secretName": name, "items": items, "optional": True, "defaultMode": 0o440},
    }
