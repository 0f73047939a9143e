"""What k6 is to send to an HTTP target."""

from fairlap.api.load_spec import OPEN_LOOP_CLIENTS, REQUESTS, RequestLoad
from fairlap.api.quantity import parse_duration
from fairlap.api.spec import Target
from fairlap_race.contract.specification.http_spec import HttpLoad, HttpSpec
from fairlap_race.contract.specification.sweep import SweepSpec, SweepStep


def http_spec(target: Target, load: RequestLoad, sweep: SweepSpec | None, hits: str | None = None) -> HttpSpec:
    """Return the loads of a race over HTTP, one for each step of its sweep, and what they have in common."""
    steps = sweep.steps if sweep else (SweepStep(REQUESTS, load.clients, load.target_throughput),)
    seconds, warmup = (parse_duration(text).total_seconds() for text in (load.duration, load.warmup))
    if sweep and sweep.duration_seconds is not None:
        seconds, warmup = sweep.duration_seconds, sweep.warmup_seconds
    clients = sweep.search.clients if sweep and sweep.search else None
    return HttpSpec(
        loads=tuple(_load(step, load, seconds, warmup, clients) for step in steps),
        health=target.health or "/",
        order=load.order,
        exponent=load.exponent,
        seed=load.seed,
        timeout_seconds=load.timeout_seconds,
        interval_seconds=sweep.interval_seconds if sweep else 0.0,
        headers=load.headers,
        hits=hits,
    )


def _load(step: SweepStep, load: RequestLoad, seconds: float, warmup: float, together: int | None) -> HttpLoad:
    rate = step.target_throughput
    clients = (
        step.clients
        or together
        or (load.clients if rate is not None else None)
        or (1 if rate is None else OPEN_LOOP_CLIENTS)
    )
    return HttpLoad(step.name, seconds, clients, rate, warmup)
