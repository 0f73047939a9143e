"""A real one-node Kubernetes with ECK from package registries, for machines without a cluster (see README.md)."""
