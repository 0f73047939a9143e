"""Generators of docs/reference.md and docs/reasons.md, and the table of floors; in no image."""
