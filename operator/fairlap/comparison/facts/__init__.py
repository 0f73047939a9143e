"""What is known of how each race ran, and whether that allows to compare: fairness, disturbances, reach. Pure.

May be imported by `comparison.numbers`, `comparison.variants`, `comparison.judging`, `comparison_report`,
`plan.verdict`, `plan.comparison`, `runtime` and `cli`.
From outside: all of it.
"""
