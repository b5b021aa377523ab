"""Stores and replicas as deployments have them, made to be broken."""

SEALING_FAST = {"REMIT_AUDIT_SEGMENT_ENTRIES": "16", "REMIT_AUDIT_SEAL_AFTER_SECONDS": "1"}
"""So that a short run has segments, and the compactor is at work when something breaks."""
