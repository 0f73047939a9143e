"""What Rally's and the track's own words mean, as a reason from the closed list: tables of texts, tried in order."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from fairlap_race.contract.reasons import Reason

_ANY = re.IGNORECASE | re.DOTALL


def _table(*rows: tuple[str, Reason]) -> tuple[tuple[re.Pattern[str], Reason], ...]:
    return tuple((re.compile(pattern, _ANY), reason) for pattern, reason in rows)


_TRACK = _table(
    (r"Unknown challenge \[", Reason.UNKNOWN_CHALLENGE),
    (r"does not provide challenge \[", Reason.UNKNOWN_CHALLENGE),
    (r"Unused track parameters|track parameter\(s\) .* are not used by this track", Reason.UNKNOWN_PARAMETER),
    (r"Reserved track parameters", Reason.UNKNOWN_PARAMETER),
    (r"Track path .* does not exist|Cannot find track|track\.json.* does not exist", Reason.TRACK_NOT_FOUND),
    (r"^Cannot load track \[.*\]\. List the available tracks", Reason.TRACK_NOT_FOUND),
    (r"Installation of track dependencies failed", Reason.TRACK_INVALID),
    (
        r"Jinja Syntax Exception|UndefinedError|is undefined|TemplateAssertionError|No filter named",
        Reason.TEMPLATE_ERROR,
    ),
    (r"Could not load '.*'|Track '.*' is invalid|TrackSyntaxError|Unknown operation type", Reason.TRACK_INVALID),
    (
        r"Could not (register|load) track plugin|Could not load component|Invalid format for filtered",
        Reason.TRACK_INVALID,
    ),
)

_CORPUS = _table(
    (r"Expected \[\d+\] lines but got \[\d+\]", Reason.CORPUS_COUNT_MISMATCH),
    (r"does not have the expected size of|is corrupt\. ", Reason.CORPUS_COUNT_MISMATCH),
    (r"Cannot find \[.*\]\. Please disable offline mode", Reason.CORPUS_MISSING),
    (
        r"Cannot download data because no base URL|Could not download \[|does not support test mode",
        Reason.CORPUS_MISSING,
    ),
    (r"does not match any of the corpora|There is no document corpus definition", Reason.CORPUS_MISSING),
)

_CONNECTION = _table(
    (r"AuthenticationException|AuthorizationException|unable to authenticate user", Reason.AUTHENTICATION_FAILED),
    (r"CERTIFICATE_VERIFY_FAILED|Hostname mismatch|TlsError|WRONG_VERSION_NUMBER|SSLError", Reason.TLS_UNTRUSTED),
    (r"Cannot verify certs with mixed IP", Reason.TLS_UNTRUSTED),
    (
        r"Cluster version must be at least|media_type_header_exception|Accept version must be either version",
        Reason.CLIENT_TOO_NEW,
    ),
    (r"UnsupportedProductError|not a supported distribution|not Elasticsearch", Reason.UNSUPPORTED_PRODUCT),
)

_REQUEST = _table(
    (r"Expected \[.*\] to be .* but was \[", Reason.ASSERTION_FAILED),
    (r"circuit_breaking_exception|CircuitBreakingException|Data too large", Reason.CIRCUIT_BREAKER),
    (r"flood-stage watermark|read-only-allow-delete|disk watermark|No space left on device", Reason.DISK_WATERMARK),
    (r"pipeline with id \[.*\] does not exist", Reason.PIPELINE_MISSING),
    (r"did not provide the mandatory parameter|Cannot execute \[.*Provided parameters are", Reason.PARAMETER_MISSING),
    (r"Mandatory parameter '.*' is missing", Reason.PARAMETER_MISSING),
    (r"Cannot connect to host|Connection refused|ConnectionError|Connect call failed", Reason.CLUSTER_UNREACHABLE),
    (r"name resolution|Name or service not known|REST API layer is not (yet )?available", Reason.CLUSTER_UNREACHABLE),
    (r"Error type: transport|ServerDisconnected|Connection reset by peer", Reason.CLUSTER_UNREACHABLE),
    (r"Request returned an error|Error type: (api|bulk)", Reason.REQUEST_ERRORS),
)

_PROCESS = _table(
    (r"Worker \[\d+\] has exited prematurely|Child Aborted|fatal crash", Reason.LOAD_GENERATOR_DIED),
    (r"MemoryError|Cannot allocate memory", Reason.LOAD_GENERATOR_OUT_OF_MEMORY),
)

_RUNNING = _CONNECTION + _REQUEST + _PROCESS
_STARTING = _TRACK + _CORPUS + _RUNNING
_TASK = re.compile(r"Cannot run task \[")
"""What follows these words can quote any text of Elasticsearch, so no error of the track is looked for in it."""


def classify_track(text: str) -> Reason:
    """Return the reason for an error that Rally raised, with the words `text`, while it loaded a track."""
    return _first(_TRACK + _CORPUS, text) or Reason.TRACK_INVALID


def classify_race(text: str, oom_killed: bool = False) -> Reason:
    """Return the reason for Rally's failure with the words `text` (its '[ERROR]' lines).

    `oom_killed`: the kernel killed a process of this container for lack of memory; that explains a process's death
    better than Rally can.
    """
    reason = _first(_RUNNING if _TASK.search(text) else _STARTING, text) or Reason.RALLY_FAILED
    if oom_killed and reason in (Reason.LOAD_GENERATOR_DIED, Reason.RALLY_FAILED):
        return Reason.LOAD_GENERATOR_OUT_OF_MEMORY
    return reason


def _first(table: tuple[tuple[re.Pattern[str], Reason], ...], text: str) -> Reason | None:
    return next((reason for pattern, reason in table if pattern.search(text)), None)


# The progress line before it does not always end with a line end.
_ERROR_LINE = re.compile(
    r"\[ERROR\] Cannot race\. (.*?)(?=^Getting further help|^-+$|^\[INFO\]|\Z)", re.DOTALL | re.MULTILINE
)
_WARNING_LINE = re.compile(r"\[WARNING\] (.+)$", re.MULTILINE)
_LOG_WARNING = re.compile(r"(Dropping sample for \[[^\]]*\] due to a full sampling queue)")


def error_words(output: str) -> str:
    """Return what Rally printed after '[ERROR] Cannot race.' in its `output`; empty when it printed no error."""
    found = _ERROR_LINE.search(output)
    return found.group(1).strip() if found else ""


def warnings(output: str) -> tuple[str, ...]:
    """Return the warnings in Rally's `output`, each once, in order."""
    return tuple(dict.fromkeys(line.strip() for line in _WARNING_LINE.findall(output)))


def without_warnings_on(tasks: Collection[str], found: Iterable[str]) -> tuple[str, ...]:
    """Return those of Rally's warnings that name none of the tasks: Rally writes a task's name in brackets."""
    return tuple(text for text in found if not any(f"[{task}]" in text for task in tasks))


def dropped_samples(log_text: str) -> bool:
    """Tell whether Rally's log says that it lost samples."""
    return bool(_LOG_WARNING.search(log_text))
