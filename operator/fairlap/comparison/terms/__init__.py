"""The words of a Comparison: the numbers that may decide, why a block is over, equal values.

Pure. Knows no race. May be imported by `comparison.facts`, `comparison.numbers`, `comparison.variants`,
`comparison.noise`, `comparison.judging`, `comparison_report`, `plan.comparison`, `runtime` and `cli`.
From outside: all of it.
"""
