"""Runs one race, by Rally or over HTTP by k6, inside a pod and records what happened.

The operator imports only `contract` of it. The command line checks tracks with `track` and `track.check`, too, and
knows their `errors`.
Who may import whom: fairlap_docs/floors.py.
From outside: `contract`, `errors` and `track`.
"""
