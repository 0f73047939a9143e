"""Whether the system under test was as the user said it must be: race.probes, as it told of itself. Pure."""

from fairlap.api.spec import BenchmarkSpec, Probe
from fairlap.plan.verdict.violation import Violation
from fairlap_race.contract.reasons import Reason
from fairlap_race.contract.recorded.record import Record
from fairlap_race.contract.request_files.probe import ProbeReading, ProbeRecord
from fairlap_race.contract.some_of import some_clauses
from fairlap_race.contract.specification.race_spec import Mode

_MOST_NAMED = 5


def violation(record: Record, spec: BenchmarkSpec) -> Violation | None:
    """Return the first condition that did not hold, or of which it cannot be told; a smoke race is too short for any.

    A value that counts by something is judged for all hosts together, any other on each host.
    """
    if record.mode == Mode.SMOKE:
        return None
    read = {it.name: it for it in record.probes}
    for probe in spec.race.probes:
        found = read.get(probe.name)
        if found is None or not found.hosts or found.unread:
            why = found.why if found else ""
            return Violation(Reason.PROBE_UNREADABLE, why or f"race.probes {probe.name} was not read after the race")
        if wrong := _not_met(probe, found):
            return Violation(Reason.CONDITION_NOT_MET, wrong)
    return None


def _not_met(probe: Probe, found: ProbeRecord) -> str:
    low, high = probe.between
    bounds = f"must be between {_shown(low)} and {_shown(high)}"
    if probe.weight is None and probe.part is None:
        out = [it for it in found.hosts if it.own is None or not low <= it.own <= high]
        return f"race.probes {probe.name} {bounds} after the race: {_hosts(out)}" if out else ""
    if found.own is None:
        return f"race.probes {probe.name} {bounds}, and cannot be told of this race: {found.why}; {_hosts(found.hosts)}"
    if low <= found.own <= high:
        return ""
    short = float(_shown(found.own))
    own = _shown(found.own) if not low <= short <= high else repr(found.own)
    return f"race.probes {probe.name} is {own} in this race, and {bounds}: {_hosts(found.hosts)}"


def _hosts(readings: tuple[ProbeReading, ...] | list[ProbeReading]) -> str:
    texts = (f"at {it.host} it was {_shown(it.before)} before and {_shown(it.after)} after" for it in readings)
    return some_clauses(texts, _MOST_NAMED)


def _shown(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.6g}"
