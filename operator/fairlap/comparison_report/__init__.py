"""Reports of a Comparison: one HTML file, Markdown, CSV, JUnit XML, and the archive that all are made of.

Pure: the same Comparison and records give the same bytes, without a clock.
May be imported by `cli`: its own tables and pictures take four of these modules, too.
From outside: `archive`, `comparison_view`, `guarded_text`, `html_report`, `markup`, `metric_words`, `plain_reports` and
`svg_parts`.
"""
