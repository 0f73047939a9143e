"""What is printed: texts, tables, CSV, JSON and pictures, made of what the API server or a file has.

From outside: all but `figures`, `main_figures` and `rows`.
"""
