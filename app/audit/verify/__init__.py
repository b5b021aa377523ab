"""Checks that the log is whole and unaltered."""
