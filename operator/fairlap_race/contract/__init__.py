"""What the runner and the operator say to each other: the specification, the record, progress, and their words.

The operator may import all of it. Nothing here imports another room, asks anybody, or knows Rally.
"""
