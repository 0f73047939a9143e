"""Benchmarks to begin a test with."""

import copy
from typing import Any

Json = dict[str, Any]


def benchmark(namespace: str, name: str = "bm", **spec: Any) -> Json:
    """Return a small valid Benchmark; keyword arguments replace fields of its spec, dotted by `__`."""
    manifest: Json = {
        "apiVersion": "fairlap.dev/v1alpha1",
        "kind": "Benchmark",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "elasticsearch": {"version": "9.0.0"},
            "race": {"track": {"builtin": "log_ingest"}},
        },
    }
    return changed(manifest, **spec)


def http_benchmark(namespace: str, name: str = "bm", **spec: Any) -> Json:
    """Return a small valid Benchmark of two HTTP hosts; keyword arguments as for `benchmark`."""
    race = {"requests": {"configMap": {"name": "queries"}}, "load": {"clients": 2, "duration": "30s"}}
    target = {"kind": "http", "hosts": ["http://one:10041", "http://two:10041"], "health": "/d/status"}
    return changed(benchmark(namespace, name, elasticsearch=None, target=target, race=race), **spec)


def comparison(namespace: str, name: str = "cmp", **spec: Any) -> Json:
    """Return a small valid Comparison of two versions in three blocks; keyword arguments as for `benchmark`."""
    manifest: Json = {
        "apiVersion": "fairlap.dev/v1alpha1",
        "kind": "Comparison",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "template": {
                "elasticsearch": {"version": "8.11.0", "java": 21},
                "race": {"track": {"builtin": "log_ingest"}},
            },
            "variants": [{"name": "8.11.0"}, {"name": "9.0.0", "patch": {"elasticsearch": {"version": "9.0.0"}}}],
            "baseline": "8.11.0",
            "design": {"stop": "fixed", "blocks": 3},
            "calibrate": False,
        },
    }
    return changed(manifest, **spec)


def changed(manifest: Json, **spec: Any) -> Json:
    """Return a copy with fields of the spec replaced: `elasticsearch__java=17` sets spec.elasticsearch.java.

    The value None removes a field.
    """
    copied = copy.deepcopy(manifest)
    for path, value in spec.items():
        *parents, last = path.split("__")
        target = copied["spec"]
        for parent in parents:
            target = target.setdefault(parent, {})
        if value is None:
            target.pop(last, None)
        else:
            target[last] = value
    return copied
