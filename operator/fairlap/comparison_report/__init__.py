"""Reports of a Comparison: one HTML file, Markdown, CSV, JUnit XML, and the archive that all are made of.

Pure: the same Comparison and records give the same bytes, without a clock. May be imported by `cli`.
"""
