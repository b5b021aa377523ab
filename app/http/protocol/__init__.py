"""The HTTP protocol of the hot path."""
