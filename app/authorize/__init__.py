"""The hot path below HTTP: authenticate, plan, commit."""
