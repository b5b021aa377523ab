"""Approvals: asked for by the commit, decided by people, used by the commit."""
