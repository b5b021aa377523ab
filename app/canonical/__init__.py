"""The meaning of a string in a call to every tool that acts on it: one reading that all agree on, or an error. Pure."""
