"""Workloads that ask with tokens of their own platform, in place of an API key."""
