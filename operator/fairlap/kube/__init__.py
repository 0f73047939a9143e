"""Talking to Kubernetes: requests, events, and the lease by which one operator works at a time.

The only door of the operator to the API server.
May be imported by `machines`, `page_cache`, `runtime` and `__main__`: rooms that act, never those that decide.
"""
