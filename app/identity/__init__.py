"""Tokens that others issue: of people who sign in, and of workloads."""
