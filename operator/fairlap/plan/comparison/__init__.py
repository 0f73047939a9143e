"""What happens next to a Comparison. Pure, as all of `plan`.

May be imported by `manifests`, `runtime` and `cli`.
From outside: all but `answer`, `block_close`, `race_state` and `verdict_reached`.
"""
