"""From the records of races to typed results and remarks.

May be imported by `plan.verdict`, `machines` and `cli`.
From outside: all but `capacity_found`, `lucene_codec`, `race_figures`, `sweep_curve` and `sweep_words`.
"""
