"""What the questions share: processes on cores of their own, loads, rounds, tables."""
