"""Everything Rally is given: an argument list, JSON files and environment variables; no secret but in one 0600 file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlap_race.contract.secrets import SYSTEM_CAS, read_secret
from fairlap_race.contract.specification.race_spec import (
    KEY_PER_CLIENT,
    OPERATORS_CLIENT_OPTIONS,
    RaceSpec,
    SpecError,
)
from fairlap_race.rally.releases import list_option, tag_option

CLIENT_TIMEOUT_SECONDS = 240
"""Rally's own default of 60 is lost when options are given as JSON, which would leave 10."""


@dataclass(frozen=True)
class Files:
    """Where Rally's files are, all below one writable directory."""

    work: Path

    @property
    def live(self) -> Path:
        """Directory of the files that Rally's processes write for the runner."""
        return self.work / "live"

    @property
    def config(self) -> Path:
        """Directory of the JSON files that Rally reads."""
        return self.work / "config"

    @property
    def output(self) -> Path:
        """What Rally printed."""
        return self.work / "rally.out"

    @property
    def log(self) -> Path:
        """Rally's log."""
        return self.work / ".rally" / "logs" / "rally.log"

    @property
    def temporary(self) -> Path:
        """Directory for temporary files."""
        return self.work / "tmp"

    @property
    def data_cache(self) -> Path:
        """Directory where Rally looks for corpora that are not beside the track."""
        return self.work / ".rally" / "benchmarks" / "data"

    def race_json(self, race_id: str) -> Path:
        """Return where Rally writes its results."""
        return self.work / ".rally" / "benchmarks" / "races" / race_id / "race.json"


def client_options(spec: RaceSpec, password: str | None, api_key: str | None = None) -> dict[str, Any]:
    """Return the options of Rally's Elasticsearch client. Raises SpecError for an option a user may not set."""
    forbidden = sorted(set(spec.client_options) & OPERATORS_CLIENT_OPTIONS)
    if forbidden:
        raise SpecError(
            f"clientOptions.{forbidden[0]}: TLS, credentials and retries are not a matter of client options"
        )
    # A retry inside the client would hide a rejected request in a long service time.
    options: dict[str, Any] = {"timeout": CLIENT_TIMEOUT_SECONDS, "max_retries": 0, **spec.client_options}
    if spec.tls or spec.ca_file is not None:
        options |= {"use_ssl": True, "verify_certs": True, "ca_certs": str(spec.ca_file or SYSTEM_CAS)}
    if options.get(KEY_PER_CLIENT) and password is None:
        raise SpecError(f"clientOptions.{KEY_PER_CLIENT}: Rally makes such keys with user and password only")
    if spec.certificate_file is not None:
        options |= {"client_cert": str(spec.certificate_file), "client_key": str(spec.certificate_key_file)}
    if api_key is not None:
        options["api_key"] = api_key
    if password is not None:
        options |= {"basic_auth_user": user_name(spec), "basic_auth_password": password}
    return options


def user_name(spec: RaceSpec) -> str:
    """Return the name of the user that Rally is. Raises OSError when its file cannot be read."""
    return spec.user if spec.user_file is None else read_secret(spec.user_file)


def rally_ini(cores: int, root: Path, down_sampling: int = 1) -> str:
    """Return Rally's configuration file; `cores` is the number of worker processes, `root` Rally's directory.

    Rally keeps the times of one request of `down_sampling`.
    """
    return (
        "[meta]\nconfig.version = 17\n\n"
        f"[system]\nenv.name = fairlap\navailable.cores = {cores}\n\n"
        f"[node]\nroot.dir = {root}/benchmarks\nsrc.root.dir = {root}/benchmarks/src\n\n"
        "[source]\nremote.repo.url = none\nelasticsearch.src.subdir = elasticsearch\n\n"
        f"[benchmarks]\nlocal.dataset.cache = {root}/benchmarks/data\n\n"
        "[reporting]\ndatastore.type = in-memory\ndatastore.host =\ndatastore.port =\ndatastore.secure = False\n"
        f"datastore.user =\ndatastore.password =\nmetrics.request.downsample.factor = {down_sampling}\n\n"
        "[tracks]\ndefault.url =\n\n[teams]\ndefault.url =\n\n"
        "[defaults]\npreserve_benchmark_candidate = false\n\n[distributions]\nrelease.cache = true\n"
    )


