"""Checks that the store and the replica can do their work: readiness and `remit doctor`."""
