"""Records of races to typed results. Pure.

May be imported by the verdict, the machines' tables and the command line.
"""
