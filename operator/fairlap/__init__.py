"""A Kubernetes operator for Elasticsearch benchmarks with Elastic Rally.

Each package says in its last sentence which of its modules and packages are imported from outside of its folder;
docs/architecture.md draws who may import whom, from `fairlap_docs.floors`.
From outside: `api`.
"""
