"""Whether a race counts, and why not: named checks over a record in which unknown is never success. Pure.

May be imported by `plan`, and by the rooms that must know what a cluster is given for the verdict to hold.
"""