def write_files(
    spec: RaceSpec,
    files: Files,
    params: Mapping[str, Any],
    password: str | None,
    cores: int,
    api_key: str | None = None,
) -> None:
    """Write what Rally reads. Raises SpecError for a forbidden client option and OSError."""
    options = client_options(spec, password, api_key)
    for directory in (files.config, files.live, files.temporary, files.log.parent):
        directory.mkdir(parents=True, exist_ok=True)
    root = files.work / ".rally"
    (root / "rally.ini").write_text(rally_ini(cores, root, spec.down_sampling), encoding="utf-8")
    contents = {
        "hosts": {"default": list(spec.hosts)},
        "params": dict(params),
        "include": list(spec.include_tasks),
        "exclude": list(spec.exclude_tasks),
        "tags": dict(spec.user_tags),
        "telemetry": dict(spec.telemetry_params),
    }
    for name, content in contents.items():
        (files.config / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    write_private(files.config / "client.json", json.dumps({"default": options}))


def write_private(path: Path, text: str) -> None:
    """Write `text` to a new file that only this user can read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(text)


def rally_argv(
    spec: RaceSpec, files: Files, track: Path, version: str | None = None, *, offline: bool = True
) -> list[str]:
    """Return the argument list that starts Rally on the track in the directory `track`.

    `version` is that of the installed Rally. `offline`: Rally may fetch nothing; the corpora are there before it
    starts, only code of the track may need more. Raises SpecError for what it cannot be told.
    """
    config = files.config
    argv = [
        sys.executable,
        "-m",
        "fairlap_race.rally.inside.launch",
        str(files.live),
        "race",
        "--pipeline=benchmark-only",
    ]
    argv += [
        *(["--offline"] if offline else []),
        "--on-error=abort",
        # What a track asserts of its documents' hits holds for all of them, not for the thousand of the test mode.
        *([] if spec.test_mode else ["--enable-assertions"]),
        f"--race-id={spec.race_id}",
    ]
    argv += [f"--track-path={track}", f"--track-params={config / 'params.json'}"]
    argv += [f"--target-hosts={config / 'hosts.json'}", f"--client-options={config / 'client.json'}"]
    argv += ["--report-format=csv", f"--report-file={files.work / 'report.csv'}", "--show-in-report=available"]
    if spec.challenge is not None:
        argv.append(f"--challenge={spec.challenge}")
    argv += list_option("include-tasks", spec.include_tasks, config / "include.json", version)
    argv += list_option("exclude-tasks", spec.exclude_tasks, config / "exclude.json", version)
    argv += tag_option(spec.user_tags, config / "tags.json", version)
    if spec.telemetry:
        argv.append(f"--telemetry={','.join(spec.telemetry)}")
    if spec.telemetry_params:
        argv.append(f"--telemetry-params={config / 'telemetry.json'}")
    if spec.test_mode:
        argv.append("--test-mode")
    return argv


def rally_env(files: Files, base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for Rally, and for what asks Rally, from `base` without what they must not see."""
    keep = {name: value for name, value in base.items() if not name.startswith(("FAIRLAP_", "KUBERNETES_"))}
    # They run in a working directory that they can write to, and the package may be importable only from here.
    path = os.pathsep.join(filter(None, (str(Path(__file__).resolve().parents[2]), base.get("PYTHONPATH"))))
    return keep | {
        "PYTHONPATH": path,
        "HOME": str(files.work),
        "RALLY_HOME": str(files.work),
        "TMPDIR": str(files.temporary),
        "RALLY_RUNNING_IN_DOCKER": "true",
        "TERM": "dumb",
        "PYTHONUNBUFFERED": "1",
        "THESPIAN_BASE_IPADDR": "127.0.0.1",
    }
