"""Structs as JSON Schema: what a field means is in the docstring of its struct."""
