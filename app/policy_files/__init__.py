"""Policies as files: read with their lines, compared with what is there, tested; written as they are read."""
