"""Explains decisions: of calls not yet made, of logged calls, and of what an agent may call."""
