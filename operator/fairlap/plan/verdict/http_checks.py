"""Whether the numbers of a race over HTTP may be believed: checks of its own, and those that need no Elasticsearch.

What a saturated load generator, a missed schedule and too few requests mean is the same as in a race by Rally. So
`checks.remarks` makes the remarks of both, and is silent on what only an Elasticsearch could have told.
"""

from collections.abc import Iterator

from fairlap.api.spec import BenchmarkSpec
from fairlap.plan.verdict import measurement, probes_met, request_errors
from fairlap.plan.verdict.violation import Violation
from fairlap.results.remarks import RaceRemark
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.some_of import some_of
from fairlap_race.contract.specification.race_spec import Mode

_SHOWN = 5


def remarks(record: Record) -> Iterator[RaceRemark]:
    """Yield what a reader must know of the hosts: what each of the machines behind one name got is not known."""
    found = record.http.hosts if record.http else ()
    if several := [f"{it.host} has {it.addresses} addresses" for it in found if (it.addresses or 0) > 1]:
        text = f"{some_of(several, _SHOWN, last=', and ')}, and k6 draws one for each connection"
        yield RaceRemark(Reason.REQUESTS_UNEVEN, f"{text}: write each address as a host of its own in target.hosts")


def _ran_to_its_end(record: Record, _: BenchmarkSpec) -> Violation | None:
    if record.outcome.reason:
        return Violation(record.outcome.reason, record.outcome.message, record.outcome.field)
    if record.http is None or not record.http.hosts:
        return Violation(Reason.RECORD_MISSING, "the record does not say which hosts the race was sent to")
    if record.http.exit_code != 0:
        text = f"k6 ended with exit code {record.http.exit_code}, or did not end by itself"
        return Violation(Reason.LOAD_GENERATOR_DIED, text)
    return None


def _every_load_has_numbers(record: Record, _: BenchmarkSpec) -> Violation | None:
    if not record.track.tasks:
        return Violation(Reason.NO_TASKS, "the record does not say what was to run")
    measured = {task.task: task for task in record.tasks}
    drowned = measurement.drowned_probes(record)
    for wanted in [it for it in record.track.tasks if it.name not in drowned]:
        task = measured.get(wanted.name)
        if task is None or task.http is None or task.rally is None or not task.samples.normal:
            return Violation(Reason.TASK_MISSING, f"task {wanted.name} was to run but has no numbers")
    return None


def _hits_were_read(record: Record, spec: BenchmarkSpec) -> Violation | None:
    asked = spec.race.requests.hits if spec.race.requests else None
    if not asked or record.mode != Mode.RACE or record.http is None:
        return None
    found = record.http.hits
    if found is None or not found.lines or None in found.lines or found.unreadable:
        why = found.why if found else "they were not read"
        return Violation(Reason.PROBE_UNREADABLE, f"race.requests.hits: {why}")
    return None


HTTP_CHECKS = (
    _ran_to_its_end,
    request_errors.violation,
    _every_load_has_numbers,
    measurement.violation,
    probes_met.violation,
    _hits_were_read,
)
