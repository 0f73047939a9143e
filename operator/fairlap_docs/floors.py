"""Who may import whom: one row a room, and a room may know only rooms that stand earlier in this
table, that is on lower floors.

`tests/unit/house/test_imports.py` enforces it, and the picture in docs/architecture.md is drawn from it. A room is a
package or, where one package has two floors, a module of it; the most exact name counts. Large rooms have shelves.
"""

from collections.abc import Mapping
from typing import Final

FLOORS: Final[Mapping[str, tuple[str, ...]]] = {
    # The race image. Nothing of the operator is in it.
    "fairlap_race.contract": (),
    "fairlap_race.errors": ("fairlap_race.contract",),
    "fairlap_race.linux": ("fairlap_race.contract",),
    "fairlap_race.elasticsearch": ("fairlap_race.contract", "fairlap_race.linux"),
    "fairlap_race.rally": ("fairlap_race.contract",),
    "fairlap_race.rally.inside": ("fairlap_race.contract", "fairlap_race.elasticsearch", "fairlap_race.rally"),
    "fairlap_race.corpora": ("fairlap_race.contract", "fairlap_race.errors"),
    "fairlap_race.track": (
        "fairlap_race.contract", "fairlap_race.errors", "fairlap_race.linux", "fairlap_race.rally",
        "fairlap_race.corpora",
    ),
    "fairlap_race.track.check": (
        "fairlap_race.contract", "fairlap_race.errors", "fairlap_race.rally", "fairlap_race.corpora",
        "fairlap_race.track",
    ),
    "fairlap_race.http": ("fairlap_race.contract", "fairlap_race.errors", "fairlap_race.rally", "fairlap_race.track"),
    "fairlap_race.runner": (
        "fairlap_race.contract", "fairlap_race.errors", "fairlap_race.linux", "fairlap_race.elasticsearch",
        "fairlap_race.rally", "fairlap_race.rally.inside", "fairlap_race.corpora", "fairlap_race.track",
        "fairlap_race.http",
    ),
    "fairlap_race.__main__": (
        "fairlap_race.contract", "fairlap_race.linux", "fairlap_race.rally", "fairlap_race.track.check",
        "fairlap_race.runner",
    ),
    # The operator. Of the race image it knows the contract.
    "fairlap.settings": (),
    "fairlap.environ": ("fairlap.settings",),
    "fairlap.api": (),
    "fairlap.kube": ("fairlap.api",),
    "fairlap.queue": ("fairlap.api",),
    "fairlap.wording": ("fairlap_race.contract",),
    "fairlap.statistics": ("fairlap_race.contract", "fairlap.wording"),
    "fairlap.results": ("fairlap_race.contract", "fairlap.api", "fairlap.wording", "fairlap.statistics"),
    "fairlap.requests": ("fairlap_race.contract",),
    # Races beside each other: the words, what ran, what it measured, and the verdict on it.
    "fairlap.comparison.terms": ("fairlap_race.contract", "fairlap.api", "fairlap.wording"),
    "fairlap.comparison.facts": ("fairlap_race.contract", "fairlap.api", "fairlap.comparison.terms"),
    "fairlap.comparison.numbers": (
        "fairlap_race.contract", "fairlap.api", "fairlap.comparison.terms", "fairlap.comparison.facts",
    ),
    "fairlap.comparison.variants": (
        "fairlap_race.contract", "fairlap.api", "fairlap.comparison.terms", "fairlap.comparison.facts",
    ),
    "fairlap.comparison.noise": (
        "fairlap_race.contract", "fairlap.api", "fairlap.wording", "fairlap.statistics", "fairlap.comparison.terms",
        "fairlap.comparison.numbers",
    ),
    "fairlap.comparison.judging": (
        "fairlap_race.contract", "fairlap.api", "fairlap.wording", "fairlap.statistics", "fairlap.comparison.terms",
        "fairlap.comparison.facts", "fairlap.comparison.numbers",
    ),
    "fairlap.comparison_report": (
        "fairlap.api", "fairlap.wording", "fairlap.statistics", "fairlap.comparison.terms", "fairlap.comparison.facts",
        "fairlap.comparison.numbers",
    ),
    # What decisions stand on; on the floors after it explain, then verdict, then the decisions themselves.
    "fairlap.plan.basis": (
        "fairlap_race.contract", "fairlap.settings", "fairlap.api", "fairlap.queue", "fairlap.wording",
    ),
    "fairlap.plan.lifetimes": ("fairlap.api", "fairlap.plan.basis"),
    "fairlap.plan.explain": ("fairlap_race.contract", "fairlap.api", "fairlap.plan.basis"),
    "fairlap.plan.verdict": (
        "fairlap_race.contract", "fairlap.settings", "fairlap.api", "fairlap.wording", "fairlap.results",
        "fairlap.comparison.facts", "fairlap.comparison.noise", "fairlap.plan.basis", "fairlap.plan.lifetimes",
        "fairlap.plan.explain",
    ),
    "fairlap.plan.acceptance": (
        "fairlap_race.contract", "fairlap.settings", "fairlap.api", "fairlap.plan.basis", "fairlap.plan.verdict",
    ),
    "fairlap.plan": (
        "fairlap_race.contract", "fairlap.api", "fairlap.queue", "fairlap.plan.basis", "fairlap.plan.explain",
        "fairlap.plan.verdict",
    ),
    "fairlap.plan.stages": (
        "fairlap_race.contract", "fairlap.api", "fairlap.plan.basis", "fairlap.plan.lifetimes", "fairlap.plan.explain",
        "fairlap.plan.verdict", "fairlap.plan.acceptance", "fairlap.plan",
    ),
    "fairlap.plan.benchmark": ("fairlap.api", "fairlap.plan.basis", "fairlap.plan", "fairlap.plan.stages"),
    # A Comparison is decided on a higher floor than its Benchmarks: it knows what they would refuse.
    "fairlap.plan.comparison": (
        "fairlap_race.contract", "fairlap.settings", "fairlap.api", "fairlap.queue", "fairlap.wording",
        "fairlap.statistics",
        "fairlap.comparison.terms", "fairlap.comparison.facts", "fairlap.comparison.variants",
        "fairlap.comparison.noise", "fairlap.plan.basis", "fairlap.plan.acceptance", "fairlap.plan",
    ),
    "fairlap.manifests": (
        "fairlap_race.contract", "fairlap.settings", "fairlap.api", "fairlap.plan.basis", "fairlap.plan.verdict",
        "fairlap.plan.comparison",
    ),
    "fairlap.machines": (
        "fairlap_race.contract", "fairlap.settings", "fairlap.api", "fairlap.kube", "fairlap.results",
        "fairlap.plan.basis", "fairlap.plan.explain", "fairlap.manifests",
    ),
    "fairlap.page_cache": ("fairlap.api", "fairlap.kube"),
    "fairlap.runtime": (
        "fairlap_race.contract", "fairlap.settings", "fairlap.api", "fairlap.kube", "fairlap.queue",
        "fairlap.statistics", "fairlap.comparison.terms", "fairlap.comparison.facts", "fairlap.comparison.numbers",
        "fairlap.comparison.variants", "fairlap.comparison.noise", "fairlap.comparison.judging", "fairlap.plan.basis",
        "fairlap.plan.lifetimes", "fairlap.plan.explain", "fairlap.plan.verdict", "fairlap.plan",
        "fairlap.plan.benchmark", "fairlap.plan.comparison", "fairlap.manifests", "fairlap.machines",
        "fairlap.page_cache",
    ),
    "fairlap.__main__": ("fairlap.settings", "fairlap.environ", "fairlap.kube", "fairlap.runtime"),
    # The command line checks tracks with the race image's own code.
    "fairlap.cli": (
        "fairlap_race.contract", "fairlap_race.errors", "fairlap_race.track", "fairlap_race.track.check", "fairlap.api",
        "fairlap.wording", "fairlap.statistics", "fairlap.results", "fairlap.requests", "fairlap.comparison.terms",
        "fairlap.comparison.facts", "fairlap.comparison.numbers", "fairlap.comparison.variants",
        "fairlap.comparison.noise", "fairlap.comparison.judging", "fairlap.comparison_report", "fairlap.plan.basis",
        "fairlap.plan.lifetimes", "fairlap.plan.acceptance", "fairlap.plan.comparison",
    ),
    "fairlap_docs": ("fairlap_race.contract", "fairlap.api"),
}  # fmt: skip

