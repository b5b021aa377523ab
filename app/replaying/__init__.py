"""Replays of a store's log: reads what they need, and runs each in a process of its own for the service."""
