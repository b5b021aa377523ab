"""Proposes policies from the calls that an agent has made and the marks of its tools. Pure: same log, same bytes."""
