"""Policies as files: read with line numbers, compared with the stored ones, tested, and written in the same form."""
