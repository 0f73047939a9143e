"""Talking to Kubernetes: requests, events, and the lease by which one operator works at a time.

The only door of the operator to the API server beside kopf's own, by which it watches.
May be imported by `machines`, `page_cache`, `runtime` and `__main__`: rooms that act, never those that decide.
From outside: all of it.
"""
