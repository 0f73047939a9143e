"""The objects the operator makes, as pure functions from a Benchmark to manifests.

May be imported by the rooms that create them or must know their names.
"""
