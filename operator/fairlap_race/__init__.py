"""Runs one Rally race inside a pod and records what happened."""
