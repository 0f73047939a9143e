"""Which files of a race come from which Secret, for messages that name it."""

from __future__ import annotations

from fairlap_race.contract.secrets import SecretFile
from fairlap_race.contract.specification.race_spec import RaceSpec, TargetSpec


def secret_files(spec: RaceSpec) -> tuple[SecretFile, ...]:
    """Return the files of Secrets that the way to the system under test needs."""
    about = spec.target or TargetSpec()
    return (
        *((path, about.credentials_secret) for path in (spec.user_file, spec.password_file, spec.api_key_file)),
        *((path, about.certificate_secret) for path in (spec.certificate_file, spec.certificate_key_file)),
        (spec.ca_file, about.ca_secret),
    )
