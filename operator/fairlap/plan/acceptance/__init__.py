"""What CEL cannot know of a spec, checked before anything is created: by the operator and by `fairlap plan`. Pure.

May be imported by `plan.stages`, `plan.comparison` and `cli`.
From outside: `accept`.
"""
