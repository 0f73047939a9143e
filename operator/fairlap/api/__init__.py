"""The API as pydantic models: what a user writes, what the operator answers, and the CRD made from both.

Imports no other room; most rooms import it.
From outside: all of it.
"""
