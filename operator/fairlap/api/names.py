"""Names and labels that the operator, its children and its users share."""

from typing import Final

GROUP: Final = "fairlap.dev"
VERSION: Final = "v1alpha1"
KIND: Final = "Benchmark"
PLURAL: Final = "benchmarks"
COMPARISON_KIND: Final = "Comparison"
COMPARISON_PLURAL: Final = "comparisons"
API_VERSION: Final = f"{GROUP}/{VERSION}"

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MANAGER: Final = "fairlap"
BENCHMARK_LABEL: Final = f"{GROUP}/benchmark"
PAGE_CACHE_ANNOTATION: Final = f"{GROUP}/page-cache"
"""of a race's Job: whether the page cache was dropped before it, as a sentence for people"""
PAGE_CACHE_OUTCOME_ANNOTATION: Final = f"{GROUP}/page-cache-outcome"
"""of a race's Job: the same for decisions, one of the two words below"""
PAGE_CACHE_DROPPED: Final = "dropped"
"""on all machines of Elasticsearch"""
PAGE_CACHE_KEPT: Final = "kept"
"""on one of them at least"""
UID_LABEL: Final = f"{GROUP}/uid"
LONGEST_UID: Final = 64
"""One in an owner reference may be any text; a longer one is nobody's, and is remembered."""
STEP_LABEL: Final = f"{GROUP}/step"
ROLE_LABEL: Final = f"{GROUP}/role"
COMPARISON_LABEL: Final = f"{GROUP}/comparison"
BLOCK_LABEL: Final = f"{GROUP}/block"
IN_TURN_LABEL: Final = f"{GROUP}/in-turn"
"""of the pods that send their requests in turn: the block that they are of"""
VARIANT_LABEL: Final = f"{GROUP}/variant"
PART_LABEL: Final = f"{GROUP}/part"
RERUN_OF: Final = f"{GROUP}/rerun-of"
"""label and annotation of a Benchmark that runs the same again: the name of the first; the annotation: of the one that
was annotated"""
RACE_CONTAINER: Final = "rally"
"""the container of a race's pod that sends the load, k6's too"""
NODE_OF_THE_LOAD: Final = "load generator"
"""what stands in the status in place of a node's name for the load generator's container"""
PART_RECORD: Final = "record"
PART_PROGRESS: Final = "progress"
NOISE_CONFIG_MAP: Final = "fairlap-noise"
"""ConfigMap of what a namespace's Comparisons have shown of noise"""
ROLE_ELASTICSEARCH: Final = "elasticsearch"
ROLE_LOAD_GENERATOR: Final = "load-generator"

# ECK refuses Elasticsearch names over 36 characters; the longest step suffix is "-race-50" (8).
MAX_NAME: Final = 27
MAX_REPETITIONS: Final = 50
# The Benchmarks of a Comparison are named NAME-30z-9 at most: block, variant, attempt.
MAX_COMPARISON_NAME: Final = 20
MAX_VARIANTS: Final = 12
NAME_OF_SERVICES: Final = "[a-z][-a-z0-9]*"
"""What a name must look like where ECK names Services after it (RFC 1035); of its end Kubernetes takes care itself."""
MOST_SPEC_VALUES: Final = 16_000
"""Of what has no schema in a spec, all together: each may take 100 bytes of memory, of thousands of Benchmarks."""
MOST_LEVELS: Final = 20
"""Of nesting in what has no schema in a spec, and in a variant's patch."""
MAX_BLOCKS: Final = 30
MAX_CUT_BLOCKS: Final = 10
"""Blocks of a Comparison that are raced again for an upgrade."""


CHECK_STEP: Final = "check"
"""the step that looks at the track before any cluster is built; the queue has places of its own for it"""


def is_race(step: str) -> bool:
    """Return whether the step, or the race of that name, gives numbers that count: no check and no smoke test does."""
    return step.startswith("race-")
