"""The verdict: what the blocks say gate by gate, in numbers and in sentences, and what stands out beside them. Pure.

May be imported by `runtime` and `cli`.
From outside: `foresight`, `judgement` and `side_by_side`.
"""
