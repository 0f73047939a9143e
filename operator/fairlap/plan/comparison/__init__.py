"""What happens next to a Comparison. Pure, as all of `plan`.

May be imported by `manifests`, `runtime` and `cli`.
"""
