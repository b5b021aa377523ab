"""JSON Schema and regular expressions, compiled once, with bounded work for each call."""
