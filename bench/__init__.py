"""Benchmarks of the decision path: one file per question, each table with its baseline row.

`python -m bench quick` gives the main table in under three minutes, `python -m bench all` everything.
"""
