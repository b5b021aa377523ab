"""Limits on scarce resources, so that no caller starves the others; docs/architecture.md has the table."""
