"""A track from wherever it comes to a folder that Rally can use, and what it does to the cluster it races on.

May be imported by `runner`, and by the command line for `fairlap track`.
"""
