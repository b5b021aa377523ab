"""Signed checkpoints: keys, the job that signs, and witnesses, those that are asked and the one for an auditor."""
