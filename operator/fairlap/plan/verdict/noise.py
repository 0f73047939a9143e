"""What the status says of noise after a race: its facts find the history of the same work on the same machines."""

from collections.abc import Mapping, Sequence

from fairlap.api.noise_status import Noise
from fairlap.api.status import BenchmarkStatus
from fairlap.comparison.facts.race_facts import facts, record_facts
from fairlap.comparison.noise.benchmark_noise import History, history_of, noise_of
from fairlap.comparison.noise.noise_store import benchmark_priors
from fairlap.plan.basis.seen import Seen
from fairlap_race.contract.recorded.record import Record

UNREAD = "what earlier Comparisons have shown could not be read"


def noise_now(seen: Seen, status: BenchmarkStatus, valid: Sequence[str]) -> Noise:
    """Return the noise of the races of these names, which are valid, in this order; `status` has their environment."""
    read = {name: record for name in valid if (record := (seen.records or {}).get(name)) is not None}
    races, tables = list(read.values()), [seen.resources.get(name) for name in read]
    return noise_of(races, _history(seen, status, races), tables)


def _history(seen: Seen, status: BenchmarkStatus, races: Sequence[Record]) -> History:
    if seen.noise is None:
        return History(why_none=UNREAD)
    spec, kept = seen.subject.spec, bool(seen.kept_on)
    shared = facts({"spec": spec.to_json(), "status": status.to_json()})
    known: list[Mapping[str, str]] = [{**shared, **record_facts(record)} for record in races]
    priors = benchmark_priors(seen.noise, spec, known, seen.now, on_kept_cluster=kept)
    return history_of(priors, in_turn=spec.in_turn is not None, on_kept_cluster=kept)
