"""Calls that a person decides: what asks, what is stored, and approvals that a call names."""
