"""Runs one Rally race inside a pod and records what happened.

Nothing of the operator is imported here. The operator may import `contract` of it, and the command line also `track`
with `track.check`; all else is for the race image alone.
"""
