"""What a string in a call means to every tool that acts on it: one reading that all agree on, or an error. Pure."""
