"""What the status says of noise after a race: its facts find the history of the same work on the same machines."""

from collections.abc import Mapping, Sequence

from fairlap.api.noise_status import Noise
from fairlap.api.status import BenchmarkStatus
from fairlap.comparison.benchmark_noise import History, noise_of
from fairlap.comparison.noise_store import benchmark_priors
from fairlap.comparison.race_facts import facts, record_facts
from fairlap.plan.seen import Seen
from fairlap_race.contract.record import Record

UNREAD = "what earlier Comparisons have shown could not be read"


def noise_now(seen: Seen, status: BenchmarkStatus, races: Sequence[Record]) -> Noise:
    """Return the noise of the valid `races` so far, in the order of the races; `status` has their environment."""
    if seen.noise is None:
        return noise_of(races, History(why_none=UNREAD))
    spec = seen.subject.spec
    shared = facts({"spec": spec.to_json(), "status": status.to_json()})
    known: list[Mapping[str, str]] = [{**shared, **record_facts(record)} for record in races]
    return noise_of(races, History(benchmark_priors(seen.noise, spec, known, seen.now)))
