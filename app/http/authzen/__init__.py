"""AuthZEN 1.0 in terms of this service: entities as tool calls, decisions as evaluations, refusals as messages."""
