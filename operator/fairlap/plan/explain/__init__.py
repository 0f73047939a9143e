"""Why something does not go on, in words: from what Kubernetes and the containers say. Pure.

May be imported by `plan`, and by the rooms that fetch what it reads.
"""
