"""The API as pydantic models: what a user writes, what the operator answers, and the CRD made from both.

All may be imported.
"""
