"""Structs as JSON Schema. The docstring of a struct describes its fields."""
