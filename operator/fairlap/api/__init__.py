"""The API as pydantic models: what a user writes, what the operator answers, and the CRD made from both.

May be imported everywhere in the operator and the command line; it imports nothing of them.
"""
