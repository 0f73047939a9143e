"""What is special to each kind that the loop drives: what it looks at, and how its acts are carried out.

From outside: all but `comparison_acts`, `comparison_reads` and `perform`.
"""
