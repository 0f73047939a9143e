"""What is known of the noise here, from own races and from history, and how small a change it lets be seen. Pure.

May be imported by `plan.verdict`, `plan.comparison`, `runtime` and `cli`.
From outside: all of it.
"""
