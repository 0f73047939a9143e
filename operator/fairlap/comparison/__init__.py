"""Races of two variants beside each other: what they measured, what was not the same, and what that allows to say.

Pure. Knows Rally's race.json, the statistics and the models of the API; asks no cluster. What the runtime keeps in
ConfigMaps has its form here: a block's record in `block_pack`, what was shown of noise in `noise_store`.
May be imported by `comparison_report`, `plan.verdict`, `plan.comparison`, `runtime` and `cli`.
"""
