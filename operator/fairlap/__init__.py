"""A Kubernetes operator for Elasticsearch benchmarks with Elastic Rally."""
