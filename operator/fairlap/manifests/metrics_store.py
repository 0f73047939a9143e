"""What a race is given of the user's own metrics store: its hosts, and its secrets as files."""

from pathlib import Path

from fairlap.api.base import Json
from fairlap.api.spec import MetricsStore
from fairlap.manifests.target import API_KEY, ELASTIC, secret_volume
from fairlap_race.contract.specification.race_spec import MetricsStoreSpec

CREDENTIALS = Path("/run/fairlap/metrics-store")
CA = Path("/run/fairlap/metrics-store-ca")


def metrics_store_spec(store: MetricsStore | None) -> MetricsStoreSpec | None:
    """Return what the runner is told of it: names of secrets, never their content; None where there is none."""
    if store is None:
        return None
    with_password = store.credentials_secret or store.elastic_user_secret
    secret = with_password or store.api_key_secret
    return MetricsStoreSpec(
        hosts=tuple(host.partition("://")[2] for host in store.hosts),
        tls=store.hosts[0].startswith("https://"),
        user_file=CREDENTIALS / "username" if store.credentials_secret else None,
        password_file=CREDENTIALS / ("password" if store.credentials_secret else ELASTIC) if with_password else None,
        api_key_file=CREDENTIALS / API_KEY if store.api_key_secret else None,
        ca_file=CA / "ca.crt" if store.ca_secret else None,
        credentials_secret=secret.name if secret else None,
        ca_secret=store.ca_secret.name if store.ca_secret else None,
    )


def volumes(store: MetricsStore | None) -> list[tuple[Json, Path]]:
    """Return the volumes of its secrets with the paths they are mounted at; optional, as those of a target."""
    found: list[tuple[Json, Path]] = []
    if store is None:
        return found
    name = "metrics-store"
    if store.credentials_secret:
        found.append((secret_volume(name, store.credentials_secret.name, "username", "password"), CREDENTIALS))
    if store.elastic_user_secret:
        found.append((secret_volume(name, store.elastic_user_secret.name, ELASTIC), CREDENTIALS))
    if store.api_key_secret:
        found.append((secret_volume(name, store.api_key_secret.name, API_KEY), CREDENTIALS))
    if store.ca_secret:
        found.append((secret_volume(f"{name}-ca", store.ca_secret.name, "ca.crt"), CA))
    return found
