"""Runs one Rally race inside a pod and records what happened. The operator imports only `contract` of it.

The command line checks tracks with `track` and `track.check`, too. Who may import whom: fairlap_docs/floors.py.
"""
