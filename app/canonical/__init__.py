"""What a string in a call means to every tool that acts on it: the reading all agree on, or none. Pure."""
