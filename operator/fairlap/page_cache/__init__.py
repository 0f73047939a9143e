"""A page cache that is empty before each race: what the operator asks for, and the helper that does it.

Who may write to a machine's kernel is a pod of its own on each machine, with no other right than to read and patch one
ConfigMap: there the operator writes what it asks of a machine, and the helper what it has done.
Its `helper` is a program, run with `python -m`; `dropping` is for the operator.
May be imported by `runtime`.
From outside: `dropping`.
"""
