"""Talking to Kubernetes: requests, events, and the lease by which one operator works at a time.

The only door of the operator to the API server; may be imported by the rooms that act, never by those that decide.
"""
