"""Approvals: requested by the commit, decided by people, used by the commit."""
