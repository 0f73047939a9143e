"""Numbers, shares, times, sizes and counts as people read them: one place for each, whoever prints it.

Several ways stand beside each other, since a table has room for less than a sentence. Races tell shares, too, so how
these read in a sentence is `as_percent` of the contract. Pure, standard library only.
May be imported by `statistics`, `results`, `comparison.terms`, `comparison.noise`, `comparison.judging`,
`comparison_report`, `plan.basis`, `plan.verdict`, `plan.comparison` and `cli`.
From outside: all of it.
"""
