"""A Kubernetes operator for Elasticsearch benchmarks with Elastic Rally.

Each package says what may be imported from it; docs/architecture.md draws the table of all, `fairlap_docs.floors`.
"""
