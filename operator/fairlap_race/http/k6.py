"""Everything k6 is given: an argument list, a JSON file and environment variables; no secret in any of them."""

from __future__ import annotations

import json
import math
import re
import subprocess
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from fairlap_race.contract.specification.http_spec import HttpLoad, HttpSpec
from fairlap_race.contract.specification.race_spec import RaceSpec

SCRIPT = Path(__file__).with_name("script.js")
PROGRAM = "k6"
_VERSION = re.compile(r"\bk6\S* v(\d+\.\d+\.\d+\S*)")
_A_SECOND = 1000
_NOT_OF_A_PATH = re.compile(r"[^A-Za-z0-9$&+,/:;=@!'()*~._\[\]%-]")


@dataclass(frozen=True)
class K6Files:
    """Where k6's files are, all below one writable directory."""

    work: Path

    @property
    def plan(self) -> Path:
        """What the script reads."""
        return self.work / "plan.json"

    @property
    def lines_pipe(self) -> Path:
        """The pipe that the script's lines come through."""
        return self.work / "requests.pipe"

    @property
    def log(self) -> Path:
        """The pipe that k6's warnings and errors come through."""
        return self.work / "k6-log.pipe"

    @property
    def output(self) -> Path:
        """What k6 printed."""
        return self.work / "k6.out"

    @property
    def no_certificates(self) -> Path:
        """An empty directory."""
        return self.work / "no-certificates"


def requests_before_shift(lines: int, senders: int, hosts: int) -> int:
    """Return after how many requests of a sender it is one host further on, with the order `file`. Pure.

    Of so many `senders` each sends every so manieth of `lines` and takes the hosts in turn. So many requests are whole
    passes through its lines and through the hosts: each host has got as many, and without a shift the same lines again.
    """
    return math.lcm(lines // math.gcd(lines, senders), hosts)


def seed_of(http: HttpSpec, load: HttpLoad) -> int:
    """Return what decides a load's requests: of several loads each draws others, and in every race the same. Pure.

    Else a step of a sweep would begin with what the one before it has just brought into a cache.
    """
    return http.seed if len(http.loads) < 2 else http.seed ^ zlib.crc32(load.name.encode())


def make_plan(spec: RaceSpec, http: HttpSpec, load: HttpLoad, requests: Path, lines: int) -> dict[str, Any]:
    """Return what the script is to do for `load`; `requests` is the file of the requests, so many `lines`. Pure."""
    senders = load.clients if load.rate is None else 1
    scheme = "https" if spec.tls or spec.ca_file else "http"
    return {
        "hosts": [f"{scheme}://{host}" for host in spec.hosts],
        "requests": str(requests),
        "order": http.order,
        "shiftAfter": requests_before_shift(lines, senders, len(spec.hosts)),
        "seed": seed_of(http, load),
        "clients": load.clients,
        "nanoseconds": load.nanoseconds,
        "milliseconds": round((load.warmup_seconds + load.seconds) * _A_SECOND),
        "timeoutMilliseconds": round(http.timeout_seconds * _A_SECOND),
        "headers": dict(http.headers),
        "user": spec.user,
        "userFile": _text(spec.user_file),
        "passwordFile": _text(spec.password_file),
        "apiKeyFile": _text(spec.api_key_file),
        "certificateFile": _text(spec.certificate_file),
        "certificateKeyFile": _text(spec.certificate_key_file),
    }


def path_as_sent(path: str) -> str:
    """Return how k6 sends a path with its query: Go encodes the path anew where a character is none of a path's. Pure.

    Else, and in the query, each character goes out as it is written (`URL.EscapedPath` and `URL.RequestURI`).
    """
    before, mark, query = path.partition("?")
    if not _NOT_OF_A_PATH.search(before):
        return path
    return quote(unquote_to_bytes(before), safe="$&+,/:;=@") + mark + query


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def write_plan(files: K6Files, plan: Mapping[str, Any]) -> None:
    """Write what the script reads. Raises OSError."""
    files.no_certificates.mkdir(parents=True, exist_ok=True)
    files.plan.write_text(json.dumps(plan), encoding="utf-8")


def k6_argv(files: K6Files) -> list[str]:
    """Return the argument list that starts k6: everything off that is neither load nor the script's lines."""
    return [
        *(PROGRAM, "run", "--quiet", "--no-color", "--no-usage-report", "--summary-mode=disabled", "--no-thresholds"),
        *("--address=", f"--console-output={files.lines_pipe}", "--log-format=raw"),
        # To a pipe, since a warning for each failed request would fill the disk.
        f"--log-output=file={files.log},level=warning",
        *("--include-system-env-vars=false", "-e", f"FAIRLAP_PLAN={files.plan}", str(SCRIPT)),
    ]


def k6_env(spec: RaceSpec, files: K6Files, base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for k6 from `base` without what it must not see or be told.

    With a CA of its own, no other is trusted: Go reads a directory of them beside the file.
    """
    ours = ("FAIRLAP_", "KUBERNETES_", "K6_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    env = {name: value for name, value in base.items() if not name.startswith(ours)}
    env |= {"HOME": str(files.work), "K6_AUTO_EXTENSION_RESOLUTION": "false", "XDG_CONFIG_HOME": str(files.work)}
    if spec.ca_file is not None:
        env |= {"SSL_CERT_FILE": str(spec.ca_file), "SSL_CERT_DIR": str(files.no_certificates)}
    return env


def k6_version() -> str | None:
    """Return the version of the installed k6; None where there is none."""
    try:
        said = subprocess.run([PROGRAM, "version"], capture_output=True, text=True, check=False, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(said)
    return found.group(1) if found else None
