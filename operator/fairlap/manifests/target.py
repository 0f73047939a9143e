"""What a race on an existing cluster is given: its hosts, and its secrets as files."""

from dataclasses import replace
from pathlib import Path

from fairlap.api.base import Json
from fairlap.api.spec import BenchmarkSpec, Target
from fairlap.plan.verdict.existing_cluster import removal
from fairlap_race.contract.specification.race_spec import RaceSpec, TargetSpec

CREDENTIALS = Path("/run/fairlap/credentials")
CA = Path("/run/fairlap/ca")
CERTIFICATE = Path("/run/fairlap/certificate")
API_KEY = "api-key"
ELASTIC = "elastic"
"""the user whom Elasticsearch is made with, and the key of his password in the Secret that ECK makes"""


def with_target(race: RaceSpec, spec: BenchmarkSpec, target: Target, step: str) -> RaceSpec:
    """Return the specification `race` with what it needs of the target: names of secrets, never their content."""
    credentials, ca, certificate = target.credentials_secret, target.ca_secret, target.client_certificate_secret
    with_password = credentials or target.elastic_user_secret
    secret = with_password or target.api_key_secret
    return replace(
        race,
        hosts=tuple(host.partition("://")[2] for host in target.hosts),
        tls=target.hosts[0].startswith("https://"),
        user_file=CREDENTIALS / "username" if credentials else None,
        password_file=CREDENTIALS / ("password" if credentials else ELASTIC) if with_password else None,
        api_key_file=CREDENTIALS / API_KEY if target.api_key_secret else None,
        certificate_file=CERTIFICATE / "tls.crt" if certificate else None,
        certificate_key_file=CERTIFICATE / "tls.key" if certificate else None,
        ca_file=CA / "ca.crt" if ca else None,
        target=TargetSpec(
            credentials_secret=secret.name if secret else None,
            certificate_secret=certificate.name if certificate else None,
            ca_secret=ca.name if ca else None,
            overwrite=target.overwrite,
            # No step begins with it on a target that no Comparison keeps: `plan.stages.between_steps` refuses it.
            kept=bool(spec.raced_again),
            remove=removal(spec, step),
        ),
    )


def volumes(target: Target) -> list[tuple[Json, Path]]:
    """Return the volumes of the target's secrets with the paths they are mounted at.

    Optional, so that the pod starts without them and the runner can say in a sentence which Secret or key is missing.
    """
    found: list[tuple[Json, Path]] = []
    if target.credentials_secret:
        found.append(
            (secret_volume("credentials", target.credentials_secret.name, "username", "password"), CREDENTIALS)
        )
    if target.elastic_user_secret:
        found.append((secret_volume("credentials", target.elastic_user_secret.name, ELASTIC), CREDENTIALS))
    if target.api_key_secret:
        found.append((secret_volume("credentials", target.api_key_secret.name, API_KEY), CREDENTIALS))
    if target.client_certificate_secret:
        name = target.client_certificate_secret.name
        found.append((secret_volume("certificate", name, "tls.crt", "tls.key"), CERTIFICATE))
    if target.ca_secret:
        found.append((secret_volume("ca", target.ca_secret.name, "ca.crt"), CA))
    return found


def secret_volume(volume: str, name: str, *keys: str) -> Json:
    """Return the volume of a Secret's keys; the pod starts without it, and says in a sentence what is missing."""
    items = [{"key": key, "path": key} for key in keys]
    return {
        "name": volume,
        "secret": {"secretName": name, "items": items, "optional": True, "defaultMode": 0o440},
    }