SHELVES: Final[Mapping[str, tuple[str, ...]]] = {
    "fairlap_race.contract": ("", "request_files", "specification", "watched_machines", "recorded"),
    "fairlap_race.runner": ("watching", "telling", "", "by_rally", "over_http"),
    "fairlap.runtime": ("objects", "watches", "beside", "loop", "reconcilers", ""),
    "fairlap.cli": ("edge", "doctor", "tables", "commands", ""),
}
"""Within a large room: a module knows its own shelf and those before it. "" is what stands in the room's own folder.

For all other rooms it is one room still."""

ONLY_IN: Final[Mapping[str, tuple[str, ...]]] = {
    "kubernetes": ("fairlap.kube.api_server", "fairlap.cli.edge.transport"),
    "aiohttp": (
        "fairlap.kube.api_server",
        "fairlap.machines.prometheus",
        "fairlap.runtime.metrics_server",
        "fairlap.runtime.watches.small_pages",
        "fairlap_race.rally.inside.client_addresses",
    ),
    "pydantic_settings": ("fairlap.environ",),
    "kopf": (
        "fairlap.runtime.kopf_handlers",
        "fairlap.runtime.watches.quick_toggles",
        "fairlap.runtime.watches.small_pages",
    ),
    "urllib3": ("fairlap_race.elasticsearch.client", "fairlap.cli.edge.transport"),
    "thespian": ("fairlap_race.rally.inside.launch", "fairlap_race.rally.inside.next_step_at_once"),
    "hdrh": ("fairlap_race.rally.histograms",),
    "pyarrow": ("fairlap_race.rally.sample_table",),
    "esrally": (
        "fairlap_race.rally.inside.launch",
        "fairlap_race.rally.inside.client_addresses",
        "fairlap_race.rally.releases",
        "fairlap_race.rally.inside.next_step_at_once",
        "fairlap_race.track.load",
        "fairlap_race.track.searches",
        "fairlap_race.track.check.diagnose",
        "fairlap_race.track.check.facts",
        "fairlap_race.track.check.review",
        "fairlap_race.track.check.source_map",
        "fairlap_race.track.check.tasks",
    ),
}
"""Libraries that may be imported in these modules only: the outside world has few doors."""
