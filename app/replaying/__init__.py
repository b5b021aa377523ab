"""Replays of a store's log: what they need is read here, and the service runs each in a process of its own."""
