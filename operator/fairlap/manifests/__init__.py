"""The objects the operator makes, as pure functions from a Benchmark to manifests."""
